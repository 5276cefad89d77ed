"""Requests are what the API documents, and answers become structs or typed errors; no I/O in either."""

from datetime import timedelta, timezone

import msgspec
import pytest

from uniteddeployment.kube import errors, requests
from uniteddeployment.kube.meta import ObjectMeta, PartialObject, micro_time, rfc3339, utc_now
from uniteddeployment.kube.requests import PatchType, Propagation
from uniteddeployment.kube.resource import LEASES, NODES, PODS, STATEFULSETS, Resource


class Sized(msgspec.Struct):
    """An object with a number in it."""

    metadata: ObjectMeta
    size: int = 0


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.path(), "/api/v1/pods"),
        (PODS.path("ns"), "/api/v1/namespaces/ns/pods"),
        (PODS.path("ns", "web-0", "status"), "/api/v1/namespaces/ns/pods/web-0/status"),
        (STATEFULSETS.path("ns", "web"), "/apis/apps/v1/namespaces/ns/statefulsets/web"),
        (NODES.path(None, "n1"), "/api/v1/nodes/n1"),
        (LEASES.path("a"), "/apis/coordination.k8s.io/v1/namespaces/a/leases"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert path == expected


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../secrets/x", "a%2fb"])
def test_no_name_leads_to_another_endpoint(name: str) -> None:
    """I11, I13: what comes from outside stays the name of one object."""
    with pytest.raises(ValueError, match="cannot be part of a path"):
        PODS.path("ns", name)


def test_a_name_needs_the_namespace_that_its_kind_has() -> None:
    with pytest.raises(ValueError, match="needs a namespace"):
        PODS.path(None, "web-0")
    with pytest.raises(ValueError, match="are not namespaced"):
        NODES.path("ns")


def test_api_versions() -> None:
    assert PODS.api_version == "v1"
    assert Resource("g", "v2", "things", "Thing").api_version == "g/v2"


def test_list_options_and_that_a_continue_token_travels_without_a_version() -> None:
    first = requests.list_(PODS, "ns", label_selector="a=b", field_selector="c=d", limit=5, resource_version="7")
    assert dict(first.query) == {"labelSelector": "a=b", "fieldSelector": "c=d", "limit": "5", "resourceVersion": "7"}
    second = requests.list_(PODS, "ns", limit=5, resource_version="7", continue_="token")
    assert dict(second.query) == {"limit": "5", "continue": "token"}


def test_apply_names_its_manager_and_says_whether_it_takes_fields_from_others() -> None:
    request = requests.patch(
        STATEFULSETS, "web", {"a": 1}, "ns", patch_type=PatchType.APPLY, field_manager="me", force=True, dry_run=True
    )
    assert request.method == "PATCH"
    assert request.headers["content-type"] == "application/apply-patch+yaml"
    assert dict(request.query) == {"fieldManager": "me", "force": "true", "dryRun": "All"}
    assert request.verb == "apply"
    with pytest.raises(ValueError, match="needs a field manager"):
        requests.patch(STATEFULSETS, "web", {}, "ns", patch_type=PatchType.APPLY)


def test_a_merge_patch_keeps_its_nulls_since_they_remove_fields() -> None:
    request = requests.patch(PODS, "a", {"metadata": {"labels": {"x": None}}}, "ns", patch_type=PatchType.MERGE)
    assert request.body == b'{"metadata":{"labels":{"x":null}}}'


def test_scale_writes_only_the_replicas_over_the_version_that_was_read() -> None:
    request = requests.scale(STATEFULSETS, "web", 3, "ns", resource_version="9")
    assert request.path.endswith("/statefulsets/web/scale")
    assert msgspec.json.decode(request.body) == {"spec": {"replicas": 3}, "metadata": {"resourceVersion": "9"}}


def test_delete_carries_its_preconditions() -> None:
    """I13: only the object that was meant is deleted, not another of its name."""
    request = requests.delete(
        PODS, "a", "ns", uid="u", resource_version="3", propagation=Propagation.FOREGROUND, grace_period_seconds=0
    )
    assert msgspec.json.decode(request.body) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u", "resourceVersion": "3"},
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
    }


def _refusal(code: int, reason: str = "", message: str = "", **details: object) -> bytes:
    return msgspec.json.encode(
        {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    )


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Expired", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (503, "", errors.ServerError),
        (418, "", errors.ApiError),
        (302, "", errors.ApiError),
    ],
)
def test_refusals_become_typed_errors(code: int, reason: str, expected: type[errors.ApiError]) -> None:
    with pytest.raises(errors.ApiError) as caught:
        requests.read(code, {}, _refusal(code, reason, "no"), PartialObject)
    assert type(caught.value) is expected
    assert caught.value.status == code
    assert str(caught.value) == "no"


def test_an_invalid_object_names_its_fields() -> None:
    """I11: the path of the field."""
    causes = [{"reason": "FieldValueInvalid", "message": "must be positive", "field": "spec.replicas"}, "odd"]
    with pytest.raises(errors.Invalid) as caught:
        requests.read(422, {}, _refusal(422, "Invalid", "bad", causes=causes), PartialObject)
    assert caught.value.causes == (errors.Cause("FieldValueInvalid", "must be positive", "spec.replicas"),)


def test_a_busy_server_says_when_to_come_back_in_the_header_or_the_body() -> None:
    from_header = requests.failure(429, {"retry-after": "3"}, b"busy")
    from_body = requests.failure(429, {"retry-after": "9"}, _refusal(429, retryAfterSeconds=2))
    nothing = requests.failure(429, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, b"")
    assert [error.retry_after for error in (from_header, from_body, nothing)] == [3.0, 2.0, None]


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'"x"', b'{"details":7}'])
def test_a_refusal_that_is_no_status_is_still_an_error(body: bytes) -> None:
    error = requests.failure(502, {}, body)
    assert isinstance(error, errors.ServerError)
    assert str(error) == "HTTP 502"
    assert error.causes == ()


def test_a_success_that_does_not_decode_is_malformed() -> None:
    with pytest.raises(errors.Malformed, match="not as expected"):
        requests.read(200, {}, b'{"metadata":{},"size":"big"}', Sized)


def test_one_odd_object_does_not_hide_the_rest_of_a_list() -> None:
    body = (
        b'{"metadata":{"resourceVersion":"5","continue":"c"},"items":[{"metadata":{"name":"a"}},'
        b'{"metadata":{"name":"b","namespace":"n"},"size":"big"},{"metadata":7},{"metadata":{"name":"c"},"size":1}]}'
    )
    page = requests.read_page(200, {}, body, Sized)
    assert [item.metadata.name for item in page.items] == ["a", "c"]
    assert [(skipped.namespace, skipped.name) for skipped in page.skipped] == [("n", "b"), ("", "")]
    assert (page.resource_version, page.continue_) == ("5", "c")


def test_an_empty_list_may_have_null_items() -> None:
    assert requests.read_page(200, {}, b'{"metadata":{},"items":null}', Sized).items == []


def test_times_are_written_as_the_api_writes_them() -> None:
    moment = utc_now().replace(year=2024, month=5, day=1, hour=12, minute=0, second=0, microsecond=7)
    assert micro_time(moment) == "2024-05-01T12:00:00.000007Z"
    assert rfc3339(moment) == rfc3339(moment.astimezone(timezone(timedelta(hours=2)))) == "2024-05-01T12:00:00Z"
