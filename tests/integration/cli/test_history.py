"""``ud history`` and ``ud undo`` on a host over HTTPS, with the controller."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.integration.cli.cli_kit import Site, site
from tests.support.planning import manifest
from uniteddeployment.cli.demo import embedded
from uniteddeployment.cli.demo.embedded import Options
from uniteddeployment.cli.program import app
from uniteddeployment.embedded import kubeconfig
from uniteddeployment_api import names

TITLE = "uniteddeployments.uniteddeployment.io/web"
HALF = {"member-1": 1}


def web(
    image: str,
    cause: str = "",
    *,
    kind: str = "statefulSetTemplate",
    partitions: dict[str, int] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    document = manifest(kind=kind, image=image, replicas=2, shares={"member-1": None}, partitions=partitions, **spec)
    if cause:
        document["metadata"]["annotations"] = {names.ANNOTATION_CHANGE_CAUSE: cause}
    return document


def images(running: Site, cluster: str) -> dict[str, int]:
    return dict(Counter(pod["spec"]["containers"][0]["image"] for pod in running.pods(cluster)))


@pytest.mark.parametrize("kind", ["statefulSetTemplate", "deploymentTemplate"])
async def test_history_shows_the_pods_of_each_revision_and_undo_makes_an_earlier_one_the_newest(
    tmp_path: Path, kind: str
) -> None:
    async with site(tmp_path) as here:
        await here.apply(web("app:1", "first release", kind=kind))
        await here.wait_settled()
        await here.apply(web("app:2", "a new colour", kind=kind, partitions=HALF))
        await here.wait_settled()
        table = await here.said("history", "web")
        assert table.splitlines()[0].split() == ["REVISION", "AGE", "READY", "PODS", "CHANGE-CAUSE"]
        first, second = table.splitlines()[1:]
        assert first.startswith("1 (current)")
        assert first.rstrip().endswith("first release")
        assert "member-1 1/1" in first
        assert second.startswith("2 (updated)")
        assert second.rstrip().endswith("a new colour")
        assert "member-1 1/1" in second
        assert "app:2" in await here.said("history", "web", "-o", "wide")

        shown = await here.said("history", "web", "--revision", "1")
        assert shown.startswith(f"{TITLE} with revision #1\nChange Cause: first release\nPod Template:\n")
        assert "image: app:1" in shown

        said = await here.said("undo", "web")
        assert said == f"{TITLE} rolled back to revision 1\n"
        await here.wait_settled()
        assert images(here, "member-1") == {"app:1": 2}
        listed = (await here.json("history", "web"))["revisions"]
        assert [one["revision"] for one in listed] == [2, 3]
        assert listed[-1]["images"] == ["app:1"]
        assert listed[-1]["current"]
        assert listed[-1]["updated"]
        assert listed[-1]["changeCause"] == "first release"
        assert listed[-1]["subsets"] == [
            {"name": "member-1", "cluster": "default/member-1", "replicas": 2, "readyReplicas": 2}
        ]
        spec = here.ud_object()["spec"]
        assert spec["updateStrategy"]["manualUpdate"]["partitions"] == HALF, "only the template is put back"

        again = await here.said("undo", "web", "--to-revision", "3")
        assert again == f"{TITLE} skipped rollback (current template already matches revision 3)\n"


async def test_a_change_cause_that_is_added_later_is_stored_with_the_newest_revision(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        await here.apply(web("app:1"))
        await here.wait_settled()
        assert "<none>" in await here.said("history", "web")
        await here.apply(web("app:1", "given later"))

        def noted() -> bool:
            found = here.fleet.host.cluster.access.list("controllerrevisions.apps", "default")
            annotations = [one["metadata"].get("annotations", {}) for one in found]
            return any(one.get(names.ANNOTATION_CHANGE_CAUSE) == "given later" for one in annotations)

        await here.until(noted, "the reason is kept")
        assert (await here.json("history", "web"))["revisions"][0]["changeCause"] == "given later"


async def test_undo_of_a_paused_application_changes_no_pods_and_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        await here.apply(web("app:1"))
        await here.wait_settled()
        await here.apply(web("app:2"))
        await here.wait_settled()
        await here.apply(web("app:2", paused=True))
        before = here.ud_object()["metadata"]["resourceVersion"]
        dry = await here.said("undo", "web", "--dry-run")
        assert dry.startswith(f"{TITLE} rolled back to revision 1 (dry run)\n")
        assert "image: app:1" in dry
        assert "app:2" not in dry
        done = await here.ud("undo", "web")
        assert done.stdout == f"{TITLE} rolled back to revision 1\n"
        assert "paused" in done.stderr
        obj = here.ud_object()
        assert int(obj["metadata"]["resourceVersion"]) > int(before)
        template = obj["spec"]["template"]["statefulSetTemplate"]["spec"]["template"]
        assert template["spec"]["containers"][0]["image"] == "app:1"
        assert images(here, "member-1") == {"app:2": 2}


async def test_an_error_of_history_or_undo_is_one_line(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        missing = await here.ud("history", "web")
        assert missing.exit_code == 1
        assert missing.stderr == 'error: uniteddeployments.uniteddeployment.io "web" not found (namespace default)\n'
        await here.apply(web("app:1"))
        await here.wait_settled()
        alone = await here.ud("undo", "web")
        assert alone.exit_code == 1
        assert alone.stderr == "error: no rollout history found for web: there is no revision before the current one\n"
        unknown = await here.ud("undo", "web", "--to-revision", "7")
        assert unknown.exit_code == 1
        assert unknown.stderr == "error: unable to find specified revision 7 in history (existing revisions: 1)\n"
        assert (await here.ud("history", "web", "-o", "xml")).exit_code == 2


async def test_a_host_without_the_crds_is_reported_with_the_command_that_helps(tmp_path: Path) -> None:
    served = await embedded.serve(Options(name="host", nodes=0))
    try:
        file = tmp_path / "kubeconfig"
        kubeconfig.write(file, [served.context])
        place = ["--kubeconfig", str(file)]
        for command in (["history", "web"], ["undo", "web"], ["adopt", "sts/web", "--name", "web", "--cluster", "a"]):
            result = await asyncio.to_thread(CliRunner().invoke, app, [*command, *place])
            assert result.exit_code == 1
            assert result.stderr.startswith("error: host does not know uniteddeployments.uniteddeployment.io; install")
    finally:
        await served.close()
