"""Objects that controllers write are stored in the real server's form."""

from typing import Any

from tests.embedded.infrastructure_kit import Site
from uniteddeployment.embedded.apimachinery.clone import clone


def workload(kind: str, app: str, **spec: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": "c", "image": "app:1"}]}
    template = {"metadata": {"labels": {"app": app}}, "spec": pod}
    return {
        "metadata": {"name": kind},
        "spec": {"selector": {"matchLabels": {"app": app}}, "template": template, **spec},
    }


def test_everything_in_a_busy_cluster_is_decoded_and_filled_already() -> None:
    """Reading an object and writing it back changes nothing (I3)."""
    site = Site()
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    site.create("statefulsets.apps", workload("set", "a", replicas=2, serviceName="s", volumeClaimTemplates=[claim]))
    site.create("deployments.apps", workload("web", "b", replicas=2))
    job_pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "complete:1"}]}
    site.create("jobs.batch", {"metadata": {"name": "job"}, "spec": {"template": {"spec": job_pod}}})
    site.create("services", {"metadata": {"name": "s"}, "spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]}})
    selector = {"matchLabels": {"app": "a"}}
    site.create(
        "poddisruptionbudgets.policy", {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}}
    )
    site.run(30)
    seen = set()
    for resource in site.access.resources():
        for stored in site.access.list(resource.key):
            seen.add(resource.kind)
            again = clone(stored)
            assert list(resource.strategy.conform(again)) == [], stored
            resource.strategy.default(again)
            assert again == stored
    assert {"Pod", "ReplicaSet", "Event", "ControllerRevision", "EndpointSlice", "PersistentVolumeClaim"} <= seen
