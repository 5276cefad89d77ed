"""Members from registration to departure, as processes: registered, drained, deregistered, lost and abandoned."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import fleet_fixture
from tests.support.planning import manifest
from tests.support.site import Site, site
from tests.support.waiting import until
from uniteddeployment_api import names

SECRET = "{}-member-token"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    """Clusters of the test's own, none of them registered, because one will be killed."""
    with fleet_fixture.fleet(tmp_path) as fleet, site(fleet, "shop", tmp_path) as made:
        yield made


def application() -> dict[str, Any]:
    """Any subset can take the pods of the others, and one pod at a time may be missing."""
    document = manifest(
        kind="deploymentTemplate", shares=dict.fromkeys(("member-1", "member-2", "member-3")), replicas=6
    )
    document["metadata"]["namespace"] = "shop"
    for subset in document["spec"]["topology"]["subsets"]:
        subset["weight"] = 1
    document["spec"]["topology"] |= {"scheduleStrategy": {"type": "Adaptive"}, "maxUnavailable": 1}
    return document


def counts(here: Site) -> dict[str, int]:
    status = here.get("ud", "web").get("status") or {}
    return {entry["name"]: entry.get("readyReplicas", 0) for entry in status.get("subsetStatuses") or ()}


def ready(here: Site) -> int:
    return sum(counts(here).values())


def test_members_are_registered_drained_deregistered_and_abandoned(here: Site) -> None:
    """The controller has the credentials that a registration creates, and RBAC decides what they allow."""
    here.fleet.needs_pods()
    here.fleet.needs_processes()
    with here.controller() as controller:
        for member in here.fleet.members:
            done = here.ud("clusters", "register", member, "--context", member, "--labels", "region=eu", "-o", "json")
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["tokenExpires"]
        here.wait("jsonpath={.status.phase}=Running", *(f"udc/{member}" for member in here.fleet.members))
        here.apply(application())
        here.wait_settled()
        assert counts(here) == {"member-1": 2, "member-2": 2, "member-3": 2}

        twice = here.ud("clusters", "register", "other", "--context", "member-1")
        assert (twice.returncode, twice.stderr.count("\n")) == (1, 1)
        assert "registered as the Cluster shop/member-1" in twice.stderr

        drained = here.ud("clusters", "drain", "member-1", "--timeout", "60s")
        assert drained.returncode == 0, drained.stderr
        assert "shop/web (subset member-1): nothing is left" in drained.stderr
        here.wait_settled()
        assert ready(here) == 6
        assert counts(here)["member-1"] == 0
        assert not here.images("member-1")

        left = here.ud("clusters", "deregister", "member-1", "--member-context", "member-1", "--timeout", "60s")
        assert left.returncode == 0, left.stderr
        assert "shop/web" in left.stderr, "its topology still names the Cluster"
        assert here.try_kubectl("get", "udc/member-1").returncode == 1
        until(lambda: here.try_kubectl("get", "secret", SECRET.format("member-1")).returncode == 1, "the Secret")
        for kind in ("clusterrole", "clusterrolebinding"):
            gone = ["get", kind, names.MEMBER_ACCOUNT, "--context", "member-1"]
            until(lambda gone=gone: here.try_kubectl(*gone).returncode == 1, f"the {kind} is gone")
        namespace = ["get", "namespace", names.SYSTEM_NAMESPACE, "--context", "member-1"]
        until(lambda: here.try_kubectl(*namespace).returncode == 1, "the namespace is gone")

        lost = here.fleet.members["member-2"]
        assert lost.process is not None
        lost.process.stop(signal.SIGKILL)
        refused = here.ud("clusters", "deregister", "member-2")
        assert refused.returncode == 1
        assert "--abandon" in refused.stderr
        abandoned = here.ud("clusters", "deregister", "member-2", "--abandon", "--timeout", "60s")
        assert abandoned.returncode == 0, abandoned.stderr
        assert "These pods may still run there" in abandoned.stdout
        assert "shop/web (subset member-2)" in abandoned.stdout
        assert here.ud("clusters", "list", "-o", "name").stdout == "cluster.uniteddeployment.io/member-3\n"
        assert "Forbidden" not in controller.process.log.read_text()
