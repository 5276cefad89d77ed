"""``ud get`` and ``ud wait`` on a host over HTTPS."""

import asyncio
import json
from pathlib import Path
from typing import Any

import yaml

from tests.integration.cli.cli_kit import NAMESPACE, site
from tests.support.applications import application
from uniteddeployment.cli.demo.fleet import controlled


def on_the_host(name: str, *, image: str = "app:1", **labels: str) -> dict[str, Any]:
    document = application(image=image, replicas=2)
    document["metadata"] = {"name": name, "labels": labels}
    document["spec"]["topology"]["subsets"] = [{"name": "a"}]
    return document


async def test_applications_are_selected_by_names_and_by_labels(tmp_path: Path) -> None:
    async with site(tmp_path, members=0, control=False) as made:
        for name, tier in (("web", "front"), ("api", "front"), ("db", "back")):
            await made.apply(on_the_host(name, tier=tier))

        async def chosen(*arguments: str) -> list[str]:
            said = await made.said("get", *arguments, "-o", "name")
            return [line.rpartition("/")[2] for line in said.splitlines()]

        assert await chosen() == ["api", "db", "web"]
        assert await chosen("web", "ud/api") == ["web", "api"]
        assert await chosen("-l", "tier=front") == ["api", "web"]
        assert await chosen("-l", "tier notin (front)") == ["db"]
        assert await chosen("-A") == ["api", "db", "web"]

        table = await made.said("get", "-A", "-l", "tier=back")
        assert table.splitlines()[0].split()[:2] == ["NAMESPACE", "NAME"]
        assert table.splitlines()[1].split()[:3] == [NAMESPACE, "◌", "db"]

        none = await made.ud("get", "-l", "tier=none")
        assert (none.exit_code, none.stdout) == (0, "")
        assert "with these labels" in none.stderr
        some = await made.ud("get", "web", "nope", "neither")
        assert some.exit_code == 1
        assert "◌ web" in some.stdout
        assert [line.split('"')[1] for line in some.stderr.splitlines()] == ["nope", "neither"]

        one = json.loads(await made.said("get", "web", "-o", "json"))
        assert (one["kind"], one["metadata"]["labels"]) == ("UnitedDeployment", {"tier": "front"})
        assert "managedFields" not in one["metadata"]
        several = yaml.safe_load(await made.said("get", "web", "db", "-o", "yaml"))
        assert [item["metadata"]["name"] for item in several["items"]] == ["web", "db"]


async def test_a_spec_that_no_controller_has_observed_is_shown_as_progressing(tmp_path: Path) -> None:
    """I8"""
    async with site(tmp_path, members=0, control=False) as made:
        await made.apply(on_the_host("web"))
        async with controlled(made.fleet):
            await made.wait_settled()
        await made.apply(on_the_host("web", image="app:2"))
        lines = (await made.said("get", "web")).splitlines()
        assert "the controller has not observed generation 2 of the spec yet (it has observed generation 1)" in lines[2]
        assert [line.split()[-2] for line in (lines[1],)] == ["Progressing"]
        assert lines[3].split()[-1] == "Progressing", "what is stored of subsets is as old"


async def test_waiting_does_not_accept_the_state_of_an_older_spec(tmp_path: Path) -> None:
    """I8"""
    async with site(tmp_path, members=0, control=False) as made:
        await made.apply(on_the_host("web"))
        async with controlled(made.fleet):
            assert await made.said("wait", "web", "--timeout", "60s") == "web is Ready\n"
        await made.apply(on_the_host("web", image="app:2"))
        late = await made.ud("wait", "web", "--timeout", "0.5s")
        assert late.exit_code == 3
        assert late.stderr.splitlines()[-1] == "error: timed out after 0.5s: web is Progressing"
        waiting = asyncio.create_task(made.ud("wait", "web", "--timeout", "60s"))
        async with controlled(made.fleet):
            done = await waiting
        assert (done.exit_code, done.stdout) == (0, "web is Ready\n")
        images = {pod["spec"]["containers"][0]["image"] for pod in made.pods("host")}
        assert images == {"app:2"}


async def test_waiting_accepts_any_of_several_states(tmp_path: Path) -> None:
    async with site(tmp_path, members=0, control=False) as made, controlled(made.fleet):
        await made.apply(on_the_host("web"))
        await made.wait_settled()
        held = on_the_host("web", image="app:2")
        held["spec"]["updateStrategy"] = {"manualUpdate": {"partition": 1}}
        await made.apply(held)
        assert await made.said("wait", "ud/web", "--for", "ready", "--for", "held") == "web is Held\n"
        missing = await made.ud("wait", "web", "nope")
        assert (missing.exit_code, missing.stderr.count("\n")) == (1, 1)
