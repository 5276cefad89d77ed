"""Members from registration to departure, as processes: registered, drained, deregistered, lost and abandoned."""

import json
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import control_planes, fleet_fixture
from tests.support.planning import manifest
from tests.support.site import Site
from tests.support.waiting import until
from uniteddeployment_api import names

NAMESPACE = "shop"
SECRET = "{}-member-token"
WRITES = (
    ("create,get,patch,delete", "namespaces,serviceaccounts,clusterroles,clusterrolebindings,serviceaccounts/token"),
    ("escalate,bind", "clusterroles"),
)
"""Rights that are enough to register a member: verbs and resources."""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    """Clusters of the test's own, none of them registered, because one will be killed."""
    with fleet_fixture.fleet(tmp_path) as fleet:
        fleet.needs_pods()
        fleet.needs_processes()
        made = Site(fleet, NAMESPACE, tmp_path)
        for plane in fleet.planes:
            plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        yield made


def application() -> dict[str, Any]:
    """Any subset can take the pods of the others, and one pod at a time may be missing."""
    document = manifest(
        kind="deploymentTemplate", shares=dict.fromkeys(("member-1", "member-2", "member-3")), replicas=6
    )
    document["metadata"]["namespace"] = NAMESPACE
    for subset in document["spec"]["topology"]["subsets"]:
        subset["weight"] = 1
    document["spec"]["topology"] |= {"scheduleStrategy": {"type": "Adaptive"}, "maxUnavailable": 1}
    return document


def counts(here: Site) -> dict[str, int]:
    status = here.get("ud", "web").get("status") or {}
    return {entry["name"]: entry.get("readyReplicas", 0) for entry in status.get("subsetStatuses") or ()}


def ready(here: Site) -> int:
    return sum(counts(here).values())


def a_user_without_the_rights_registers(here: Site, member: str) -> None:
    """They get more of the rights that are missing each time. RBAC lets nobody grant rights that they do not have."""
    there = ["--context", member]
    here.kubectl("create", "serviceaccount", "registrar", "-n", "default", *there)
    config = here.folder / "registrar"
    control_planes.write(config, here.fleet.members[member].as_service_account("default", "registrar"))
    register = ["clusters", "register", member, "--kubeconfig", str(config)]
    for number, (missing, (verbs, resources)) in enumerate(
        zip(("create serviceaccounts/token", "patch statefulsets.apps/scale"), WRITES, strict=True)
    ):
        refused = here.ud(*register)
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1), refused.stderr
        assert missing in refused.stderr
        assert not here.api(member).exists("namespace", None, names.SYSTEM_NAMESPACE), "nothing is made"
        role = f"registrar-{number}"
        here.kubectl("create", "clusterrole", role, f"--verb={verbs}", f"--resource={resources}", *there)
        here.kubectl(
            "create", "clusterrolebinding", role, f"--clusterrole={role}", "--serviceaccount=default:registrar", *there
        )
        can = ["--as=system:serviceaccount:default:registrar", *there]
        asked = ["auth", "can-i", verbs.split(",")[0], resources.split(",")[-1], *can]

        def allowed(asked: Sequence[str] = asked) -> bool:
            return here.try_kubectl(*asked).returncode == 0

        until(allowed, "the API server has read the role")
    done = here.ud(*register)
    assert done.returncode == 0, done.stderr


@pytest.mark.timeout(400)
def test_members_are_registered_drained_deregistered_and_abandoned(here: Site) -> None:
    """The controller has the credentials that a registration creates, and RBAC decides what they allow."""
    with here.controller() as controller:
        for member in ("member-1", "member-2"):
            done = here.ud("clusters", "register", member, "--context", member, "--labels", "region=eu", "-o", "json")
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["tokenExpires"]
        a_user_without_the_rights_registers(here, "member-3")
        here.wait_phase("Running", "udc", *here.fleet.members)
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
        assert not here.exists("udc", "member-1")
        here.wait_deleted("secret", SECRET.format("member-1"))
        cluster_wide = {
            "clusterrole": names.MEMBER_ACCOUNT,
            "clusterrolebinding": names.MEMBER_ACCOUNT,
            "namespace": names.SYSTEM_NAMESPACE,
        }
        for kind, name in cluster_wide.items():

            def has_gone(kind: str = kind, name: str = name) -> bool:
                return not here.api("member-1").exists(kind, None, name)

            until(has_gone, f"the {kind} is gone")

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
