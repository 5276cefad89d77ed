"""Who owns replicas when they are written through the scale subresource."""

from typing import Any

from uniteddeployment.embedded.patch import scaled

PATH = ".spec.replicas"
REPLICAS = {"f:spec": {"f:replicas": {}}}


def entry(manager: str, fields: dict[str, Any], operation: str = "Update", **more: str) -> dict[str, Any]:
    known = {"apiVersion": "apps/v1", "time": "2026-01-01T00:00:00Z", **more}
    return {"manager": manager, "operation": operation, **known, "fieldsType": "FieldsV1", "fieldsV1": fields}


def timeless(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name != "time"}


USER = entry("user", {"f:spec": {"f:paused": {}, "f:replicas": {}}})
OTHER = entry("other", {"f:spec": {"f:paused": {}}}, "Apply")


def test_a_scale_shows_the_owners_of_replicas_only() -> None:
    assert scaled.of_scale([OTHER, USER], PATH) == [entry("user", REPLICAS, apiVersion="autoscaling/v1")]
    assert scaled.of_scale(None, PATH) == []


def test_a_new_owner_takes_replicas_and_has_no_time() -> None:
    scale = [entry("hpa", REPLICAS, "Apply", apiVersion="autoscaling/v1", subresource="scale")]
    assert scaled.of_object([OTHER, USER], scale, PATH, "apps/v1") == [
        timeless(entry("hpa", REPLICAS, "Apply", subresource="scale")),
        OTHER,
        entry("user", {"f:spec": {"f:paused": {}}}),
    ]


def test_an_owner_that_keeps_replicas_keeps_its_entry() -> None:
    scale = scaled.of_scale([OTHER, USER], PATH)
    assert scaled.of_object([OTHER, USER], scale, PATH, "apps/v1") == [OTHER, USER]


def test_without_owners_of_the_scale_nobody_owns_replicas() -> None:
    assert scaled.of_object([USER], [], PATH, "apps/v1") == [entry("user", {"f:spec": {"f:paused": {}}})]


def test_replicas_may_be_anywhere_in_a_custom_resource() -> None:
    stored = [entry("user", {"f:spec": {"f:size": {"f:count": {}}}}, apiVersion="example.com/v1")]
    scale = [entry("hpa", REPLICAS, apiVersion="autoscaling/v1", subresource="scale")]
    assert scaled.of_scale(stored, ".spec.size.count") == [entry("user", REPLICAS, apiVersion="autoscaling/v1")]
    (found,) = scaled.of_object(stored, scale, ".spec.size.count", "example.com/v1")
    assert (found["manager"], found["apiVersion"]) == ("hpa", "example.com/v1")
    assert found["fieldsV1"] == {"f:spec": {"f:size": {"f:count": {}}}}
