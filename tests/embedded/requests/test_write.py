"""Creating, updating and deleting objects through the API."""

import json
from typing import Any

import pytest

from tests.embedded.cluster_kit import (
    APPLY,
    CONFIGMAPS,
    DEPLOYMENTS,
    JSON_PATCH,
    MERGE,
    PODS,
    STRATEGIC,
    Api,
    configmap,
    definition,
    deployment,
    names,
    pod,
)


def test_a_created_object_is_stamped_by_the_server() -> None:
    api = Api()
    created = api.configmap("a", data={"k": "v"})
    metadata = created["metadata"]
    assert metadata["namespace"] == "default"
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert metadata["uid"]
    assert [entry["manager"] for entry in metadata["managedFields"]] == ["tester"]
    assert api.get(f"{CONFIGMAPS}/a") == created


def test_a_client_cannot_create_what_only_the_server_sets() -> None:
    api = Api()
    given = {
        "uid": "11111111-2222-3333-4444-555555555555",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 5,
        "selfLink": "/x",
    }
    created = api.configmap("a", **given)["metadata"]
    assert created["uid"] != given["uid"]
    assert created["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert set(created) == {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}


@pytest.mark.parametrize(("url", "generation"), [(CONFIGMAPS, 7), (DEPLOYMENTS, 1)])
def test_a_client_sets_the_generation_only_where_the_server_does_not_count_it(url: str, generation: int) -> None:
    api = Api()
    obj = configmap("a") if url == CONFIGMAPS else deployment("a")
    obj["metadata"]["generation"] = 7
    api.create(url, obj)
    for value in (9, None):
        changed = api.patch(f"{url}/a", {"metadata": {"generation": value}})
        assert changed["metadata"]["generation"] == generation


def test_a_negative_generation_is_refused() -> None:
    refused = Api().json("POST", CONFIGMAPS, configmap("a", generation=-1), status=422)
    assert refused["message"] == (
        'ConfigMap "a" is invalid: metadata.generation: Invalid value: -1: must be greater than or equal to 0'
    )


def test_a_new_object_has_no_version() -> None:
    api = Api()
    refused = api.json("POST", CONFIGMAPS, configmap("a", resourceVersion="5"), status=500)
    assert refused["message"] == "resourceVersion should not be set on objects to be created"
    assert "reason" not in refused
    api.configmap("a", resourceVersion="0")
    api.configmap("b", resourceVersion="words")


def test_an_update_keeps_what_only_the_server_sets() -> None:
    api = Api()
    created = api.configmap("a")
    given: dict[str, Any] = {"creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x", "generation": 3}
    assert api.json("PUT", f"{CONFIGMAPS}/a", configmap("a", **given), status=200) == created


def test_an_apply_that_names_a_uid_creates_nothing() -> None:
    api = Api()
    config = configmap("a", uid="11111111-2222-3333-4444-555555555555")
    refused = api.json("PATCH", f"{CONFIGMAPS}/a?fieldManager=m", config, content=APPLY, status=409)
    assert refused["message"] == (
        'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object specified uid '
        "11111111-2222-3333-4444-555555555555, and no existing object was found"
    )


def test_two_clusters_from_one_seed_are_alike_to_the_byte() -> None:
    """Equal requests at equal times yield equal responses (I2)."""
    answers = []
    for _ in range(2):
        api = Api(seed=7)
        api.create(CONFIGMAPS, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"generateName": "a-"}})
        answers.append(api.ask("GET", CONFIGMAPS).body)
    assert answers[0] == answers[1]


def test_a_name_that_is_taken_is_refused() -> None:
    api = Api()
    api.configmap("a")
    refused = api.json("POST", CONFIGMAPS, configmap("a"), status=409)
    assert refused["message"] == 'configmaps "a" already exists'


def test_generated_names_differ_and_fit() -> None:
    api = Api()
    prefix = "p" * 70
    created = [api.create(CONFIGMAPS, {"metadata": {"generateName": prefix}})["metadata"]["name"] for _ in range(2)]
    assert created[0] != created[1]
    assert all(len(name) == 63 for name in created)


def test_a_namespace_must_be_there_and_alive() -> None:
    api = Api()
    missing = api.json("POST", "/api/v1/namespaces/nowhere/configmaps", configmap("a"), status=404)
    assert missing["details"] == {"name": "nowhere", "kind": "namespaces"}
    api.create("/api/v1/namespaces", {"metadata": {"name": "leaving"}})
    api.json("DELETE", "/api/v1/namespaces/leaving", status=200)
    refused = api.json("POST", "/api/v1/namespaces/leaving/configmaps", configmap("a"), status=403)
    assert refused["details"]["causes"][0]["reason"] == "NamespaceTerminating"


def test_an_update_based_on_an_old_version_is_a_conflict() -> None:
    api = Api()
    first = api.configmap("a", data={"k": "1"})
    api.patch(f"{CONFIGMAPS}/a", {"data": {"k": "2"}})
    refused = api.json("PUT", f"{CONFIGMAPS}/a", first, status=409)
    assert refused["reason"] == "Conflict"


def test_an_update_that_changes_nothing_writes_nothing() -> None:
    """Without a change there is no write; later times in managedFields are not a change (I3)."""
    api = Api()
    created = api.configmap("a", data={"k": "1"})
    api.clock.advance(100)
    assert api.json("PUT", f"{CONFIGMAPS}/a", created, status=200) == created
    assert api.patch(f"{CONFIGMAPS}/a", {"data": {"k": "1"}}) == created


def test_a_number_that_becomes_a_boolean_is_a_change() -> None:
    api = Api(controllers=True)
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    api.clock.advance(1)
    things = "/apis/example.com/v1/namespaces/default/things"
    api.create(things, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"x": 1}})
    api.patch(f"{things}/t", {"spec": {"x": True}})
    assert api.get(f"{things}/t")["spec"]["x"] is True


def test_dry_runs_answer_and_store_nothing() -> None:
    api = Api()
    assert api.json("POST", f"{CONFIGMAPS}?dryRun=All", configmap("a"), status=201)["metadata"]["name"] == "a"
    api.json("GET", f"{CONFIGMAPS}/a", status=404)
    api.configmap("a", data={"k": "1"})
    assert api.json("PUT", f"{CONFIGMAPS}/a?dryRun=All", configmap("a", data={"k": "2"}))["data"] == {"k": "2"}
    api.json("DELETE", f"{CONFIGMAPS}/a?dryRun=All", status=200)
    assert api.get(f"{CONFIGMAPS}/a")["data"] == {"k": "1"}


@pytest.mark.parametrize(
    ("validation", "status", "warnings"), [("Strict", 400, 0), ("Warn", 201, 1), ("Ignore", 201, 0)]
)
def test_unknown_fields_are_refused_warned_of_or_ignored(validation: str, status: int, warnings: int) -> None:
    """Errors have the path of the field, if the client asks for validation (I11)."""
    api = Api()
    response = api.ask("POST", f"{CONFIGMAPS}?fieldValidation={validation}", {**configmap("a"), "spce": {}})
    assert (response.status, len(response.warnings)) == (status, warnings)
    if status == 400:
        assert 'strict decoding error: unknown field "spce"' in json.loads(response.body)["message"]


def test_a_field_that_comes_twice_is_named() -> None:
    api = Api()
    body = b'{"metadata": {"name": "a", "name": "b"}, "data": {"k": "1", "k": "2"}}'
    refused = api.json("POST", f"{CONFIGMAPS}?fieldValidation=Strict", body, status=400)
    assert 'duplicate field "metadata.name"' in refused["message"]
    assert 'duplicate field "data.k"' in refused["message"]


def test_yaml_is_read_and_written() -> None:
    api = Api()
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {day: '2026-01-01', text: 2026-01-01}\n"
    created = api.json("POST", CONFIGMAPS, body, content="application/yaml", status=201)
    assert created["data"] == {"day": "2026-01-01", "text": "2026-01-01"}
    response = api.ask("GET", f"{CONFIGMAPS}/a", accept="application/yaml")
    assert response.headers["content-type"] == "application/yaml"
    assert b"name: a\n" in response.body


def test_each_kind_of_patch_does_its_own_thing() -> None:
    api = Api()
    api.create(DEPLOYMENTS, deployment("web"))
    url = f"{DEPLOYMENTS}/web"
    assert api.patch(url, {"spec": {"replicas": 2}}, MERGE)["spec"]["replicas"] == 2
    operations = [{"op": "replace", "path": "/spec/replicas", "value": 3}]
    assert api.patch(url, operations, JSON_PATCH)["spec"]["replicas"] == 3
    sidecar = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:1"}]}}}}
    patched = api.patch(url, sidecar, STRATEGIC)
    assert {item["name"] for item in patched["spec"]["template"]["spec"]["containers"]} == {"c", "side"}


def test_an_apply_creates_and_a_second_manager_meets_a_conflict() -> None:
    api = Api()
    url = f"{CONFIGMAPS}/a?fieldManager="
    assert api.ask("PATCH", f"{url}one", configmap("a", data={"k": "1"}), content=APPLY).status == 201
    refused = api.json("PATCH", f"{url}two", configmap("a", data={"k": "2"}), content=APPLY, status=409)
    assert refused["details"]["causes"][0]["field"] == ".data.k"
    forced = api.json("PATCH", f"{url}two&force=true", configmap("a", data={"k": "2"}), content=APPLY, status=200)
    assert forced["data"] == {"k": "2"}


def test_strategic_patches_are_not_for_custom_resources() -> None:
    api = Api(controllers=True)
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    api.clock.advance(1)
    url = "/apis/example.com/v1/namespaces/default/things/t"
    assert api.ask("PATCH", url, {}, content=STRATEGIC).status == 415


def test_finalizers_hold_a_deleted_object_until_the_last_is_gone() -> None:
    api = Api()
    api.configmap("a", finalizers=["example.com/x"])
    held = api.json("DELETE", f"{CONFIGMAPS}/a", status=200)
    assert held["metadata"]["deletionTimestamp"]
    refused = api.json("PATCH", f"{CONFIGMAPS}/a", {"metadata": {"finalizers": ["b.c/d"]}}, content=MERGE, status=422)
    assert refused["details"]["causes"][0]["field"] == "metadata.finalizers"
    api.patch(f"{CONFIGMAPS}/a", {"metadata": {"finalizers": None}})
    api.json("GET", f"{CONFIGMAPS}/a", status=404)


def test_a_pod_on_a_node_gets_its_grace_and_may_only_go_sooner() -> None:
    api = Api()
    api.create(PODS, pod("p", nodeName="n1", terminationGracePeriodSeconds=30))
    first = api.json("DELETE", f"{PODS}/p", status=200)
    assert first["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"
    assert api.json("DELETE", f"{PODS}/p?gracePeriodSeconds=60")["metadata"]["deletionGracePeriodSeconds"] == 30
    sooner = api.json("DELETE", f"{PODS}/p?gracePeriodSeconds=5")
    assert sooner["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:05Z"
    api.json("DELETE", f"{PODS}/p?gracePeriodSeconds=0", status=200)
    api.json("GET", f"{PODS}/p", status=404)


def test_a_pod_without_a_node_goes_at_once() -> None:
    api = Api()
    api.create(PODS, pod("p"))
    assert api.json("DELETE", f"{PODS}/p", status=200)["kind"] == "Pod"
    api.json("GET", f"{PODS}/p", status=404)


@pytest.mark.parametrize(("policy", "finalizer"), [("Orphan", "orphan"), ("Foreground", "foregroundDeletion")])
def test_propagation_policies_set_finalizers_for_the_garbage_collector(policy: str, finalizer: str) -> None:
    api = Api()
    api.create(DEPLOYMENTS, deployment("web"))
    held = api.json("DELETE", f"{DEPLOYMENTS}/web", {"propagationPolicy": policy}, status=200)
    assert held["metadata"]["finalizers"] == [finalizer]


def test_preconditions_of_a_deletion_must_hold() -> None:
    api = Api()
    api.configmap("a")
    refused = api.json("DELETE", f"{CONFIGMAPS}/a", {"preconditions": {"uid": "another"}}, status=409)
    assert "UID in the precondition (another)" in refused["message"]


def test_a_collection_is_deleted_by_selector() -> None:
    api = Api()
    for name, group in (("a", "1"), ("b", "1"), ("c", "2")):
        api.configmap(name, labels={"group": group})
    assert names(api.json("DELETE", f"{CONFIGMAPS}?labelSelector=group=1", status=200)) == ["a", "b"]
    assert names(api.get(CONFIGMAPS)) == ["c"]


def test_status_and_spec_are_written_apart() -> None:
    api = Api()
    api.create(DEPLOYMENTS, deployment("web"))
    both = {"spec": {"replicas": 5}, "status": {"replicas": 7}}
    through_status = api.patch(f"{DEPLOYMENTS}/web/status", both)
    assert (through_status["spec"]["replicas"], through_status["status"]["replicas"]) == (1, 7)
    through_main = api.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 5}, "status": {"replicas": 9}})
    assert (through_main["spec"]["replicas"], through_main["status"]["replicas"]) == (5, 7)


def test_scale_is_a_window_on_the_replicas() -> None:
    api = Api()
    api.create(DEPLOYMENTS, deployment("web"))
    scale = api.get(f"{DEPLOYMENTS}/web/scale")
    assert (scale["spec"], scale["status"]["selector"]) == ({"replicas": 1}, "app=web")
    api.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 4}})
    scaled = api.get(f"{DEPLOYMENTS}/web")
    assert (scaled["spec"]["replicas"], scaled["metadata"]["generation"]) == (4, 2)
    refused = api.json("PATCH", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": -1}}, content=MERGE, status=422)
    assert refused["details"]["causes"][0]["field"] == "spec.replicas"


def test_a_binding_gives_a_pod_its_node_once() -> None:
    api = Api()
    api.create("/api/v1/nodes", {"metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "z1"}}})
    api.create(PODS, pod("p"))
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"name": "n1"}}
    api.json("POST", f"{PODS}/p/binding", binding, status=201)
    bound = api.get(f"{PODS}/p")
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z1"}
    assert api.json("POST", f"{PODS}/p/binding", binding, status=409)["details"]["kind"] == "pods/binding"


def test_an_eviction_takes_from_the_budget_until_it_is_empty() -> None:
    api = Api()
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}}
    api.create(budgets, budget)
    numbers = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1}
    api.patch(f"{budgets}/b/status", {"status": {**numbers, "expectedPods": 2}})
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    for name in ("p1", "p2"):
        api.create(PODS, {**pod(name, nodeName="n"), "metadata": {"name": name, "labels": {"app": "x"}}})
        api.patch(f"{PODS}/{name}/status", {"status": running})
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {}}
    assert api.ask("POST", f"{PODS}/p1/eviction", eviction).status == 201
    assert api.get(f"{budgets}/b")["status"]["disruptionsAllowed"] == 0
    refused = api.json("POST", f"{PODS}/p2/eviction", eviction, status=429)
    assert refused["details"]["causes"][0]["reason"] == "DisruptionBudget"


def test_too_large_a_body_is_refused() -> None:
    api = Api()
    assert api.ask("POST", CONFIGMAPS, b" " * (3 * 1024 * 1024 + 1)).status == 413


@pytest.mark.parametrize(
    ("method", "url", "status"),
    [
        ("GET", "/api/v1/nosuch", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/apis/no.such.group/v1/things", 404),
        ("PUT", CONFIGMAPS, 405),
        ("POST", f"{CONFIGMAPS}/a", 405),
        ("DELETE", "/api/v1/configmaps", 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("GET", f"{CONFIGMAPS}/a/status", 404),
        ("GET", f"{PODS}/a/eviction", 405),
        ("GET", "/api/v1/namespaces/default//configmaps", 404),
    ],
)
def test_paths_and_methods_that_are_not_served(method: str, url: str, status: int) -> None:
    assert Api().ask(method, url, {} if method in ("PUT", "POST") else None).status == status


def test_bodies_in_unknown_formats_are_refused() -> None:
    api = Api()
    assert api.ask("POST", CONFIGMAPS, b"x", content="text/plain").status == 415
    assert api.ask("PATCH", f"{CONFIGMAPS}/a", {}, content="application/json").status == 415
    assert api.ask("GET", CONFIGMAPS, accept="text/html").status == 406


def test_protobuf_is_understood_where_kubectl_sends_it() -> None:
    """``kubectl create namespace``, as recorded from the program."""
    body = bytes.fromhex(
        "6b3873000a0f0a02763112094e616d657370616365121b0a130a03666f6f12001a0022002a0032003800420012001a020a001a002200"
    )
    media = "application/vnd.kubernetes.protobuf"
    api = Api()
    assert api.ask("POST", "/api/v1/namespaces", b"k8s\x00\xff", content=media).status == 400
    created = api.json("POST", "/api/v1/namespaces", body, content=media, status=201)
    assert created["metadata"]["name"] == "foo"
    assert created["spec"] == {"finalizers": ["kubernetes"]}


@pytest.mark.parametrize(("rules", "owned"), [("absent", False), (None, False), ([], True)])
def test_an_empty_list_is_owned_and_stored_as_null_where_null_is_written(rules: Any, owned: bool) -> None:
    api = Api()
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": rules}
    if rules == "absent":
        del role["rules"]
    created = api.create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", role)
    assert created["rules"] is None
    fields = [entry["fieldsV1"] for entry in created["metadata"].get("managedFields", [])]
    assert fields == ([{"f:rules": {}}] if owned else [])
