"""``ud clusters drain`` and ``deregister``: what is removed, what blocks them, and members that are lost."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.cli_kit import NAMESPACE
from tests.integration.cli.clusters_kit import KINDS, Outside, outside, system_namespace
from tests.support.planning import manifest
from uniteddeployment.cli.clusters import drain
from uniteddeployment.cli.clusters.progress import Progress
from uniteddeployment.cli.connect import target
from uniteddeployment_api import names

SECRET = "member-1-member-token"


def _only_the_namespace_is_left(here: Outside, member: str) -> bool:
    return here.in_member(member) == ["namespaces"]


async def registered(here: Outside, *members: str) -> None:
    for name in members:
        result = await here.register(name)
        assert result.exit_code == 0, result.output
    await here.site.until(lambda: all(here.phase(one) == "Running" for one in members), "they are connected")


def application(**shares: Any) -> dict[str, Any]:
    """An application whose subsets can take the pods of each other."""
    made = manifest(shares=shares, replicas=4)
    made["spec"]["topology"]["scheduleStrategy"] = {"type": "Adaptive"}
    return made


async def test_a_member_without_applications_leaves_nothing_on_either_side(tmp_path: Path) -> None:
    async with outside(tmp_path, "member-1", control=True) as here:
        await registered(here, "member-1")
        administrator = ["--member-kubeconfig", str(here.kubeconfig), "--member-context", "member-1"]
        done = await here.ud("deregister", "udc/member-1", *administrator)
        assert done.exit_code == 0, done.output
        assert "deregistered" in done.stdout
        await here.site.until(
            lambda: not here.in_member("member-1"), "the namespace, the account and its role are gone"
        )
        await here.site.until(lambda: not here.on_host("secrets") and not here.on_host("roles"), "so is the Secret")
        assert not here.on_host("clusters")
        again = await here.ud("deregister", "member-1")
        assert again.exit_code == 1
        assert again.stderr.count("\n") == 1


async def test_a_namespace_that_others_use_stays_without_the_mark(tmp_path: Path) -> None:
    """Also without the credentials of an administrator, the account removes itself."""
    async with outside(tmp_path, "member-1", "member-2", control=True) as here:
        await registered(here, "member-1", "member-2")
        config = {"metadata": {"name": "theirs", "namespace": names.SYSTEM_NAMESPACE}}
        here.clusters["member-1"].cluster.access.create("configmaps", config, manager="test")
        place = ["--member-kubeconfig", str(here.kubeconfig), "--member-context", "member-1"]
        for name, options, said in (
            ("member-1", place, "contains configmaps/theirs"),
            ("member-2", [], "only an administrator"),
        ):
            done = await here.ud("deregister", name, *options)
            assert done.exit_code == 0, done.output
            assert said in done.stderr
            await here.site.until(partial(_only_the_namespace_is_left, here, name), "the account is gone")
            annotations = system_namespace(here.clusters[name].cluster)["metadata"].get("annotations") or {}
            assert names.ANNOTATION_HOST_UID not in annotations


class Interrupting(Progress):
    """Interrupts the command as Ctrl-C does, as soon as it reports something."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(text)
        task = asyncio.current_task()
        if len(self.texts) == 1 and task is not None:
            task.cancel()


async def test_a_drain_that_nothing_can_end_names_the_applications_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drain, "BLOCKED_SECONDS", 0.5)
    async with outside(tmp_path, "member-1", control=True) as here:
        await registered(here, "member-1")
        await here.site.apply(application(**{"member-1": None}))
        await here.site.wait_settled()
        for command in (["drain"], ["deregister"]):
            blocked = await here.ud(*command, "member-1")
            assert blocked.exit_code == 4, blocked.output
            assert "default/web (subset member-1): 4 pods stay" in blocked.stderr
            assert "add a subset to spec.topology.subsets" in blocked.stderr
            assert blocked.stderr.splitlines()[-1].startswith("error: member-1 is not drained")
        assert here.in_member("member-1") == list(KINDS)
        assert len(here.site.pods("member-1")) == 4, "the last ready pods are never removed (I7)"
        document = json.loads((await here.ud("drain", "member-1", "-o", "json")).stdout)
        assert document["drained"] is False
        assert document["blocked"][0]["application"] == "default/web"
        notes = Interrupting()
        with pytest.raises(asyncio.CancelledError):
            await drain._drain(target(here.kubeconfig, None, ""), "member-1", 60.0, "60s", notes)
        assert "interrupted: the drain goes on" in notes.texts[-1]
        assert (await here.ud("uncordon", "member-1")).exit_code == 0
        assert not here.cluster_object("member-1")["spec"].get("taints")


async def test_a_drain_goes_on_after_a_timeout(tmp_path: Path) -> None:
    async with outside(tmp_path, "member-1", "member-2", control=True) as here:
        await registered(here, "member-1", "member-2")
        await here.site.apply(application(**{"member-1": None, "member-2": None}))
        await here.site.wait_settled()
        assert len(here.site.pods("member-1")) == 4, "it is filled in the order of the list"
        late = await here.ud("drain", "member-1", "--timeout", "0.001s")
        assert late.exit_code == 3
        assert "was not drained within 0.001s, and the drain goes on" in late.stderr
        done = await here.ud("drain", "member-1", "--timeout", "30s")
        assert done.exit_code == 0, done.output
        assert not here.site.pods("member-1")
        await here.site.wait_settled()
        assert len(here.site.pods("member-2")) == 4


async def test_a_lost_member_is_forgotten_with_what_may_still_run_there(tmp_path: Path) -> None:
    async with outside(tmp_path, "member-1", "member-2", control=True) as here:
        await registered(here, "member-1", "member-2")
        await here.site.apply(manifest(shares={"member-1": 3, "member-2": None}, replicas=5))
        await here.site.wait_settled()
        await here.clusters["member-1"].close()
        lost = await here.ud("deregister", "member-1")
        assert lost.exit_code == 1
        assert "cannot be reached" in lost.stderr
        assert "--abandon" in lost.stderr
        assert here.on_host("clusters") == ["member-1", "member-2"]
        assert not here.cluster_object("member-1")["spec"].get("unschedulable"), "nothing has been changed"
        done = await here.ud("deregister", "member-1", "--abandon")
        assert done.exit_code == 0, done.output
        assert "default/web (subset member-1): 3 pods" in done.stdout
        assert here.on_host("clusters") == ["member-2"]
        await here.site.until(lambda: SECRET not in here.on_host("secrets"), "the Secret goes with the Cluster")
        assert here.host.access.get("uniteddeployments.uniteddeployment.io", NAMESPACE, "web")
