"""The garbage collector: what is deleted with its owner, when, and what stays."""

from typing import Any

from tests.embedded.infrastructure_kit import HEARTBEATS, Site
from uniteddeployment.embedded.apimachinery.resources import Obj

NOBODY = "11111111-2222-3333-4444-555555555555"


def owned_by(owner: Obj, **more: Any) -> Obj:
    metadata = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    return {**reference, "name": metadata["name"], "uid": metadata["uid"], **more}


def config(site: Site, name: str, *owners: Obj, **metadata: Any) -> Obj:
    return site.create("configmaps", {"metadata": {"name": name, "ownerReferences": list(owners), **metadata}})


def names(site: Site) -> set[str]:
    return {obj["metadata"]["name"] for obj in site.access.list("configmaps", "ns")}


def web(site: Site, replicas: int = 2) -> None:
    template = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "app:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "w"}}, "template": template}
    site.create("deployments.apps", {"metadata": {"name": "web"}, "spec": spec})
    site.run()


def test_in_the_background_dependents_go_after_their_owner() -> None:
    site = Site()
    web(site)
    assert len(site.access.list("pods")) == 2
    site.delete("deployments.apps", "web", propagation="Background")
    assert site.find("deployments.apps", "web") is None
    site.run()
    assert not site.access.list("replicasets.apps")
    assert not site.access.list("pods")


def test_in_the_foreground_the_owner_goes_last() -> None:
    site = Site()
    web(site)
    before = len(site.history)
    site.delete("deployments.apps", "web", propagation="Foreground")
    assert site.get("deployments.apps", "web")["metadata"]["finalizers"] == ["foregroundDeletion"]
    site.run()
    deleted = [resource for type_, resource, _ in site.history[before:] if type_ == "DELETED"]
    assert deleted == ["pods", "pods", "replicasets.apps", "deployments.apps"]


def test_a_foreground_deletion_waits_only_for_what_blocks_it() -> None:
    site = Site()
    owner = config(site, "owner")
    config(site, "blocks", owned_by(owner, blockOwnerDeletion=True), finalizers=["example.com/hold"])
    config(site, "does-not", owned_by(owner), finalizers=["example.com/hold"])
    config(site, "plain", owned_by(owner))
    site.delete("configmaps", "owner", propagation="Foreground")
    site.run()
    assert names(site) == {"owner", "blocks", "does-not"}
    assert site.get("configmaps", "blocks")["metadata"]["deletionTimestamp"]
    site.patch("configmaps", "blocks", metadata={"finalizers": []})
    site.run()
    assert names(site) == {"does-not"}
    assert site.writes(1000) == HEARTBEATS * 3


def test_orphaned_dependents_stay_without_the_reference() -> None:
    """Pods that are orphaned on request keep running (I7)."""
    site = Site()
    web(site)
    pods = {obj["metadata"]["uid"] for obj in site.access.list("pods")}
    site.delete("deployments.apps", "web", propagation="Orphan")
    site.run()
    assert site.find("deployments.apps", "web") is None
    (replica_set,) = site.access.list("replicasets.apps")
    assert "ownerReferences" not in replica_set["metadata"]
    assert {obj["metadata"]["uid"] for obj in site.access.list("pods")} == pods


def test_an_object_is_deleted_if_none_of_its_owners_exists() -> None:
    site = Site()
    owner = config(site, "owner")
    absent = {**owned_by(owner), "name": "absent", "uid": NOBODY}
    config(site, "dangling", absent)
    config(site, "wrong-uid", {**owned_by(owner), "uid": NOBODY})
    config(site, "both", owned_by(owner), absent)
    site.run()
    assert names(site) == {"owner", "both"}
    assert site.get("configmaps", "both")["metadata"]["ownerReferences"] == [owned_by(owner)]
    site.delete("configmaps", "owner")
    site.run()
    assert names(site) == set()


def test_cluster_scoped_owners_take_their_namespaced_dependents_with_them() -> None:
    site = Site()
    config(site, "of-node", owned_by(site.node("n3")))
    site.run()
    assert names(site) == {"of-node"}
    site.delete("nodes", "n3", "")
    site.run()
    assert names(site) == set()


def test_an_owner_of_an_unknown_kind_counts_as_one_that_exists() -> None:
    """Objects are not deleted while their owner's state is unknown (I7, I8)."""
    site = Site()
    config(site, "kept", {"apiVersion": "example.com/v1", "kind": "Thing", "name": "x", "uid": NOBODY})
    site.run(100)
    assert names(site) == {"kept"}


def test_a_collector_that_starts_late_finds_missed_changes() -> None:
    """A missed event leads to the same state (I9)."""
    site = Site()
    owner = config(site, "owner")
    config(site, "dependent", owned_by(owner))
    collector = site.controller("garbagecollector")
    collector.stop()
    site.delete("configmaps", "owner")
    site.run()
    assert names(site) == {"dependent"}
    collector.start()
    site.run()
    assert names(site) == set()
