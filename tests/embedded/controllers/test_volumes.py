"""Volumes: binding, the zone of a claim, protection."""

from typing import Any

from tests.embedded.infrastructure_kit import Site, pod
from uniteddeployment.embedded.apimachinery.resources import Obj

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
ZONE = "topology.kubernetes.io/zone"


def claim(site: Site, name: str, size: str = "1Gi", storage_class: str = "sc", **spec: Any) -> None:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    site.create(CLAIMS, {"metadata": {"name": name}, "spec": {**wanted, "storageClassName": storage_class, **spec}})
    site.run()


def volume(site: Site, name: str, size: str = "1Gi", storage_class: str = "sc", **spec: Any) -> None:
    offered = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "hostPath": {"path": "/x"}}
    body = {"metadata": {"name": name}, "spec": {**offered, "storageClassName": storage_class, **spec}}
    site.create(VOLUMES, body, namespaced=False)
    site.run()


def storage_class(site: Site, *, waits: bool = True, provisioner: str = "embedded/zonal", **more: Any) -> None:
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    body = {"metadata": {"name": "sc"}, "provisioner": provisioner, "volumeBindingMode": mode, **more}
    site.create("storageclasses.storage.k8s.io", body, namespaced=False)


def using(name: str, *claims: str, **spec: Any) -> Obj:
    volumes = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": each}} for i, each in enumerate(claims)]
    return pod(name, volumes=volumes, **spec)


def phase(site: Site, name: str) -> str:
    return str(site.get(CLAIMS, name)["status"]["phase"])


def test_a_claim_gets_the_smallest_volume_that_suits_and_both_sides_know() -> None:
    site = Site()
    volume(site, "large", "10Gi")
    volume(site, "small", "1Gi")
    volume(site, "right", "2Gi")
    volume(site, "other-class", "2Gi", "other")
    assert site.get(VOLUMES, "right", "")["status"]["phase"] == "Available"
    claim(site, "a", "2Gi")
    bound = site.get(CLAIMS, "a")
    assert (phase(site, "a"), bound["spec"]["volumeName"]) == ("Bound", "right")
    assert bound["status"]["capacity"] == {"storage": "2Gi"}
    assert bound["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] == "yes"
    taken = site.get(VOLUMES, "right", "")
    assert taken["status"]["phase"] == "Bound"
    assert taken["spec"]["claimRef"]["uid"] == bound["metadata"]["uid"]
    claim(site, "b", "20Gi")
    assert phase(site, "b") == "Pending"
    volume(site, "huge", "50Gi")
    assert phase(site, "b") == "Bound"


def test_a_pod_waits_for_its_claims_and_is_placed_when_they_are_bound() -> None:
    site = Site()
    claim(site, "data")
    site.create("pods", using("a", "data"))
    site.run()
    assert site.refusal("a").startswith("0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.")
    volume(site, "late")
    assert site.node_of("a")


def test_a_claim_that_waits_for_its_first_pod_is_pinned_to_the_zone_of_that_pod() -> None:
    site = Site()
    storage_class(site)
    claim(site, "data")
    assert phase(site, "data") == "Pending"
    site.create("pods", using("a", "data", nodeSelector={ZONE: "z2"}))
    site.run()
    assert site.node_of("a") == "n2"
    assert phase(site, "data") == "Bound"
    created = site.get(VOLUMES, site.get(CLAIMS, "data")["spec"]["volumeName"], "")
    assert created["metadata"]["labels"][ZONE] == "z2"
    site.delete("pods", "a")
    site.run()
    for i in range(3):
        site.create("pods", using(f"again{i}", "data"))
    site.run()
    assert {site.node_of(f"again{i}") for i in range(3)} == {"n2"}
    site.create("pods", using("elsewhere", "data", nodeSelector={ZONE: "z1"}))
    site.run()
    assert "1 node(s) didn't match PersistentVolume's node affinity" in site.refusal("elsewhere")


def test_volumes_of_one_node_bring_pods_there() -> None:
    site = Site()
    storage_class(site, provisioner="kubernetes.io/no-provisioner")
    rule = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n3"]}
    volume(site, "local", nodeAffinity={"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}})
    claim(site, "data")
    claim(site, "more")
    site.create("pods", using("a", "data"))
    site.run()
    assert site.node_of("a") == "n3"
    site.create("pods", using("b", "more"))
    site.run()
    assert "3 node(s) didn't find available persistent volumes to bind" in site.refusal("b")


def test_a_class_that_does_not_wait_makes_the_volume_at_once() -> None:
    site = Site()
    storage_class(site, waits=False)
    claim(site, "data")
    assert phase(site, "data") == "Bound"
    site.create("pods", using("a", "data"))
    site.run()
    created = site.get(VOLUMES, site.get(CLAIMS, "data")["spec"]["volumeName"], "")
    assert site.node(site.node_of("a"))["metadata"]["labels"][ZONE] == created["metadata"]["labels"][ZONE]


def test_a_claim_waits_for_an_external_provisioner() -> None:
    """The reason is reported once (I3)."""
    site = Site()
    storage_class(site, waits=False, provisioner="example.com/none")
    claim(site, "data")
    assert phase(site, "data") == "Pending"
    assert [reason for reason, _ in site.reasons("data")] == ["ExternalProvisioning"]
    assert site.writes(100) == []


def test_volumes_are_released_or_deleted_with_their_claims() -> None:
    site = Site()
    storage_class(site, waits=False)
    volume(site, "kept", storage_class="static")
    claim(site, "a", storage_class="static")
    claim(site, "b")
    created = site.get(CLAIMS, "b")["spec"]["volumeName"]
    site.delete(CLAIMS, "a")
    site.delete(CLAIMS, "b")
    site.run()
    assert site.get(VOLUMES, "kept", "")["status"]["phase"] == "Released"
    assert site.find(VOLUMES, created, "") is None
    claim(site, "a", storage_class="static")
    assert phase(site, "a") == "Pending"


def test_a_claim_that_a_pod_uses_and_a_volume_that_a_claim_uses_stay_until_then() -> None:
    """Volumes and claims in use are not deleted (I7)."""
    site = Site()
    volume(site, "v")
    claim(site, "data")
    site.create("pods", using("a", "data"))
    site.run()
    site.delete(VOLUMES, "v", "")
    site.delete(CLAIMS, "data")
    site.run(10)
    assert phase(site, "data") == "Bound"
    assert site.get(VOLUMES, "v", "")["metadata"]["deletionTimestamp"]
    site.delete("pods", "a")
    site.run()
    assert site.find(CLAIMS, "data") is None
    assert site.find(VOLUMES, "v", "") is None
