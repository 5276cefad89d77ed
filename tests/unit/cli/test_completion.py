"""Shell completion of commands, options and names of applications. Errors are silent."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from uniteddeployment.cli import completion
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS

FAST = [sys.executable, "-m", "uniteddeployment.cli"]


def completed(words: str, **environment: str) -> list[str]:
    """The candidates that bash gets for a line that ends in the middle of a word, or after a space."""
    count = len(words.split()) - (0 if words.endswith(" ") else 1)
    variables = {"_UD_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count), **environment}
    done = subprocess.run(FAST, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split()


def test_commands_options_and_shells_are_completed() -> None:
    assert completed("ud pla") == ["plan", "playground"]
    assert "--namespace" in completed("ud get --na")
    assert completed("ud completion z") == ["zsh"]
    assert not [word for word in completed("ud --") if "completion" in word], "typer's own options are removed"


def test_an_unreachable_cluster_gives_no_names_and_no_message(tmp_path: Path) -> None:
    """Any output would end up in the command line of the user."""
    broken = tmp_path / "broken"
    broken.write_text("clusters: [")
    closed = tmp_path / "closed"
    closed.write_text(
        "current-context: a\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "users: [{name: a, user: {token: t}}]\n"
    )
    for kubeconfig in ("/does/not/exist", str(broken), str(closed)):
        assert completed("ud get w", KUBECONFIG=kubeconfig) == []


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_a_shell_gets_a_script_that_names_the_program(shell: str) -> None:
    done = subprocess.run([*FAST, "completion", shell], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_UD_COMPLETE=complete_{shell}" in done.stdout
    assert "ud" in done.stdout.split()


def test_an_unknown_shell_is_invalid_usage() -> None:
    done = subprocess.run([*FAST, "completion", "csh"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "error: name bash, zsh or fish, not 'csh'\n")


def test_names_of_clusters_and_names_runs_and_steps_of_rollouts_are_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, Any] = {
        "clusters": {"items": [{"metadata": {"name": name}} for name in ("member-1", "other")]},
        "unitedrollouts": {"items": [{"metadata": {"name": name}} for name in ("web", "api", "web-2")]},
        "unitedrollouts/web": {"status": {"runID": "web-1.2", "step": 3}},
    }
    monkeypatch.setattr(completion, "_ask", lambda _options, path, _form="": answers[path.partition("?")[0]])
    context = SimpleNamespace(params={"name": ("web",)}, args=[])
    assert completion.rollouts(cast("Any", context), "w") == ["web-2"], "web is on the command line already"
    assert completion.rollouts(cast("Any", context), "uro/a") == ["uro/api"]
    assert completion.clusters(cast("Any", SimpleNamespace(params={"name": ""}, args=[])), "udc/m") == ["udc/member-1"]
    without_values = cast("Any", SimpleNamespace(params={"name": None}, args=["uro/web", "gone"]))
    assert completion.runs(without_values, "web") == ["web-1.2"]
    assert completion.steps(without_values, "") == ["3"], "one of the names is wrong, and nothing is printed"


def test_the_path_is_that_of_our_api() -> None:
    """completion.py repeats it, because the package that defines it takes long to import."""
    assert UNITED_DEPLOYMENTS.path() == f"{completion.PATH}/uniteddeployments"


def test_completion_imports_nothing_slow() -> None:
    script = "import sys, uniteddeployment.cli.program; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"aiohttp", "pydantic", "rich", "structlog", "kubernetes", "uniteddeployment.kube.client"}
