"""Warnings about valid objects, in the words of the real server."""

import json
from typing import Any

import pytest

from tests.embedded.cluster_kit import Api

Obj = dict[str, Any]
CORE = "/api/v1/namespaces/default"
CLASS = "volume.beta.kubernetes.io/storage-class"
MERGE = "application/merge-patch+json"


def service(**spec: Any) -> Obj:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}], **spec}}


def warnings_of(api: Api, path: str, obj: Obj) -> list[str]:
    response = api.ask("POST", path, obj)
    assert response.status == 201, response.body
    return [json.loads(value.removeprefix("299 - ")) for value in response.warnings]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        (
            {"externalIPs": ["192.0.2.1"]},
            ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
        ),
        (
            {"clusterIP": "None", "externalIPs": ["192.0.2.1"], "sessionAffinity": "ClientIP"},
            [
                "spec.externalIPs is ignored for headless services",
                "spec.SessionAffinity is ignored for headless services",
            ],
        ),
        (
            {"type": "ExternalName", "externalName": "x.y", "externalIPs": ["192.0.2.1"]},
            ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
        ),
        ({"externalName": "x"}, ['spec.externalName is ignored when spec.type is not "ExternalName"']),
        (
            {"trafficDistribution": "PreferClose"},
            ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
        ),
    ],
)
def test_fields_of_services_that_have_no_effect_or_no_future(spec: Obj, expected: list[str]) -> None:
    assert warnings_of(Api(), f"{CORE}/services", service(**spec)) == expected


def test_old_annotations_and_fractions_of_bytes_of_a_claim() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "a", "annotations": {CLASS: "old"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1.5"}}},
    }
    assert warnings_of(Api(), f"{CORE}/persistentvolumeclaims", claim) == [
        f'metadata.annotations[{CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead',
        'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
    ]


def test_a_volume_that_is_to_be_recycled() -> None:
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "a"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadOnlyMany"],
            "hostPath": {"path": "/x"},
            "persistentVolumeReclaimPolicy": "Recycle",
        },
    }
    assert warnings_of(Api(), "/api/v1/persistentvolumes", volume) == [
        (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
            "approach is to use dynamic provisioning."
        )
    ]


def test_the_old_annotation_of_an_ingress_is_mentioned_once() -> None:
    api = Api()
    path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "a", "annotations": {"kubernetes.io/ingress.class": "x"}},
        "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
    }
    text = "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead"
    assert warnings_of(api, path, ingress) == [text]
    labelled = api.ask("PATCH", f"{path}/a", {"metadata": {"labels": {"a": "b"}}}, content=MERGE)
    assert (labelled.status, labelled.warnings) == (200, ())


def test_updates_of_a_pod_and_of_any_status_have_no_warnings() -> None:
    api = Api()
    hidden = [{"name": "c", "image": "x", "env": [{"name": "a"}, {"name": "a"}]}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": hidden}}
    assert len(warnings_of(api, f"{CORE}/pods", pod)) == 1
    warnings_of(api, f"{CORE}/services", service(externalIPs=["192.0.2.1"]))
    labels = {"metadata": {"labels": {"a": "b"}}}
    status: dict[str, Any] = {"status": {"loadBalancer": {}}}
    for path, patch, count in (("pods/a", labels, 0), ("services/a", labels, 1), ("services/a/status", status, 0)):
        response = api.ask("PATCH", f"{CORE}/{path}", patch, content=MERGE)
        assert (response.status, len(response.warnings)) == (200, count), path
