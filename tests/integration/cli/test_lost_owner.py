"""``ud adopt --owner-lost`` on a fleet over HTTPS: the host was lost, and its workloads are taken back."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests.integration.cli.cli_kit import NAMESPACE, Site, site
from tests.support.planning import manifest
from uniteddeployment.cli.demo.fleet import controlled
from uniteddeployment_api import names

UDS = "uniteddeployments.uniteddeployment.io"
REVISIONS = "controllerrevisions.apps"
WORKLOADS = "statefulsets.apps"
OTHER = "ffffffff-5d2f-4f0c-9d3f-3f0a5a4a0f11"


def web(**more: Any) -> dict[str, Any]:
    return manifest(shares={"member-1": 2, "member-2": 1}, replicas=3, **more)


async def lost_host(here: Site) -> str:
    """Run the application, and lose its object and its revisions. Return its uid."""
    async with controlled(here.fleet):
        await here.apply(web())
        await here.wait_settled()
    access, found = here.fleet.host.cluster.access, here.ud_object()
    for revision in access.list(REVISIONS, NAMESPACE):
        access.delete(REVISIONS, NAMESPACE, revision["metadata"]["name"])
    access.update(UDS, {**found, "metadata": {**found["metadata"], "finalizers": []}}, manager="test")
    access.delete(UDS, NAMESPACE, "web")
    return str(found["metadata"]["uid"])


def annotate(here: Site, member: str, **annotations: Any) -> None:
    """Change annotations of the workload of a member."""
    access = here.served(member).cluster.access
    (found,) = access.list(WORKLOADS, NAMESPACE)
    marks = {**found["metadata"]["annotations"], **annotations}
    access.update(WORKLOADS, {**found, "metadata": {**found["metadata"], "annotations": marks}}, manager="somebody")


async def test_the_old_uid_is_shown_and_the_applied_object_takes_its_workloads_back(tmp_path: Path) -> None:
    """I13: nothing is written until --apply, and no pod restarts."""
    async with site(tmp_path, members=2, control=False) as here:
        uid = await lost_host(here)
        before = here.uids("member-1") | here.uids("member-2")
        missing = await here.ud("adopt", "web", "--owner-lost")
        assert (missing.exit_code, missing.stdout) == (1, "")
        assert missing.stderr == f'error: {UDS} "web" not found (namespace default)\n'

        file = tmp_path / "web.yaml"
        file.write_text(yaml.safe_dump(web()))
        shown = await here.ud("adopt", "web", "--owner-lost", "-f", str(file))
        assert shown.exit_code == 0, shown.stderr
        printed = yaml.safe_load(shown.stdout)
        assert printed["spec"].pop("topology") == {**web()["spec"]["topology"], "adopt": {"ownerUID": uid}}
        assert printed["spec"] == {key: value for key, value in web()["spec"].items() if key != "topology"}
        title, *rows, warning = shown.stderr.splitlines()
        assert title.split() == ["CLUSTER", "KIND", "NAME", "REPLICAS", "OWNER", "UID"]
        assert [row.split() for row in rows] == [
            ["default/member-1", "StatefulSet", "web-member-1", "2", uid],
            ["default/member-2", "StatefulSet", "web-member-2", "1", uid],
        ]
        assert warning.startswith(f"warning: if a UnitedDeployment default/web with the uid {uid} still exists")
        assert here.ud_object() is None

        done = await here.ud("adopt", "ud/web", "--owner-lost", "-f", str(file), "--apply")
        assert (done.exit_code, done.stdout) == (0, f"{UDS}/web created\n"), done.stderr
        again = await here.ud("adopt", "web", "--owner-lost", "-f", str(file), "--apply")
        assert again.stderr.endswith(f"error: {UDS}/web exists already; leave out --filename to change it\n")
        async with controlled(here.fleet):
            await here.wait_settled()
        assert here.uids("member-1") | here.uids("member-2") == before
        taken = await here.ud("adopt", "web", "--owner-lost")
        assert taken.exit_code == 1
        assert "there is nothing to take back" in taken.stderr


async def test_the_object_on_the_host_is_changed_in_place(tmp_path: Path) -> None:
    async with site(tmp_path, members=2, control=False) as here:
        uid = await lost_host(here)
        await here.apply({**web(), "metadata": {"name": "web", "annotations": {"team": "shop"}}})
        planned = await here.ud("adopt", "web", "--owner-lost", "-o", "json")
        printed = json.loads(planned.stdout)
        assert printed["metadata"] == {"name": "web", "namespace": "default", "annotations": {"team": "shop"}}
        assert printed["spec"]["topology"]["adopt"] == {"ownerUID": uid}
        assert "status" not in printed
        done = await here.ud("adopt", "web", "--owner-lost", "--apply")
        assert (done.exit_code, done.stdout) == (0, f"{UDS}/web patched\n"), done.stderr
        spec = here.ud_object()["spec"]
        assert spec["topology"]["adopt"] == {"ownerUID": uid}
        assert len(spec["topology"]["subsets"]) == 2


async def test_workloads_of_another_namespace_are_ignored_and_the_user_chooses_among_several_uids(
    tmp_path: Path,
) -> None:
    """I13"""
    async with site(tmp_path, members=2, control=False) as here:
        uid = await lost_host(here)
        await here.apply(web())
        annotate(here, "member-2", **{names.ANNOTATION_OWNER_UID: OTHER})
        several = await here.ud("adopt", "web", "--owner-lost")
        assert (several.exit_code, several.stdout) == (1, "")
        assert "the workloads of default/web have 2 different owners: " in several.stderr
        assert {f"{uid} (1 workload)" in several.stderr, f"{OTHER} (1 workload)" in several.stderr} == {True}
        chosen = yaml.safe_load(await here.said("adopt", "web", "--owner-lost", "--owner-uid", OTHER))
        assert chosen["spec"]["topology"]["adopt"] == {"ownerUID": OTHER}

        annotate(here, "member-2", **{names.ANNOTATION_OWNER: "shop/web"})
        only = yaml.safe_load(await here.said("adopt", "web", "--owner-lost"))
        assert only["spec"]["topology"]["adopt"] == {"ownerUID": uid}


async def test_an_unreachable_member_is_reported(tmp_path: Path) -> None:
    """I8: it may run workloads that the command does not see."""
    async with site(tmp_path, members=2, control=False) as here:
        await lost_host(here)
        await here.apply(web())
        await here.served("member-2").close()
        shown = await here.ud("adopt", "web", "--owner-lost")
        assert shown.exit_code == 0
        assert "warning: default/member-2 was not searched: " in shown.stderr
        assert "web-member-2" not in shown.stderr
