"""Bodies of writes: errors of strict decoding and their order, YAML, and syntax errors."""

from typing import Any

import pytest

from tests.embedded.cluster_kit import (
    APPLY,
    CONFIGMAPS,
    DEPLOYMENTS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Api,
    configmap,
    definition,
    deployment,
)
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.http import Response

YAML = "application/yaml"
PODS = "/api/v1/namespaces/default/pods"
THINGS = "/apis/example.com/v1/namespaces/default/things"
AUTOSCALERS = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"

TWICE = (
    b'{"zeta":1,"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","name":"q","zz":1,"labels":{"a":"b","a":"c"}},'
    b'"spec":{"unk1":1,"containers":[{"name":"c","image":"x","env":[{"name":"A","value":"1","value":"2","valu":""}]}],'
    b'"nodeName":"a","nodeName":"b"},"spec":{"unk1":1,"containers":[]},"zeta":2}'
)
YAML_TWICE = b"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: xx
  name: yy
  foo: 1
data:
  a: b
  a: c
zar: 1
bar: 2
"""


def message(api: Api, method: str, url: str, body: Any, status: int = 400, **how: Any) -> str:
    text: str = api.json(method, url, body, status=status, **how)["message"]
    return text


def warnings(response: Response) -> list[str]:
    return [value.removeprefix('299 - "').removesuffix('"').replace('\\"', '"') for value in response.warnings]


def things(api: Api, schema: Obj | None = None) -> None:
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(schema))
    api.clock.advance(5)


def test_complaints_come_in_the_order_of_the_text_and_each_once() -> None:
    fields = (
        'unknown field "zeta"', 'duplicate field "metadata.name"', 'unknown field "metadata.zz"',
        'duplicate field "metadata.labels.a"', 'unknown field "spec.unk1"',
        'duplicate field "spec.containers[0].env[0].value"', 'unknown field "spec.containers[0].env[0].valu"',
        'duplicate field "spec.nodeName"', 'duplicate field "spec"',
    )  # fmt: skip
    text = message(Api(), "POST", f"{PODS}?fieldValidation=Strict", TWICE)
    assert text == f'Pod in version "v1" cannot be handled as a Pod: strict decoding error: {", ".join(fields)}'


def test_a_custom_resource_has_duplicate_fields_first_and_unknown_ones_sorted() -> None:
    api = Api(controllers=True)
    things(api, {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}})
    body = (
        b'{"apiVersion":"example.com/v1","kind":"Thing","zz":1,"metadata":{"name":"a","foo":1,"name":"b"},'
        b'"spec":{"u":1,"a":"1","a":"2"},"aa":1}'
    )
    fields = (
        'duplicate field "metadata.name"', 'duplicate field "spec.a"', 'unknown field "metadata.foo"',
        'unknown field "aa"', 'unknown field "spec.u"', 'unknown field "zz"',
    )  # fmt: skip
    text = message(api, "POST", f"{THINGS}?fieldValidation=Strict", body)
    assert text == f'Thing in version "v1" cannot be handled as a Thing: strict decoding error: {", ".join(fields)}'


def test_keys_that_yaml_has_twice_are_named_by_line_and_unknown_fields_come_sorted() -> None:
    text = message(Api(), "POST", f"{CONFIGMAPS}?fieldValidation=Strict", YAML_TWICE, content=YAML)
    assert text.partition("strict decoding error: ")[2] == (
        'yaml: unmarshal errors:\n  line 5: key "name" already set in map\n  line 9: key "a" already set in map, '
        'unknown field "bar", unknown field "metadata.foo", unknown field "zar"'
    )


def test_each_complaint_about_yaml_is_a_warning_of_its_own() -> None:
    response = Api().ask("POST", CONFIGMAPS, YAML_TWICE, content=YAML)
    assert response.status == 201
    assert warnings(response) == [
        'line 5: key "name" already set in map',
        'line 9: key "a" already set in map',
        'unknown field "bar"',
        'unknown field "metadata.foo"',
        'unknown field "zar"',
    ]


@pytest.mark.parametrize(
    ("kind", "patch", "text"),
    [
        (
            MERGE,
            b'{"spec":{"replicas":3,"replicas":4,"foo":1,"template":{"bar":1}},"zz":1,"aa":2}',
            (
                '<object>: strict decoding error: duplicate field "spec.replicas", unknown field "aa", unknown field '
                '"spec.foo", unknown field "spec.template.bar", unknown field "zz"'
            ),
        ),
        (
            STRATEGIC,
            b'{"spec":{"replicas":3,"replicas":4,"foo":1},"aa":"x"}',
            (
                '"map[aa:x spec:map[foo:1 replicas:4]]": strict decoding error: duplicate field "spec.replicas", '
                'unknown field "aa", unknown field "spec.foo"'
            ),
        ),
        (
            JSON_PATCH,
            (
                b'[{"op":"add","path":"/spec/foo","value":{"a":1,"a":2}},'
                b'{"op":"replace","path":"/spec/replicas","value":1,"value":2,"val":3}]'
            ),
            (
                '<object>: strict decoding error: json patch duplicate field "[0].value.a", json patch duplicate field '
                '"[1].value", json patch unknown field "[1].val", unknown field "spec.foo"'
            ),
        ),
    ],
)
def test_complaints_about_a_patch_come_before_those_about_its_outcome(kind: str, patch: bytes, text: str) -> None:
    api = Api()
    api.create(DEPLOYMENTS, deployment("a"))
    url = f"{DEPLOYMENTS}/a?fieldValidation=Strict"
    assert message(api, "PATCH", url, patch, 422, content=kind) == f' "" is invalid: patch: Invalid value: {text}'


def test_an_apply_that_has_a_key_twice_is_refused_or_warned_of() -> None:
    api = Api()
    config = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1","k":"2"}}'
    url = f"{CONFIGMAPS}/a?fieldManager=m"
    assert message(api, "PATCH", f"{url}&fieldValidation=Strict", config, content=APPLY) == (
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n"
        '  line 1: key "k" already set in map'
    )
    response = api.ask("PATCH", url, config, content=APPLY)
    assert (response.status, warnings(response)) == (201, ['line 1: key "k" already set in map'])
    assert not api.ask("PATCH", f"{url}&fieldValidation=Ignore", config, content=APPLY).warnings


def test_a_refused_write_warns_of_unknown_fields_too() -> None:
    response = Api().ask("POST", CONFIGMAPS, {**configmap("A"), "foo": 1})
    assert (response.status, warnings(response)) == (422, ['unknown field "foo"'])


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (b"{a: '1', b: 2001-01-01}", {"a": "1", "b": "2001-01-01"}),
        (b"{a: 12:30, b: 1.2.3}", {"a": "12:30", "b": "1.2.3"}),
        (b"{1: a, true: b, 1.5: c}", {"1": "a", "true": "b", "1.5": "c"}),
        (b"{a: b}\n---\napiVersion: v1\n", {"a": "b"}),
    ],
    ids=["dates", "no base of 60", "keys", "first document"],
)
def test_yaml_means_what_the_real_server_reads_in_it(text: bytes, data: dict[str, str]) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: " + text
    assert Api().json("POST", CONFIGMAPS, body, content=YAML, status=201)["data"] == data


@pytest.mark.parametrize("value", ["y", "No", "on", "1e3", "0x1f", "0777", "1_000", "-.5"])
def test_yaml_scalars_that_are_no_text(value: str) -> None:
    body = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{k: {value}}}\n".encode()
    text = message(Api(), "POST", CONFIGMAPS, body, content=YAML)
    assert text.endswith("into Go struct field ConfigMap.data of type string")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b"a: b\nc:\n\td: e\n", "yaml: line 3: found character that cannot start any token"),
        (b"a:\n  b: c\n d: e\n", "yaml: line 2: did not find expected key"),
        (b"a: {b: c\n", "yaml: line 1: did not find expected ',' or '}'"),
    ],
)
def test_mistakes_of_yaml_have_the_line_that_the_real_server_counts(text: bytes, shown: str) -> None:
    assert shown in message(Api(), "POST", CONFIGMAPS, text, content=YAML)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b'{"a":1,}', "'}' looking for beginning of object key string"),
        (b"{'a':1}", "'\\'' looking for beginning of object key string"),
        (b'{"a" 1}', "'1' after object key"),
        (b'{"a":1 "b":2}', "'\"' after object key:value pair"),
        (b'{"a":{}{', "'{' after object key:value pair"),
        (b"[1 2]", "'2' after array element"),
        (b'{"a":1}}', "'}' after top-level value"),
        (b'{"a":tru}', "'}' in literal true (expecting 'e')"),
        (b"nonsense", "'o' in literal null (expecting 'u')"),
        (b'{"a":NaN}', "'N' looking for beginning of value"),
        (b'{"a":01}', "'1' after object key:value pair"),
        (b'{"a":1.}', "'}' after decimal point in numeric literal"),
        (b'{"a":1e}', "'}' in exponent of numeric literal"),
        (b"-", "' ' in numeric literal"),
        (b'{"a":"\\x"}', "'x' in string escape code"),
        (b'{"a":"\\u12g4"}', "'g' in \\u hexadecimal character escape"),
        (b'{"a":"\n"}', "'\\n' in string literal"),
    ],
)
def test_mistakes_of_json_are_named_as_go_names_them(text: bytes, shown: str) -> None:
    assert f"json parse error: invalid character {shown} (" in message(Api(), "POST", CONFIGMAPS, text)


@pytest.mark.parametrize("text", [b'{"a":', b'{"a":"b', b"[[],[]", b'{"a":1', b"tru"])
def test_json_that_ends_too_early(text: bytes) -> None:
    assert "json parse error: unexpected end of JSON input (" in message(Api(), "POST", CONFIGMAPS, text)


def test_a_null_body_is_an_object_without_anything() -> None:
    assert message(Api(), "POST", CONFIGMAPS, b"null", 422) == (
        'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'
    )


# Objects of a kind or version other than that of the path


@pytest.mark.parametrize(("path", "body"), [("v1", "v2"), ("v2", "v1")])
def test_an_object_in_another_version_of_its_resource_is_refused(path: str, body: str) -> None:
    obj = {"apiVersion": f"autoscaling/{body}", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}}
    assert message(Api(), "POST", AUTOSCALERS.format(path), obj) == (
        f"the API version in the data (autoscaling/{body}) does not match the expected API version (autoscaling/{path})"
    )


def test_an_api_version_with_two_slashes_is_none() -> None:
    text = message(Api(), "POST", CONFIGMAPS, {"kind": "ConfigMap", "apiVersion": "a/b/c"})
    assert "(must be of type ConfigMap): unexpected GroupVersion string: a/b/c (" in text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"kind": "Pod"}, "converting (v1.Pod) to (core.ConfigMap): unknown conversion"),
        ({"kind": "Secret"}, "illegal base64 data at input byte 0"),
        (
            {"kind": "Nope"},
            'no kind "Nope" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            {"apiVersion": "v2"},
            'no kind "ConfigMap" is registered for version "v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            {"kind": 5},
            (
                "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field "
                ".kind of type string"
            ),
        ),
    ],
)
@pytest.mark.parametrize("kind", [MERGE, JSON_PATCH])
def test_a_patch_cannot_make_an_object_one_of_another_kind(change: Obj, text: str, kind: str) -> None:
    api = Api()
    api.configmap("a", data={"k": "-"})
    operations = [{"op": "replace", "path": f"/{field}", "value": value} for field, value in change.items()]
    patch = operations if kind == JSON_PATCH else change
    refused = message(api, "PATCH", f"{CONFIGMAPS}/a", patch, 422, content=kind)
    assert refused == f' "" is invalid: patch: Invalid value: <object>: {text}'


def test_a_strategic_patch_does_not_look_at_the_kind() -> None:
    api = Api()
    created = api.configmap("a")
    assert api.patch(f"{CONFIGMAPS}/a", {"kind": "Pod", "apiVersion": "v2"}, STRATEGIC) == created
    refused = message(api, "PATCH", f"{CONFIGMAPS}/a", {"kind": 5}, 422, content=STRATEGIC)
    assert refused == ' "" is invalid: patch: Invalid value: "map[kind:5]": cannot convert int64 to string'


@pytest.mark.parametrize(
    ("change", "status", "text"),
    [
        ({"metadata": {"name": "b"}}, 400, "the name of the object (b) does not match the name on the URL (a)"),
        (
            {"metadata": {"namespace": "b"}},
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            {"metadata": {"uid": "b"}},
            422,
            'ConfigMap "a" is invalid: metadata.uid: Invalid value: "b": field is immutable',
        ),
        (
            {"apiVersion": None},
            400,
            "the name of the object (a based on URL) was undeterminable: name must be provided",
        ),
    ],
)
def test_a_patch_cannot_make_an_object_another_one(change: Obj, status: int, text: str) -> None:
    api = Api()
    api.configmap("a")
    assert message(api, "PATCH", f"{CONFIGMAPS}/a", change, status, content=MERGE) == text


def test_a_patch_to_another_version_of_the_same_resource_is_converted() -> None:
    api = Api()
    spec = {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}
    obj = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": spec}
    api.create(AUTOSCALERS.format("v2"), obj)
    change = {"apiVersion": "autoscaling/v1", "spec": {"metrics": None, "targetCPUUtilizationPercentage": 5}}
    patched = api.patch(f"{AUTOSCALERS.format('v2')}/a", change)
    assert patched["apiVersion"] == "autoscaling/v2"
    assert patched["spec"]["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 5}


# Custom resources


def thing(**more: Any) -> Obj:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, **more}


def test_a_custom_resource_of_another_kind_is_invalid() -> None:
    api = Api(controllers=True)
    things(api)
    refused = api.json("POST", THINGS, thing(kind="Other"), status=422)
    assert refused["message"] == 'Other.example.com "a" is invalid: kind: Invalid value: "Other": must be Thing'
    assert (refused["details"]["kind"], refused["details"]["group"]) == ("Other", "example.com")
    api.create(THINGS, thing())
    refused = api.json("PATCH", f"{THINGS}/a", {"apiVersion": "x/v2"}, content=MERGE, status=422)
    assert refused["message"] == 'Thing.x "a" is invalid: apiVersion: Invalid value: "x/v2": must be example.com/v1'


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            b'{"apiVersion":"example.com/v1"}',
            (
                "the object provided is unrecognized (must be of type Thing): "
                'Object \'Kind\' is missing in \'{"apiVersion":"example.com/v1"}\' ({"apiVersion":"example.com/v1" ...)'
            ),
        ),
        (
            b'{"kind":"Thing"}',
            "the API version in the data () does not match the expected API version (example.com/v1)",
        ),
    ],
)
def test_a_custom_resource_names_its_kind_and_version(body: bytes, text: str) -> None:
    api = Api(controllers=True)
    things(api)
    assert message(api, "POST", THINGS, body) == text
