"""The cluster answers any request without raising and without a server error."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    pod,
)

THINGS = "/apis/example.com/v1/namespaces/default/things"
FIELDS = st.sampled_from(
    ["metadata", "name", "labels", "finalizers", "ownerReferences", "spec", "data", "kind", "apiVersion", "replicas",
     "template", "containers", "status", "deleteOptions", "preconditions", "target", "op", "path", "value", "a"]
)  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["", "a", "v1", "/a"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4), max_leaves=12
)
BODIES = VALUES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=30)
REQUESTS = st.sampled_from(
    [
        ("POST", CONFIGMAPS, "application/json"),
        ("POST", CONFIGMAPS, "application/yaml"),
        ("POST", CONFIGMAPS, "application/vnd.kubernetes.protobuf"),
        ("POST", PODS, "application/json"),
        ("POST", DEPLOYMENTS, "application/json"),
        ("POST", THINGS, "application/json"),
        ("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json"),
        ("PUT", f"{CONFIGMAPS}/a", "application/json"),
        ("PUT", f"{DEPLOYMENTS}/a", "application/json"),
        ("PUT", f"{DEPLOYMENTS}/a/scale", "application/json"),
        ("PATCH", f"{DEPLOYMENTS}/a/scale", MERGE),
        ("PATCH", f"{CONFIGMAPS}/a", MERGE),
        ("PATCH", f"{DEPLOYMENTS}/a", STRATEGIC),
        ("PATCH", f"{DEPLOYMENTS}/a", JSON_PATCH),
        ("PATCH", f"{DEPLOYMENTS}/a?fieldManager=m", APPLY),
        ("PATCH", f"{THINGS}/a", MERGE),
        ("PATCH", f"{THINGS}/a?fieldManager=m&force=true", APPLY),
        ("DELETE", f"{CONFIGMAPS}/a?dryRun=All", "application/json"),
        ("POST", f"{PODS}/a/eviction?dryRun=All", "application/json"),
        ("POST", f"{PODS}/a/binding", "application/json"),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "application/json"),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", "application/json"),
    ]
)


def world() -> Api:
    api = Api(controllers=True)
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    api.clock.advance(1)
    api.create(CONFIGMAPS, configmap("a"))
    api.create(DEPLOYMENTS, deployment("a"))
    api.create(PODS, pod("a"))
    api.create(THINGS, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"x": 1}})
    return api


@settings(max_examples=3 * settings().max_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(REQUESTS, BODIES)
def test_no_body_makes_the_cluster_fail(request: tuple[str, str, str], body: bytes) -> None:
    method, url, content = request
    response = _WORLD.ask(method, url, body, content=content)
    assert 200 <= response.status <= 500
    assert json.loads(response.body)


_WORLD = world()
