"""Input that nests too deep is refused with 400 or 422, whatever part of a request holds it."""

import base64
import json
from typing import Any

import pytest

from tests.embedded import cluster_kit
from tests.embedded.cluster_kit import (
    APPLY,
    CONFIGMAPS,
    DEPLOYMENTS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Api,
    configmap,
    deployment,
)
from tests.embedded.crd_kit import definition
from uniteddeployment.embedded.apimachinery.nesting import MAX_DEPTH
from uniteddeployment.embedded.controllers.definitions import LifecycleController

JSON, YAML = "application/json", "application/yaml"
THINGS = "/apis/example.com/v1/namespaces/default/things"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
FAR = 100_000


def lists(depth: int) -> str:
    return "[" * depth + "]" * depth


def objects(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def block_lists(depth: int) -> str:
    return "- " * depth + "x"


@pytest.fixture
def api() -> Api:
    """A cluster that serves Things, which may hold any fields, and that has one Thing and one Deployment."""
    api = Api(controllers=[LifecycleController])
    api.create(DEFINITIONS, cluster_kit.definition())
    api.clock.advance(1)
    api.create(THINGS, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {}})
    api.create(DEPLOYMENTS, deployment("a"))
    return api


def thing(name: str, inner: str) -> bytes:
    """A Thing with a value of ``inner``, two levels down."""
    head = f'{{"apiVersion":"example.com/v1","kind":"Thing","metadata":{{"name":"{name}"}}'
    return f'{head},"spec":{{"deep":{inner}}}}}'.encode()


def _json_patch(inner: str) -> bytes:
    return f'[{{"op":"add","path":"/spec/deep","value":{inner}}}]'.encode()


REQUESTS = (
    ("POST", CONFIGMAPS, JSON),
    ("POST", CONFIGMAPS, YAML),
    ("PUT", f"{DEPLOYMENTS}/a", JSON),
    ("PUT", f"{DEPLOYMENTS}/a/scale", JSON),
    ("PATCH", f"{DEPLOYMENTS}/a", JSON_PATCH),
    ("PATCH", f"{DEPLOYMENTS}/a", MERGE),
    ("PATCH", f"{DEPLOYMENTS}/a", STRATEGIC),
    ("PATCH", f"{DEPLOYMENTS}/a?fieldManager=m", APPLY),
    ("DELETE", f"{DEPLOYMENTS}/a", JSON),
    ("POST", REVIEWS, JSON),
)


@pytest.mark.parametrize("body", [lists(FAR), objects(FAR), "[" * FAR], ids=["lists", "objects", "unclosed"])
@pytest.mark.parametrize(("method", "url", "media"), REQUESTS)
def test_every_body_that_nests_too_deep_is_a_bad_request(
    api: Api, method: str, url: str, media: str, body: str
) -> None:
    answer = api.json(method, url, body.encode(), content=media, status=400)

    assert "exceeded max depth" in answer["message"]


def test_the_message_is_that_of_the_real_decoder(api: Api) -> None:
    answer = api.json("POST", CONFIGMAPS, lists(FAR).encode(), status=400)

    assert answer["message"] == (
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse "
        "error: invalid character '[' exceeded max depth (" + "5b" * 30 + " ...)"
    )


@pytest.mark.parametrize("nested", [lists, objects])
@pytest.mark.parametrize(
    ("method", "url", "media"),
    [
        ("POST", THINGS, JSON),
        ("POST", THINGS, YAML),
        ("PATCH", f"{THINGS}/b?fieldManager=m", APPLY),
        ("PATCH", f"{THINGS}/a", MERGE),
        ("PATCH", f"{THINGS}/a", JSON_PATCH),
    ],
)
def test_an_object_at_the_limit_is_stored_changed_and_read(
    api: Api, method: str, url: str, media: str, nested: Any
) -> None:
    name = "a" if url.endswith("/a") else "b"

    def body(depth: int) -> bytes:
        return _json_patch(nested(depth)) if media == JSON_PATCH else thing(name, nested(depth))

    refused = api.ask(method, url, body(MAX_DEPTH - 1), content=media)
    stored = api.json(method, url, body(MAX_DEPTH - 2), content=media)
    changed = api.patch(f"{THINGS}/{name}", {"metadata": {"labels": {"x": "y"}}})

    assert refused.status in (400, 422)
    assert b"exceeded max depth" in refused.body
    assert changed["spec"] == stored["spec"] == api.get(f"{THINGS}/{name}")["spec"]
    assert json.dumps(stored["spec"]["deep"], separators=(",", ":")) == nested(MAX_DEPTH - 2)


def test_patches_cannot_make_an_object_deeper_step_by_step(api: Api) -> None:
    api.json("PATCH", f"{THINGS}/a", _json_patch(objects(MAX_DEPTH - 10)), content=JSON_PATCH, status=200)
    path = "/spec/deep" + "/a" * (MAX_DEPTH - 20)
    further = [{"op": "add", "path": path, "value": json.loads(objects(50))}]
    doubled = [{"op": "copy", "from": "/spec", "path": "/spec/deep" + "/a" * 100}] * 12

    answers = [api.json("PATCH", f"{THINGS}/a", patch, content=JSON_PATCH) for patch in (further, doubled)]

    assert [answer["code"] for answer in answers] == [422, 422]
    assert "exceeded max depth" in answers[0]["message"]


@pytest.mark.parametrize(
    "value",
    [
        block_lists(FAR),
        "\n".join(" " * i + "a:" for i in range(MAX_DEPTH + 1)),
        "\r".join(" " * i + "a:" for i in range(MAX_DEPTH + 1)),
        lists(FAR),
    ],
    ids=["block lists", "block mappings", "other line breaks", "flow lists"],
)
def test_yaml_that_nests_too_deep_is_refused_before_it_is_loaded(api: Api, value: str) -> None:
    answer = api.json("POST", CONFIGMAPS, value.encode(), content=YAML, status=400)

    assert f"yaml: exceeded max depth of {MAX_DEPTH}" in answer["message"]


def test_yaml_in_another_encoding_is_held_to_the_same_limit(api: Api) -> None:
    answer = api.json("POST", CONFIGMAPS, block_lists(FAR).encode("utf-16"), content=YAML, status=400)

    assert "exceeded max depth" in answer["message"]


@pytest.mark.parametrize(
    "fields",
    ["deep: &a [*a]", "\n".join(["b0: &b0 []"] + [f"b{i + 1}: &b{i + 1} [*b{i}]" for i in range(MAX_DEPTH)])],
    ids=["cycle", "chain"],
)
def test_yaml_aliases_do_not_get_around_the_limit(api: Api, fields: str) -> None:
    body = f"apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: b}}\n{fields}"

    answer = api.json("POST", THINGS, body.encode(), content=YAML, status=400)

    assert "exceeded max depth" in answer["message"]


def test_wide_yaml_is_not_deep_yaml(api: Api) -> None:
    wide = {**configmap("wide"), "data": {f"k{i}": "[{" for i in range(MAX_DEPTH)}}

    api.json("POST", CONFIGMAPS, wide, content=YAML, status=201)


def test_brackets_in_strings_are_not_nesting(api: Api) -> None:
    api.json("POST", CONFIGMAPS, {**configmap("strings"), "data": {"a": '\\"[{' * MAX_DEPTH}}, status=201)


def test_a_continue_token_that_nests_too_deep_is_a_bad_request(api: Api) -> None:
    token = base64.urlsafe_b64encode(objects(FAR).encode()).decode()

    assert api.ask("GET", f"{CONFIGMAPS}?limit=1&continue={token.rstrip('=')}").status == 400


@pytest.mark.parametrize(
    "rule", ["(" * 2000 + "true" + ")" * 2000, "true" + " && true" * 20_000], ids=["nested", "long"]
)
def test_a_rule_that_nests_too_deep_does_not_compile(api: Api, rule: str) -> None:
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": rule}]}

    answer = api.json("POST", DEFINITIONS, definition(schema), status=422)

    assert "expression recursion limit exceeded" in answer["message"]


def test_a_pattern_that_nests_too_deep_does_not_compile(api: Api) -> None:
    pattern = "(" * 2000 + "a" + ")" * 2000

    answer = api.json("POST", DEFINITIONS, definition({"type": "string", "pattern": pattern}), status=422)

    assert "expression nests too deeply" in answer["message"]


def test_an_owned_path_that_nests_too_deep_is_not_decoded(api: Api) -> None:
    """managedFields hold JSON inside of strings: values of sets and keys of lists."""
    entry = {
        "manager": "m",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {f"v:{lists(FAR)}": {}}},
    }
    body = {**configmap("owned"), "metadata": {"name": "owned", "managedFields": [entry]}}

    assert api.ask("POST", CONFIGMAPS, body).status < 500


def test_a_last_applied_annotation_that_nests_too_deep_counts_as_absent(api: Api) -> None:
    """With a valid annotation kubectl would take the field over from its client-side apply without a conflict."""
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": objects(3000)}
    applied = {"metadata": {"name": "applied", "annotations": annotations}, "data": {"n": "1"}}
    api.json("POST", f"{CONFIGMAPS}?fieldManager=kubectl-client-side-apply", applied, status=201)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"n": "2"}}

    api.json("PATCH", f"{CONFIGMAPS}/applied?fieldManager=kubectl", body, content=APPLY, status=409)
