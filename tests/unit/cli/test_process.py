"""Commands that run until they are stopped."""

import pytest
from typer.testing import CliRunner

from uniteddeployment.cli.main import app


@pytest.mark.parametrize("command", [["controller", "run"], ["rollout", "controller", "run"]])
@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--log-format", "xml"], "--log-format must be console or json, not 'xml'"),
        (["--log-level", "loud"], "--log-level must be debug, info, warning or error, not 'loud'"),
    ],
)
def test_unknown_log_options_are_invalid_usage(command: list[str], option: list[str], said: str) -> None:
    """They are reported before the kubeconfig is read."""
    result = CliRunner().invoke(app, [*command, *option, "--kubeconfig", "/does/not/exist"])
    assert (result.exit_code, result.stderr) == (2, f"error: {said}\n")
