"""Namespaces: their default account, and the deletion of their content."""

from tests.embedded.infrastructure_kit import Site, pod
from uniteddeployment.embedded.controllers.framework.conditions import condition_of


def test_every_namespace_has_a_default_account_and_gets_it_back() -> None:
    site = Site()
    assert site.get("serviceaccounts", "default")
    site.delete("serviceaccounts", "default")
    site.run()
    assert site.get("serviceaccounts", "default")


def test_a_namespace_goes_with_everything_in_it_and_pods_go_first() -> None:
    site = Site()
    template = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "app:1"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "w"}}, "template": template}
    site.create("deployments.apps", {"metadata": {"name": "web"}, "spec": spec})
    site.create("configmaps", {"metadata": {"name": "one"}})
    site.run()
    before = len(site.history)
    site.delete("namespaces", "ns", "")
    site.run(2)
    assert site.find("namespaces", "ns", "") is None
    deleted = [resource for type_, resource, _ in site.history[before:] if type_ == "DELETED"]
    assert deleted[:2] == ["pods", "pods"]
    assert {"deployments.apps", "replicasets.apps", "configmaps", "serviceaccounts"} <= set(deleted)
    assert deleted[-1] == "namespaces"
    assert not site.access.list("events", "ns")


def test_objects_with_finalizers_keep_the_namespace_and_are_in_its_conditions() -> None:
    site = Site()
    site.create("configmaps", {"metadata": {"name": "one", "finalizers": ["example.com/hold"]}})
    site.create("secrets", {"metadata": {"name": "s"}})
    site.delete("namespaces", "ns", "")
    site.run(2)
    status = site.get("namespaces", "ns", "")["status"]
    assert status["phase"] == "Terminating"
    message = {c["type"]: (c["status"], c["reason"], c["message"]) for c in status["conditions"]}
    assert message == {
        "NamespaceContentRemaining": (
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 1 resource instances",
        ),
        "NamespaceDeletionContentFailure": (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceDeletionDiscoveryFailure": (
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceFinalizersRemaining": (
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
        ),
    }
    assert site.find("secrets", "s") is None
    assert site.writes(60) == []
    site.patch("configmaps", "one", metadata={"finalizers": []})
    site.run()
    assert site.find("namespaces", "ns", "") is None


def test_other_finalizers_of_the_namespace_hold_it_too() -> None:
    site = Site()
    site.access.create(
        "namespaces", {"metadata": {"name": "held"}, "spec": {"finalizers": ["example.com/custom"]}}, manager="test"
    )
    site.delete("namespaces", "held", "")
    site.run()
    held = site.get("namespaces", "held", "")
    assert held["spec"]["finalizers"] == ["example.com/custom"]
    site.access.update("namespaces", {**held, "spec": {"finalizers": []}}, manager="test", subresource="finalize")
    site.run()
    assert site.find("namespaces", "held", "") is None


def test_a_namespace_waits_for_pods_that_are_stopping() -> None:
    site = Site(nodes=1)
    annotations = {"embedded/agent": "running", "embedded/stop-after": "5"}
    site.patch("nodes", "n1", namespace="", metadata={"annotations": annotations})
    site.create("pods", pod("a"))
    site.create("configmaps", {"metadata": {"name": "used-by-a"}})
    site.run()
    site.delete("namespaces", "ns", "")
    site.run(2)
    assert site.find("configmaps", "used-by-a") is not None
    remaining = condition_of(site.get("namespaces", "ns", "")["status"], "NamespaceContentRemaining")
    assert "pods. has 1 resource instances" in remaining["message"]
    site.run(5)
    assert site.find("namespaces", "ns", "") is None
