"""Continue tokens of lists: valid ones, and the errors of invalid ones."""

import base64
import json
from typing import Any

import pytest

from tests.embedded.cluster_kit import CONFIGMAPS, Api, names

FORMAT = "meta.k8s.io/v1"


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def token(start: str, version: int = -1) -> str:
    return encoded({"v": FORMAT, "rv": version, "start": start})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nonsense", "invalid character '\\u009e' looking for beginning of value"),
        ("a%b", "illegal base64 data at input byte 1"),
        ("abcde", "illegal base64 data at input byte 5"),
        ("e30=", "illegal base64 data at input byte 3"),
        (encoded({}), "server does not recognize this encoded version "),
        (encoded({"v": "v2"}), "server does not recognize this encoded version v2"),
        (encoded([]), "json: cannot unmarshal array into Go value of type storage.continueToken"),
        (encoded(5), "json: cannot unmarshal number into Go value of type storage.continueToken"),
        (
            encoded({"v": 5}),
            "json: cannot unmarshal number into Go struct field continueToken.v of type string",
        ),
        (token("a", 0), f"incorrect encoded start resourceVersion (version {FORMAT})"),
        (token(""), f"encoded start key empty (version {FORMAT})"),
        (token("../a"), "../a"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_malformed_token_is_refused_with_the_reason(given: str, message: str, method: str) -> None:
    refused = Api().json(method, f"{CONFIGMAPS}?continue={given}", status=400)
    assert refused["message"] == f"invalid continue token: continue key is not valid: {message}"
    assert refused["reason"] == "BadRequest"


@pytest.mark.parametrize(
    ("url", "start", "left"),
    [
        (CONFIGMAPS, "a\0", ["b", "c"]),
        (CONFIGMAPS, "b", ["b", "c"]),
        ("/api/v1/configmaps", "default/b\0", ["c"]),
        ("/api/v1/configmaps", "default/b", ["b", "c"]),
    ],
)
def test_a_list_goes_on_at_the_key_in_the_token(url: str, start: str, left: list[str]) -> None:
    api = Api()
    for name in "abc":
        api.configmap(name)
    assert names(api.get(f"{url}?continue={token(start)}")) == left


def test_a_page_of_what_has_no_namespace_goes_on_too() -> None:
    api = Api()
    first = api.get("/api/v1/namespaces?limit=2")
    second = api.get(f"/api/v1/namespaces?continue={first['metadata']['continue']}")
    assert [*names(first), *names(second)] == names(api.get("/api/v1/namespaces"))


def test_a_token_and_a_version_exclude_each_other() -> None:
    refused = Api().json("GET", f"{CONFIGMAPS}?continue={token('a')}&resourceVersion=1", status=400)
    assert refused["message"] == "specifying resource version is not allowed when using continue"
