"""``ud wait``: when a state counts as reached, and the progress that it reports."""

from typing import Any

import pytest
from typer.testing import CliRunner

from uniteddeployment.cli.application import Shown
from uniteddeployment.cli.program import app
from uniteddeployment.cli.wait.waiter import Waiter
from uniteddeployment.planning.observed import Metadata
from uniteddeployment.planning.results import State


def shown(name: str, reason: str, *, generation: int = 1, message: str = "") -> Shown:
    ready = {"type": "Ready", "status": "True", "reason": reason, "message": message, "observedGeneration": 1}
    status: dict[str, Any] = {"observedGeneration": 1, "conditions": [ready]}
    return Shown(Metadata(name=name, generation=generation), {}, status)


def test_a_state_counts_once_the_controller_has_observed_the_current_spec(capsys: pytest.CaptureFixture[str]) -> None:
    """I8"""
    waiter = Waiter(["a", "b"], [State.READY])
    waiter.note(None, shown("other", "Ready"))
    waiter.note(None, shown("a", "Ready", generation=2))
    assert list(waiter.waiting) == ["a", "b"]
    waiter.note(None, shown("b", "Ready"))
    waiter.note(None, shown("a", "Held"))
    assert waiter.waiting == {"a": "a is Held"}
    waiter.note(None, shown("a", "Ready"))
    assert waiter.waiting == {}
    assert capsys.readouterr().out == "b is Ready\na is Ready\n"


def test_progress_is_reported_when_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    waiter = Waiter(["a"], [State.READY])
    for message in ("1 of 2 pods ready", "1 of 2 pods ready", "2 of 2 pods \x1b[2Jready"):
        waiter.note(None, shown("a", "Progressing", message=message))
    assert capsys.readouterr().err.splitlines() == [
        "a is Progressing: 1 of 2 pods ready",
        r"a is Progressing: 2 of 2 pods \x1b[2Jready",
    ]


def test_waiting_ends_when_an_application_is_deleted() -> None:
    waiter = Waiter(["a"], [State.READY])
    waiter.note(shown("b", "Ready"), None)
    assert waiter.gone == ""
    waiter.note(shown("a", "Ready"), None)
    assert waiter.gone == "a"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name at least one UnitedDeployment"),
        (["web", "--for", "Complete"], "--for must be one of"),
        (["web", "--timeout", "soon"], "--timeout must be a duration such as 90s, 10m or 1h"),
        (["web", "--timeout", "-1s"], "--timeout must be a duration"),
        (["sts/web"], "is not a UnitedDeployment"),
    ],
)
def test_invalid_usage_is_exit_code_2(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["wait", *arguments])
    assert (result.exit_code, said in result.stderr) == (2, True)
