"""``ud clusters list``, ``describe``, ``cordon`` and the others, against a fleet that runs."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.cli_kit import site
from tests.support.planning import manifest
from uniteddeployment.cli.clusters.listing import MEMBERS
from uniteddeployment.cli.connect import target
from uniteddeployment.cli.listing import Query, follow
from uniteddeployment.cli.output import watching
from uniteddeployment.cli.output.terminal import Lines, Screen
from uniteddeployment_api import names

CLUSTERS = f"clusters.{names.GROUP}"


async def test_members_are_shown_with_their_state_and_applications(tmp_path: Path) -> None:
    async with site(tmp_path, members=2) as here:
        await here.apply(manifest(shares={"member-1": 3, "member-2": None}, replicas=5))
        await here.wait_settled()

        def cluster(name: str) -> Any:
            return here.fleet.host.cluster.access.get(CLUSTERS, "default", name)

        listed = await here.said("clusters", "list")
        assert [line.split()[1:3] for line in listed.splitlines()[1:]] == [
            ["member-1", "Running"],
            ["member-2", "Running"],
        ]
        assert "v1." in listed
        wide = await here.said("clusters", "list", "-A", "-o", "wide")
        assert here.served("member-1").server.url in wide
        assert [item["kind"] for item in (await here.json("clusters", "list"))["items"]] == ["Cluster", "Cluster"]
        assert "udc" not in await here.said("clusters", "list", "-l", "no=such", "-o", "name")

        tree = await here.said("clusters", "describe", "udc/member-1")
        for part in ("member-1  Running", "last contact  now", "default/web, subset member-1: 3 of 3 pods ready"):
            assert part in tree
        assert json.loads(await here.said("clusters", "describe", "member-1", "-o", "json"))["kind"] == "Cluster"

        assert "member-1 cordoned" in await here.said("clusters", "cordon", "member-1", "member-2")
        assert "already cordoned" in await here.said("clusters", "cordon", "member-1")
        await here.until(lambda: "taints" in cluster("member-1")["status"], "the taint")
        assert "uniteddeployment.io/cordoned:NoSchedule" in await here.said("clusters", "describe", "member-1")
        assert "uncordoned" in await here.said("clusters", "uncordon", "member-1", "member-2")
        assert not cluster("member-1")["spec"].get("unschedulable")

        assert "suspended" in await here.said("clusters", "suspend", "member-2")
        await here.until(lambda: cluster("member-2")["status"]["phase"] == "Pending", "suspension")
        assert "spec.suspended is set" in await here.said("clusters", "list")
        assert "resumed" in await here.said("clusters", "resume", "member-2")

        unknown = await here.ud("clusters", "cordon", "membr-1", "member-1")
        assert unknown.exit_code == 1
        assert "did you mean member-1" in unknown.stderr
        assert unknown.stderr.count("\n") == 1
        assert "member-1 cordoned" in unknown.stdout


async def test_a_watched_table_follows_each_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: asyncio.Queue[str] = asyncio.Queue()

    class Recording(Screen):
        """Hands each table on."""

        def show(self, lines: Lines) -> None:
            shown.put_nowait("\n".join(line.plain for line in lines))

    monkeypatch.setattr(watching, "Screen", Recording)
    async with site(tmp_path, members=1) as here:
        following = asyncio.create_task(follow(MEMBERS, Query(target(here.fleet.kubeconfig, None, "")), wide=False))
        try:
            async with asyncio.timeout(30):
                while "Running" not in await shown.get():
                    pass
                await here.said("clusters", "cordon", "member-1")
                while "no: Cordoned" not in await shown.get():
                    pass
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        refused = await here.ud("clusters", "list", "-w", "-o", "json")
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
