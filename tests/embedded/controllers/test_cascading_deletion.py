"""Deletion with dependents as a client sees it: which finalizers a DELETE sets, and who removes them when."""

import pytest

from tests.embedded.cluster_kit import CONFIGMAPS, JSON_PATCH, Api, configmap, definition
from uniteddeployment.embedded.apimachinery.resources import Obj

JOBS = "/apis/batch/v1/namespaces/default/jobs"
THINGS = "/apis/example.com/v1/namespaces/default/things"
HOLD = "example.com/hold"


@pytest.fixture
def api() -> Api:
    return Api(controllers=True)


def held(api: Api, *finalizers: str) -> Obj:
    return api.configmap("owner", finalizers=[*finalizers, HOLD])


def dependent(api: Api, owner: Obj) -> Obj:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    return api.configmap("dependent", ownerReferences=[{**reference, "blockOwnerDeletion": True}])


def delete(api: Api, **options: object) -> list[str]:
    """The owner's finalizers after a DELETE with these options."""
    result: list[str] = api.json("DELETE", f"{CONFIGMAPS}/owner", options)["metadata"].get("finalizers", [])
    return result


def test_orphaning_is_seen_in_its_steps_by_who_watches_every_event(api: Api) -> None:
    """A controller that reads every event can detect orphaning; one that reads only the last state cannot."""
    owner = held(api)
    dependent(api, owner)
    api.clock.advance(1)
    events = api.watch(f"{CONFIGMAPS}?resourceVersion={api.get(CONFIGMAPS)['metadata']['resourceVersion']}")
    assert delete(api, propagationPolicy="Orphan") == [HOLD, "orphan"]
    seen = events.take()
    assert [(item["type"], item["object"]["metadata"]["finalizers"]) for item in seen] == [
        ("MODIFIED", [HOLD, "orphan"])
    ]
    api.clock.advance(0.0005)
    assert not events.take(), "it takes the collector a moment to notice"
    steps: list[list[Obj]] = []
    for _ in range(100):
        api.clock.advance(0.0005)
        steps += [seen] if (seen := events.take()) else []
    (freed,), (released,) = steps
    assert (freed["object"]["metadata"]["name"], "ownerReferences" in freed["object"]["metadata"]) == (
        "dependent",
        False,
    )
    assert (released["object"]["metadata"]["name"], released["object"]["metadata"]["finalizers"]) == ("owner", [HOLD])
    api.json("PATCH", f"{CONFIGMAPS}/owner", [{"op": "remove", "path": "/metadata/finalizers"}], content=JSON_PATCH)
    assert events.seen() == [("DELETED", "owner")]
    api.clock.advance(60)
    assert api.ask("GET", f"{CONFIGMAPS}/dependent").status == 200


def test_in_the_background_a_held_owner_keeps_its_dependents_until_it_is_gone(api: Api) -> None:
    dependent(api, held(api))
    assert delete(api, propagationPolicy="Background") == [HOLD]
    api.clock.advance(60)
    assert api.ask("GET", f"{CONFIGMAPS}/dependent").status == 200
    api.json("PATCH", f"{CONFIGMAPS}/owner", [{"op": "remove", "path": "/metadata/finalizers"}], content=JSON_PATCH)
    api.clock.advance(0.1)
    assert api.ask("GET", f"{CONFIGMAPS}/dependent").status == 404


def test_in_the_foreground_dependents_go_first(api: Api) -> None:
    dependent(api, held(api))
    assert delete(api, propagationPolicy="Foreground") == [HOLD, "foregroundDeletion"]
    api.clock.advance(0.1)
    assert api.ask("GET", f"{CONFIGMAPS}/dependent").status == 404
    assert api.get(f"{CONFIGMAPS}/owner")["metadata"]["finalizers"] == [HOLD]


@pytest.mark.parametrize(
    ("finalizers", "options", "after"),
    [
        (["orphan"], {}, ["orphan", HOLD]),
        (["orphan"], {"propagationPolicy": "Background"}, [HOLD]),
        (["orphan"], {"propagationPolicy": "Orphan"}, ["orphan", HOLD]),
        (["foregroundDeletion"], {}, ["foregroundDeletion", HOLD]),
        (["foregroundDeletion"], {"propagationPolicy": "Orphan"}, [HOLD, "orphan"]),
        ([], {"orphanDependents": True}, [HOLD, "orphan"]),
        ([], {"orphanDependents": False}, [HOLD]),
    ],
)
def test_options_take_precedence_over_finalizers(finalizers: list[str], options: Obj, after: list[str]) -> None:
    api = Api()
    held(api, *finalizers)
    assert delete(api, **options) == after


def test_a_later_policy_changes_the_way_and_a_repeated_one_writes_nothing() -> None:
    api = Api()
    held(api)
    assert delete(api, propagationPolicy="Foreground") == [HOLD, "foregroundDeletion"]
    assert delete(api, propagationPolicy="Orphan") == [HOLD, "orphan"]
    version = api.get(f"{CONFIGMAPS}/owner")["metadata"]["resourceVersion"]
    assert delete(api, propagationPolicy="Orphan") == [HOLD, "orphan"]
    assert delete(api) == [HOLD, "orphan"]
    assert api.get(f"{CONFIGMAPS}/owner")["metadata"]["resourceVersion"] == version


def job(name: str, *finalizers: str) -> Obj:
    container = {"name": "c", "image": "app:1"}
    spec = {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    return {"metadata": {"name": name, "finalizers": [*finalizers, HOLD]}, "spec": spec}


def test_jobs_and_replication_controllers_orphan_their_pods_by_default() -> None:
    api = Api()
    for name, finalizers in (("a", []), ("b", []), ("c", ["foregroundDeletion"])):
        api.create(JOBS, job(name, *finalizers))
    warned = api.ask("DELETE", f"{JOBS}/a")
    assert "child pods are preserved by default" in warned.warnings[0]
    assert not api.ask("DELETE", f"{JOBS}/b?propagationPolicy=Background").warnings
    api.ask("DELETE", f"{JOBS}/c")
    result = {item["metadata"]["name"]: item["metadata"]["finalizers"] for item in api.get(JOBS)["items"]}
    assert result == {"a": [HOLD, "orphan"], "b": [HOLD], "c": ["foregroundDeletion", HOLD]}
    controllers = "/api/v1/namespaces/default/replicationcontrollers"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "app:1"}]}}
    spec = {"replicas": 0, "selector": {"a": "b"}, "template": template}
    api.create(controllers, {"metadata": {"name": "rc", "finalizers": [HOLD]}, "spec": spec})
    response = api.ask("DELETE", f"{controllers}/rc")
    assert not response.warnings
    assert api.get(f"{controllers}/rc")["metadata"]["finalizers"] == [HOLD, "orphan"]


def test_a_collection_of_jobs_is_deleted_with_the_same_warning() -> None:
    api = Api()
    api.create(JOBS, job("a"))
    assert api.ask("DELETE", JOBS).warnings
    assert api.get(f"{JOBS}/a")["metadata"]["finalizers"] == [HOLD, "orphan"]


def test_deletion_raises_the_generation_once() -> None:
    api = Api(controllers=True)
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    api.clock.advance(5)
    api.create(
        THINGS, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "finalizers": [HOLD]}}
    )
    assert api.json("DELETE", f"{THINGS}/a")["metadata"]["generation"] == 2
    assert api.json("DELETE", f"{THINGS}/a")["metadata"]["generation"] == 2


def test_new_finalizers_without_a_domain_get_a_warning() -> None:
    api = Api(controllers=True)
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    api.clock.advance(5)
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "finalizers": ["mine"]}}
    assert 'metadata.finalizers: \\"mine\\": prefer a domain-qualified' in api.ask("POST", THINGS, thing).warnings[0]
    change = {"metadata": {"finalizers": ["mine", "a.b", HOLD]}}
    (warning,) = api.ask("PATCH", f"{THINGS}/a", change, content="application/merge-patch+json").warnings
    assert "including a path (/)" in warning


def test_the_policy_of_a_terminating_pod_does_not_change() -> None:
    """As on a real server, the finalizers of a terminating pod do not change."""
    api = Api()
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "app:1"}]}
    pods = "/api/v1/namespaces/default/pods"
    api.create(pods, {"metadata": {"name": "p"}, "spec": spec})
    api.json("DELETE", f"{pods}/p", {"gracePeriodSeconds": 30})
    assert "finalizers" not in api.json("DELETE", f"{pods}/p", {"propagationPolicy": "Orphan"})["metadata"]


def test_only_what_is_meant_is_deleted() -> None:
    api = Api()
    uid = api.create(CONFIGMAPS, configmap("a"))["metadata"]["uid"]
    errors = {"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}}
    assert api.ask("DELETE", f"{CONFIGMAPS}/a", errors).status == 409
    assert api.ask("DELETE", f"{CONFIGMAPS}/a", {"preconditions": {"uid": uid}}).status == 200
