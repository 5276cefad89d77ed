"""Helpers of tests about templates: what is applied, what runs, and what the status says."""

import copy
from typing import Any

from tests.support.narrowing import present
from tests.support.planning import manifest
from tests.support.world import UDS, World
from uniteddeployment_api import names

PATH = f"{names.API_PATH}/namespaces/default/{names.UNITED_DEPLOYMENT_PLURAL}"


def document(**more: Any) -> dict[str, Any]:
    """Two subsets of two pods each."""
    return manifest(shares={"member-1": 2, "member-2": 2}, replicas=4, **more)


def subset(doc: dict[str, Any], name: str) -> dict[str, Any]:
    """A subset of a manifest."""
    return next(one for one in doc["spec"]["topology"]["subsets"] if one["name"] == name)


def template(doc: dict[str, Any]) -> dict[str, Any]:
    """The workload template of a manifest."""
    found: dict[str, Any]
    (found,) = doc["spec"]["template"].values()
    return found


def uids(w: World, *members: str) -> set[str]:
    """Of the living pods."""
    return {
        pod["metadata"]["uid"]
        for member in members or w.members
        for pod in w.pods(member)
        if "deletionTimestamp" not in pod["metadata"]
    }


def ordinals(w: World, member: str) -> list[int]:
    """Of the pods of a member."""
    return sorted(int(pod["metadata"]["name"].rpartition("-")[2]) for pod in w.pods(member))


def entries(w: World) -> dict[str, Any]:
    """The status of each subset."""
    return {one["name"]: one for one in w.status()["subsetStatuses"]}


def message(w: World, type_: str) -> str:
    """Of a condition."""
    return str(next(one["message"] for one in w.status()["conditions"] if one["type"] == type_))


async def applied(w: World, doc: dict[str, Any]) -> None:
    """Apply a manifest and wait until everything is as asked for."""
    w.apply(doc)
    await w.until(w.settled, what="settling")


async def done(w: World, doc: dict[str, Any]) -> None:
    """The same, until every pod is at the new template."""
    w.apply(doc)
    await w.until(lambda: w.settled() and w.status()["currentRevision"] == w.status()["updatedRevision"])


def annotate(w: World, **annotations: Any) -> None:
    """Set the annotations of the UnitedDeployment."""
    found = present(w.host.access.get(UDS, "default", "web"))
    metadata = {**found["metadata"], "annotations": annotations}
    w.request(w.host, "PUT", f"{PATH}/web", {**found, "metadata": metadata})


CLAIM: dict[str, Any] = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def provide_storage(w: World) -> None:
    """A default class whose volumes are made on demand."""
    kind = {
        "metadata": {
            "name": "standard",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "embedded/zonal",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    for member in w.members.values():
        w.request(member, "POST", "/apis/storage.k8s.io/v1/storageclasses", kind)


def with_storage(doc: dict[str, Any], size: str) -> None:
    """Give the pods of a manifest a claim of that size."""
    claim = copy.deepcopy(CLAIM)
    claim["spec"]["resources"]["requests"]["storage"] = size
    template(doc)["spec"]["volumeClaimTemplates"] = [claim]


def stateful_sets(w: World) -> dict[str, Any]:
    """The one of each member."""
    return {name: next(iter(one.access.list("statefulsets.apps", "default")), None) for name, one in w.members.items()}


def recreated(w: World) -> dict[str, str]:
    """The uid of the StatefulSet of each member; empty where there is none."""
    return {name: one["metadata"]["uid"] if one else "" for name, one in stateful_sets(w).items()}
