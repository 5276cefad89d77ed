"""``ud rollout`` on a fleet over HTTPS: shows, waits and gives commands (scenarios 37, 40, 41 and 50)."""

import asyncio
import contextlib
import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.cli.cli_kit import NAMESPACE, Site, site
from tests.integration.cli.test_permissions import user
from tests.support.applications import application
from uniteddeployment.cli import completion, connect
from uniteddeployment.cli.listing import Query, follow
from uniteddeployment.cli.program import app
from uniteddeployment.cli.rollout import verbs
from uniteddeployment.cli.rollout.listing import TABLE
from uniteddeployment.kube.client import Client
from uniteddeployment_rollout.loop.objects import UNITED_DEPLOYMENTS, UNITED_ROLLOUTS

UD = [sys.executable, "-m", "uniteddeployment.cli"]
STEPS = [{"replicas": 1, "pause": {}}, {"replicas": "50%", "pause": {}}, {"replicas": "100%"}]


def rollout(name: str = "web", target: str = "web", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "uniteddeployment.io/v1alpha1",
        "kind": "UnitedRollout",
        "metadata": {"name": name, "labels": {"team": name}},
        "spec": {"targetRef": {"name": target}, "maxUnavailable": 4, "steps": STEPS, **spec},
    }


async def create(client: Client, document: dict[str, Any]) -> None:
    await client.create(UNITED_ROLLOUTS, document, dict[str, Any], namespace=NAMESPACE)


async def ready(here: Site, **spec: Any) -> None:
    """An application of eight pods with a rollout, all at app:1."""
    document = application(replicas=8)
    document["metadata"] = {"name": "web"}
    document["spec"]["topology"]["subsets"] = [{"name": "a"}, {"name": "b"}]
    await here.apply(document)
    await here.wait_settled()
    await create(here.host, rollout(**spec))
    assert (await here.ud("rollout", "status", "web", "--timeout", "30s")).exit_code == 0


async def release(here: Site, image: str) -> None:
    path = "/spec/template/statefulSetTemplate/spec/template/spec/containers/0/image"
    await here.host.json_patch(
        UNITED_DEPLOYMENTS,
        "web",
        [{"op": "replace", "path": path, "value": image}],
        dict[str, Any],
        namespace=NAMESPACE,
    )


def on_terminal(*arguments: str, **environment: str) -> str:
    """The output of ``ud rollout`` on a terminal of 80 columns, until it ends or shows a message twice."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*UD, "rollout", *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "COLUMNS": "80", "PYTHONUTF8": "1", **environment},
    )
    os.close(follower)
    text = b""
    try:
        while text.count(b"Message") < 2:
            try:
                chunk = os.read(leader, 65536)
            except OSError:  # the other end was closed
                break
            if not chunk:
                break
            text += chunk
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    return text.decode()


async def test_a_run_is_followed_and_controlled_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with site(tmp_path, members=0) as here:
        await ready(here)
        await release(here, "app:2")
        paused = await here.ud("rollout", "status", "web", "--until", "paused", "--timeout", "30s")
        assert (paused.exit_code, paused.stdout.splitlines()[-1]) == (
            0,
            "web is Paused: step 1 of 3: waits for approval",
        )
        held = await here.ud("rollout", "status", "web", "--timeout", "30s")
        assert held.exit_code == 4, "it waits for somebody, so waiting longer does not help"

        shown = await here.said("rollout", "get", "web")
        assert "  Next      ud rollout approve web" in shown.splitlines()
        status = (await here.json("rollout", "get", "web"))["status"]
        assert (status["phase"], status["step"], status["updatedReplicas"]) == ("Paused", 1, 1)
        run = status["runID"]
        await watched(here, capsys)
        await completed(here, run, monkeypatch)

        # Scenario 37: approved twice at the same time, by two people, and for an outdated step or run.
        orders = [verbs.Order("approve", by, run, 1) for by in ("ann", "bob")]
        two = await asyncio.gather(
            *(verbs._give_one(here.host, NAMESPACE, "web", order, 30) for order in orders), return_exceptions=True
        )
        (refusal,) = [str(result) for result in two if result is not None]
        assert re.match("web: approve was refused: (step 1 is approved already|it is for step 1, and )", refusal)
        await here.said("rollout", "status", "web", "--until", "paused")
        for options, why in ((["--step", "1"], "for step 1"), (["--run", "web-0.0"], "for run web-0.0")):
            old = await here.ud("rollout", "approve", "web", *options)
            assert (old.exit_code, old.stderr.count("\n")) == (1, 1), old.stderr
            assert why in old.stderr
        assert (await here.json("rollout", "get", "web"))["status"]["step"] == 2

        await here.said("rollout", "pause", "web", "--by", "ann")
        await here.said("rollout", "resume", "web")
        await here.said("rollout", "promote", "uro/web")
        await here.said("rollout", "status", "web", "--timeout", "60s")
        assert "Completed" in await here.said("rollout", "history", "web")
        assert (await here.json("rollout", "history", "web"))[0]["runID"] == run
        await here.said("rollout", "undo", "web")
        await here.said("rollout", "status", "web", "--until", "paused", "--timeout", "60s")
        waiting = asyncio.create_task(here.ud("rollout", "status", "web", "--timeout", "60s"))
        assert (await waiting).exit_code == 4
        await here.said("rollout", "abort", "web")


async def watched(here: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Scenario 50: into a pipe, and on a terminal, where lines are replaced; NO_COLOR keeps colors off."""
    target = connect.target(here.fleet.kubeconfig, None, "")
    piping = asyncio.create_task(follow(TABLE, Query(target), wide=False))
    text = ""
    while "Paused" not in text:
        await asyncio.sleep(0.01)
        text += capsys.readouterr().out
    piping.cancel()
    await asyncio.gather(piping, return_exceptions=True)
    assert "\x1b" not in text
    assert text.splitlines()[1].split()[1:4] == ["web", "web", "Paused"]

    environment = {"KUBECONFIG": str(here.fleet.kubeconfig), "TERM": "xterm", "NO_COLOR": "1"}
    shown = await asyncio.to_thread(on_terminal, "get", "web", "-w", **environment)
    assert "\x1b[" in shown, "it moves the cursor"
    assert "⏸ web  Paused" in re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", shown)


async def completed(here: Site, run: str, patch: pytest.MonkeyPatch) -> None:
    """Shells complete the present run of the rollout that is named."""
    words = "ud rollout approve uro/web --run w"
    variables = {"_UD_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}

    def candidates() -> str:
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
            completion.run(app)
        return said.getvalue().strip()

    with patch.context() as environment:
        for name, value in {**variables, "KUBECONFIG": str(here.fleet.kubeconfig)}.items():
            environment.setenv(name, value)
        assert await asyncio.to_thread(candidates) == run


async def test_bad_commands_end_with_one_line_and_an_exit_code(tmp_path: Path) -> None:
    async with site(tmp_path, members=0) as here:
        await ready(here)
        await create(here.host, rollout("lost", "nothing"))
        await create(here.host, rollout("web-2"))
        for arguments, code, message in (
            (["approve", "nope"], 1, '"nope" not found (namespace default); ud rollout list -A'),
            (["get", "nope"], 1, '"nope" not found (namespace default)'),
            (["status", "nope"], 1, '"nope" not found'),
            (["plan", "nope"], 1, '"nope" not found'),
            (["plan", "lost"], 1, 'uniteddeployments.uniteddeployment.io "nothing" not found'),
            (["approve", "lost"], 1, "there is no UnitedDeployment nothing in the namespace"),
            (["status", "lost"], 1, "there is no UnitedDeployment nothing in the namespace"),
            (["status", "web-2"], 1, "UnitedRollout web has the target web"),
            (["approve", "web"], 1, "there is no run"),
            (["undo", "web"], 1, "there is no earlier stable revision"),
            (["resume", "web"], 1, "no command has paused the rollout"),
            (["retry", "web"], 1, "there is no run"),
        ):
            result = await here.ud("rollout", *arguments)
            errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
            assert (result.exit_code, len(errors)) == (code, 1), (arguments, result.output)
            assert message in errors[0], arguments

        listed = await here.said("rollout", "list", "-A")
        assert [line.split()[2] for line in listed.splitlines()[1:] if not line.startswith("    ")] == [
            "lost", "web", "web-2",
        ]  # fmt: skip
        assert await here.said("rollout", "list", "-l", "team=web", "-o", "name") == (
            "unitedrollout.uniteddeployment.io/web\n"
        )
        documents = yaml.safe_load(await here.said("rollout", "list", "web", "lost", "-o", "yaml"))["items"]
        assert [document["kind"] for document in documents] == ["UnitedRollout"] * 2
        several = await here.ud("rollout", "pause", "web", "nope")
        assert several.exit_code == 1
        assert several.stdout == "unitedrollouts.uniteddeployment.io/web: pause: done\n"
        assert (await here.json("rollout", "plan", "web"))["steps"][0]["partitions"] == {"a": 3, "b": 4}


async def test_a_command_without_an_answer_is_withdrawn_and_one_without_a_right_names_the_role(tmp_path: Path) -> None:
    """A command that stays would be executed when nobody expects it any more."""
    async with site(tmp_path, members=0, control=False) as here:
        await create(here.host, rollout())
        unanswered = await here.ud("rollout", "pause", "web", "--timeout", "0.5s")
        assert unanswered.exit_code == 3
        assert "was withdrawn; is the rollout controller running?" in unanswered.stderr
        left = json.loads(await here.said("rollout", "get", "web", "-o", "json"))
        assert not left.get("status", {}).get("commands")
        reads = {
            "apiGroups": ["uniteddeployment.io"],
            "resources": ["unitedrollouts"],
            "verbs": ["get", "list", "watch"],
        }
        options = user(here, tmp_path, reads)
        refused = await here.ud("rollout", "approve", "web", options=options)
        assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)
        assert "the ClusterRole uniteddeployment-rollout-commands allows commands" in refused.stderr
