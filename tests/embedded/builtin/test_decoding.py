"""Decoding: unknown fields are dropped, empty ones left out, and errors have the real server's messages."""

from typing import Any

import pytest

from uniteddeployment.embedded.builtin import DecodeError, strategy_for

POD_PATH = "spec.containers"


def decoded(key: str, obj: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    message = list(strategy_for(key).conform(obj))
    return obj, message


def test_unknown_fields_are_dropped_and_named_with_their_path() -> None:
    pod, message = decoded(
        "pods",
        {"metadata": {"Name": "a"}, "spec": {"containers": [{"name": "c", "imaje": "x"}, {"name": "d"}]}, "Data": 1},
    )
    assert message == [
        'unknown field "metadata.Name"',
        'unknown field "spec.containers[0].imaje"',
        'unknown field "Data"',
    ]
    assert "Data" not in pod
    assert "imaje" not in pod["spec"]["containers"][0]


def test_nulls_and_empty_values_are_left_out_but_zeros_that_mean_something_stay() -> None:
    deployment, _ = decoded(
        "deployments.apps",
        {
            "metadata": {"labels": {}, "finalizers": [], "annotations": None},
            "spec": {
                "replicas": 0,
                "minReadySeconds": 0,
                "paused": False,
                "template": {
                    "spec": {
                        "hostNetwork": False,
                        "containers": [
                            {"name": "c", "env": [], "args": None, "securityContext": {"privileged": False}}
                        ],
                    }
                },
            },
        },
    )
    assert deployment["metadata"] == {}
    assert deployment["spec"]["replicas"] == 0
    assert "minReadySeconds" not in deployment["spec"]
    assert "paused" not in deployment["spec"]
    pod = deployment["spec"]["template"]["spec"]
    assert "hostNetwork" not in pod
    assert pod["containers"] == [{"name": "c", "securityContext": {"privileged": False}, "resources": {}}]


def test_a_null_inside_a_map_or_a_list_is_the_empty_value() -> None:
    config, _ = decoded("configmaps", {"data": {"k": None}})
    assert config == {"data": {"k": ""}}
    pod, _ = decoded("pods", {"spec": {"containers": [None], "hostAliases": [{"ip": "1.2.3.4", "hostnames": [None]}]}})
    assert pod["spec"]["containers"] == [{"name": "", "resources": {}}]
    assert pod["spec"]["hostAliases"][0]["hostnames"] == [""]


def test_quantities_and_times_get_their_own_form() -> None:
    pod, _ = decoded(
        "pods",
        {
            "metadata": {"creationTimestamp": "2026-01-01T01:00:00+01:00"},
            "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": 1, "memory": "1024Mi"}}}]},
        },
    )
    assert pod["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert pod["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1", "memory": "1Gi"}}


def test_fields_that_are_always_written_are_added() -> None:
    event, _ = decoded("events", {"involvedObject": {}})
    assert event["source"] == {}
    assert event["eventTime"] is None
    assert event["reportingComponent"] == ""
    budget, _ = decoded("poddisruptionbudgets.policy", {})
    assert budget["status"] == {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}


@pytest.mark.parametrize(
    ("key", "obj", "message"),
    [
        (
            "deployments.apps",
            {"spec": {"replicas": "three"}},
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "configmaps",
            {"metadata": {"labels": {"a": 5}}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            "configmaps",
            {"metadata": "text"},
            "json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
        ),
        (
            "pods",
            {"spec": {"containers": {"name": "c"}}},
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            "pods",
            {"spec": {"containers": [{"name": "c", "tty": "yes"}]}},
            "json: cannot unmarshal string into Go struct field Container.spec.containers.tty of type bool",
        ),
        (
            "pods",
            {"spec": {"priority": 3_000_000_000}},
            "json: cannot unmarshal number 3000000000 into Go struct field PodSpec.spec.priority of type int32",
        ),
        ("secrets", {"data": {"a": "not base64!"}}, "illegal base64 data at input byte 3"),
        (
            "leases.coordination.k8s.io",
            {"spec": {"renewTime": "2020-01-01T00:00:01Z"}},
            'parsing time "2020-01-01T00:00:01Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
        ),
        (
            "leases.coordination.k8s.io",
            {"spec": {"renewTime": "not a time"}},
            'parsing time "not a time" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "not a time" as "2006"',
        ),
        (
            "pods",
            {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "much"}}}]}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_decoding_errors_have_the_messages_of_the_real_server(key: str, obj: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        strategy_for(key).conform(obj)
    assert caught.value.code == 400
    assert caught.value.detail == message
    assert caught.value.message.endswith(f": {message}")


def test_conforming_twice_changes_nothing() -> None:
    pod, _ = decoded("pods", {"spec": {"containers": [{"name": "c", "image": "x"}], "volumes": [{"name": "v"}]}})
    again, message = decoded("pods", {**pod})
    assert again == pod
    assert message == []
