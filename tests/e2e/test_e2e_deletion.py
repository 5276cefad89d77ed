"""Deletions that leave the workloads, with real kubectl and the timing of a real garbage collector."""

import json

import pytest

from tests.support.applications import DEPLOYMENT, KINDS, STATEFUL_SET, application
from tests.support.site import Site


def pods(site: Site) -> dict[str, list[str]]:
    """Member -> the uids of its pods."""
    return {
        member: sorted(pod["metadata"]["uid"] for pod in site.objects("pods", member)) for member in site.fleet.members
    }


def check_released(site: Site, kind: str, before: dict[str, list[str]]) -> None:
    """Every pod is still there, and no workload says any more that it is ours."""
    assert pods(site) == before
    for member in site.fleet.members:
        for workload in site.objects(KINDS[kind], member):
            marks = {**workload["metadata"].get("labels", {}), **workload["metadata"].get("annotations", {})}
            assert not [mark for mark in marks if mark.startswith("uniteddeployment.io/")]


@pytest.mark.parametrize(("kind", "down"), [(STATEFUL_SET, False), (DEPLOYMENT, True)], ids=["running", "down"])
def test_cascade_orphan_leaves_every_pod(site: Site, kind: str, *, down: bool) -> None:
    """The garbage collector removes its finalizer within milliseconds; the controller runs, or is down (I7, I9)."""
    site.fleet.needs_pods()
    with site.controller("--no-leader-elect"):
        site.apply(application(kind))
        site.wait_settled()
        before = pods(site)
        if not down:
            site.kubectl("delete", "ud", "web", "--cascade=orphan", "--timeout=60s")
            check_released(site, kind, before)
            return
    site.kubectl("delete", "ud", "web", "--cascade=orphan", "--wait=false")
    collected = lambda: "orphan" not in site.get("ud", "web")["metadata"]["finalizers"]  # noqa: E731  # one use
    site.until(collected, "the garbage collector is done")
    with site.controller("--no-leader-elect"):
        site.wait_deleted("ud", "web")
    check_released(site, kind, before)


def test_the_deletion_policy_leaves_every_pod(site: Site) -> None:
    """An ordinary deletion, of an application that says that its workloads stay (I7)."""
    site.fleet.needs_pods()
    document = application()
    document["spec"]["deletionPolicy"] = "Orphan"
    with site.controller("--no-leader-elect"):
        site.apply(document)
        site.wait_settled()
        before = pods(site)
        planned = json.loads(site.ud("plan", "-f", "-", "-o", "json", stdin=json.dumps(document)).stdout)
        assert planned[0]["deletionPolicy"] == "Orphan"
        site.delete("ud", "web")
    check_released(site, STATEFUL_SET, before)
