"""Protobuf bodies, as kubectl sends them for built-in kinds."""

import pytest

from tests.embedded.cluster_kit import Api
from uniteddeployment.embedded.requests import protobuf

MEDIA = "application/vnd.kubernetes.protobuf"


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    written = b""
    while value > 0x7F:
        written += bytes([value & 0x7F | 0x80])
        value >>= 7
    return written + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def text(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def entry(field: int, key: str, value: bytes | str) -> bytes:
    return text(field, text(1, key) + text(2, value))


def envelope(api_version: str, kind: str, message: bytes) -> bytes:
    return protobuf.MAGIC + text(1, text(1, api_version) + text(2, kind)) + text(2, message)


METADATA = text(1, text(1, "a") + text(2, "") + entry(11, "app", "x"))


def test_maps_and_bytes() -> None:
    body = envelope("v1", "Secret", METADATA + entry(2, "k", b"\x00v") + text(3, "Opaque"))
    assert protobuf.decode(body) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a", "generateName": "", "labels": {"app": "x"}},
        "data": {"k": "AHY="},
        "type": "Opaque",
    }


def test_lists_numbers_and_what_is_a_number_or_a_text() -> None:
    named = text(4, number(1, 1) + text(3, "http"))
    numbered = text(4, number(1, 0) + number(2, 8080))
    ports = text(1, number(3, 80) + named) + text(1, number(3, 81) + numbered)
    decoded = protobuf.decode(envelope("v1", "Service", METADATA + text(2, ports)))
    assert decoded["spec"]["ports"] == [{"port": 80, "targetPort": "http"}, {"port": 81, "targetPort": 8080}]


def test_quantities_times_and_negative_numbers() -> None:
    quota = protobuf.decode(envelope("v1", "ResourceQuota", text(2, entry(1, "cpu", text(1, "500m")))))
    assert quota["spec"]["hard"] == {"cpu": "500m"}
    spec = text(1, "me") + number(2, -5) + text(4, number(1, 1_600_000_000) + number(2, 5_000))
    lease = protobuf.decode(envelope("coordination.k8s.io/v1", "Lease", text(2, spec)))
    assert lease["spec"] == {
        "holderIdentity": "me",
        "leaseDurationSeconds": -5,
        "renewTime": "2020-09-13T12:26:40.000005Z",
    }
    assert "creationTimestamp" not in protobuf.decode(envelope("v1", "Pod", text(1, text(8, b""))))["metadata"]


def test_inline_parts_stand_where_json_has_them() -> None:
    volume = text(1, text(1, "v") + text(2, text(1, text(1, "/data"))))
    assert protobuf.decode(envelope("v1", "Pod", text(2, volume)))["spec"]["volumes"] == [
        {"name": "v", "hostPath": {"path": "/data"}}
    ]


@pytest.mark.parametrize(
    "body", [b"", b"{}", protobuf.MAGIC + b"\xff", envelope("v1", "Nothing", b""), envelope("v1", "Pod", b"\x0a\x7f")]
)
def test_bytes_that_are_not_protobuf_are_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        protobuf.decode(body)
    assert Api().ask("POST", "/api/v1/namespaces/default/pods", body, content=MEDIA).status == 400


def test_an_object_from_protobuf_is_stored_like_any_other() -> None:
    api = Api()
    body = envelope("v1", "ConfigMap", METADATA + entry(2, "k", "v"))
    created = api.json("POST", "/api/v1/namespaces/default/configmaps", body, content=MEDIA, status=201)
    assert (created["data"], created["metadata"]["labels"]) == ({"k": "v"}, {"app": "x"})
    assert "generateName" not in created["metadata"]
