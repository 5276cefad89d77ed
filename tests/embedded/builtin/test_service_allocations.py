"""A cluster address or node port belongs to at most one service."""

from typing import Any

import pytest

from tests.embedded.cluster_kit import Api
from uniteddeployment.embedded.apimachinery.resources import Obj

SERVICES = "/api/v1/namespaces/default/services"


def service(name: str, **spec: Any) -> Obj:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("10.96.0.50", "provided IP is already allocated"),
        ("10.96.0.1", "provided IP is already allocated"),
        ("192.0.2.1", "the provided network does not match the current range"),
    ],
)
def test_an_address_that_cannot_be_had_is_refused(address: str, why: str) -> None:
    api = Api()
    api.create(SERVICES, service("first", clusterIP="10.96.0.50"))
    refused = api.json("POST", SERVICES, service("second", clusterIP=address), status=422)
    text = f'Invalid value: ["{address}"]: failed to allocate IP {address}: {why}'
    assert refused["details"]["causes"] == [
        {"reason": "FieldValueInvalid", "message": text, "field": "spec.clusterIPs"}
    ]


def test_a_node_port_that_another_service_has_is_refused_also_on_update() -> None:
    api = Api()
    wanted = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 31000}]}
    api.create(SERVICES, service("first", **wanted))
    refused = api.json("POST", SERVICES, service("second", **wanted), status=422)
    assert refused["message"] == (
        'Service "second" is invalid: spec.ports[0].nodePort: Invalid value: 31000: provided port is already allocated'
    )
    api.create(SERVICES, service("third", type="NodePort"))
    patch = {"spec": {"ports": wanted["ports"]}}
    api.json("PATCH", f"{SERVICES}/third", patch, content="application/merge-patch+json", status=422)
    api.json("PUT", f"{SERVICES}/first", service("first", **wanted), status=200)


def test_values_of_a_deleted_service_are_free_again() -> None:
    api = Api()
    wanted = {"type": "NodePort", "clusterIP": "10.96.0.50", "ports": [{"port": 80, "nodePort": 31000}]}
    api.create(SERVICES, service("first", **wanted))
    api.json("DELETE", f"{SERVICES}/first", status=200)
    api.create(SERVICES, service("second", **wanted))
