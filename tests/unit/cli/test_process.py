"""Commands that run until they are stopped."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from uniteddeployment.cli.program import app


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


INTERRUPTED = """
import sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from uniteddeployment.cli import main
main.{entry}()
"""


@pytest.mark.parametrize("entry", ["main", "complete_for_kubectl"])
def test_ctrl_c_while_modules_are_imported_ends_the_program_without_a_word(entry: str) -> None:
    script = INTERRUPTED.format(entry=entry)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
