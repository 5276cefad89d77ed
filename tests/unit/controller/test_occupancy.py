"""Which workloads of this host a Cluster still has while it is being deleted, and which of them are cleared away."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from tests.unit.kube.fakes import FakeTransport, json_answer, status_answer
from uniteddeployment.controller.objects import Stored
from uniteddeployment.controller.occupancy import HostOccupancy
from uniteddeployment.fleet.cache import MemberCache
from uniteddeployment.fleet.departure import Left
from uniteddeployment.kube.client import Client
from uniteddeployment.planning.observed import Metadata, Pod, PodMetadata, PodStatus, Workload, WorkloadSpec
from uniteddeployment.planning.observed.workloads import WorkloadMetadata, WorkloadStatus
from uniteddeployment_api import names

CLUSTER = "default/m"


def application(*clusters: str, deleting: bool = False, uid: str = "uid-web") -> Stored:
    when = "2026-01-01T00:00:00Z" if deleting else None
    status = {"subsetStatuses": [{"name": "a", "cluster": name, "workload": "Deployment/web-a"} for name in clusters]}
    return Stored(
        Metadata("web", "default", uid, "1", deletion_timestamp=when), status=Raw(msgspec.json.encode(status))
    )


def workload(
    name: str, *, replicas: int = 0, observed: int = 0, owner: str = "uid-web", deleted: str | None = None
) -> Workload:
    labels = {names.LABEL_NAME: "web", names.LABEL_SUBSET: "a"}
    meta = WorkloadMetadata(
        name,
        "default",
        f"uid-{name}",
        "1",
        labels=labels,
        annotations={names.ANNOTATION_OWNER_UID: owner},
        deletion_timestamp=deleted,
    )
    return Workload(meta, "Deployment", WorkloadSpec(replicas), WorkloadStatus(replicas=observed))


def pod() -> Pod:
    labels = {names.LABEL_NAME: "web", names.LABEL_SUBSET: "a"}
    return Pod(PodMetadata("web-a-0", "default", "uid-p", "1", labels=labels), PodStatus("Running"))


class Place:
    """A host with one application, and a member with workloads."""

    def __init__(self, stored: Stored | None, *workloads: Workload, refuses: int = 0) -> None:
        self.cache = MemberCache(lambda _: None)
        for found in workloads:
            self.cache.merge("Deployment", found)
        self.transport = FakeTransport(
            lambda _: (
                status_answer(refuses, "Forbidden" if refuses == 403 else "NotFound")
                if refuses
                else json_answer({"kind": "Status"})
            )
        )
        self.host = SimpleNamespace(
            synced=True,
            key_of=lambda namespace, label: (namespace, label) if stored is not None else None,
            get={("default", "web"): stored}.get,
            all=lambda: [stored] if stored is not None else [],
        )
        self.member: Any = SimpleNamespace(cache=self.cache, client=Client(self.transport, "m"))
        self.occupancy = HostOccupancy(self.host)  # type: ignore[arg-type]  # stand-ins, also below
        self.occupancy.fleet = SimpleNamespace(  # type: ignore[assignment]
            member=lambda name: self.member if name == CLUSTER else None, cluster=lambda _: None
        )


def test_nothing_is_known_before_the_host_has_been_read() -> None:
    """Else a Cluster would be let go while its workloads run."""
    place = Place(application())
    place.host.synced = False
    assert place.occupancy.left(CLUSTER, seen=True) is None
    place.host.synced, place.occupancy.fleet = True, None
    assert place.occupancy.left(CLUSTER, seen=True) is None


@pytest.mark.parametrize("running", [{"replicas": 1}, {"observed": 1}])
def test_a_workload_with_replicas_keeps_a_cluster(running: dict[str, Any]) -> None:
    place = Place(application(), workload("web-a", **running), workload("web-b"))
    assert place.occupancy.left(CLUSTER, seen=True) == Left(("Deployment default/web-a",), 1, ())


def test_a_workload_with_pods_keeps_a_cluster() -> None:
    place = Place(application(), workload("web-a"))
    place.cache.pod_cache.merge(pod())
    assert place.occupancy.left(CLUSTER, seen=True) == Left(("Deployment default/web-a",), 0, ())


def test_an_empty_workload_of_a_deleted_application_is_left_to_that_deletion() -> None:
    place = Place(application(deleting=True), workload("web-a"))
    assert place.occupancy.left(CLUSTER, seen=True) == Left(("Deployment default/web-a",), 0, ())


@pytest.mark.parametrize(
    ("stored", "found"),
    [
        (application(), workload("web-a", replicas=3, owner="another-host")),
        (None, workload("web-a", replicas=3)),
        (application(), workload("web-a", deleted="2026-01-01T00:00:00Z")),
    ],
    ids=["of another owner", "of no application", "being deleted"],
)
def test_other_workloads_keep_no_cluster(stored: Stored | None, found: Workload) -> None:
    assert Place(stored, found).occupancy.left(CLUSTER, seen=True) == Left((), 0, ())


@pytest.mark.parametrize(
    ("seen", "clusters", "unseen"),
    [
        (True, (CLUSTER,), ()),
        (False, (CLUSTER,), ("default/web",)),
        (False, ("default/m2",), ()),
        (False, ("default/m2", CLUSTER), ("default/web",)),
        (False, (), ()),
    ],
)
def test_an_unseen_cluster_may_have_what_the_status_of_applications_says(
    seen: bool, clusters: tuple[str, ...], unseen: tuple[str, ...]
) -> None:
    place = Place(application(*clusters))
    assert place.occupancy.left(CLUSTER, seen=seen) == Left((), 0, unseen)
    place.member = None
    assert place.occupancy.left(CLUSTER, seen=seen) == Left((), 0, unseen)


@pytest.mark.parametrize("refuses", [0, 404, 403])
async def test_only_empty_workloads_are_deleted_by_their_uid_and_each_once(refuses: int) -> None:
    place = Place(application(), workload("web-a", replicas=1), workload("web-b"), workload("web-c"), refuses=refuses)
    await place.occupancy.clear(CLUSTER)
    await place.occupancy.clear("default/other")
    sent = [(request.method, request.path, msgspec.json.decode(request.body)) for request in place.transport.requests]
    path = "/apis/apps/v1/namespaces/default/deployments"
    assert [(method, where) for method, where, _ in sent] == [
        ("DELETE", f"{path}/web-b"),
        ("DELETE", f"{path}/web-c"),
    ]
    assert [body["preconditions"] for *_, body in sent] == [{"uid": "uid-web-b"}, {"uid": "uid-web-c"}]
    assert {body["propagationPolicy"] for *_, body in sent} == {"Background"}
    assert place.occupancy.left(CLUSTER, seen=True) == Left(("Deployment default/web-a",), 0, ())
