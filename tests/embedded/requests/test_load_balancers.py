"""Load balancer addresses in the status of Services and Ingresses."""

import pytest

from tests.embedded.cluster_kit import MERGE, Api
from uniteddeployment.embedded.apimachinery.resources import Obj

SERVICES = "/api/v1/namespaces/default/services"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"


def points(*given: Obj) -> Obj:
    return {"status": {"loadBalancer": {"ingress": list(given)}}}


@pytest.fixture
def api() -> Api:
    created = Api()
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    created.create(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec})
    return created


def test_an_address_has_the_mode_vip_unless_it_has_another(api: Api) -> None:
    given = ({"ip": "192.0.2.1"}, {"hostname": "a.b"}, {"ip": "192.0.2.2", "ipMode": "Proxy"})
    status = api.patch(f"{SERVICES}/s/status", points(*given))["status"]
    assert status["loadBalancer"]["ingress"] == [{"ip": "192.0.2.1", "ipMode": "VIP"}, *given[1:]]


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (
            {"ip": "192.0.2.1", "ipMode": "Foo"},
            'ipMode: Unsupported value: "Foo": supported values: "Proxy", "VIP"',
        ),
        ({"hostname": "a.b", "ipMode": "VIP"}, "ipMode: Forbidden: may not be specified when `ip` is not set"),
        (
            {"ip": "nonsense"},
            'ip: Invalid value: "nonsense": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
        ),
        (
            {"hostname": "192.0.2.1"},
            'hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address',
        ),
    ],
)
def test_invalid_addresses_are_refused(api: Api, point: Obj, message: str) -> None:
    refused = api.json("PATCH", f"{SERVICES}/s/status", points(point), content=MERGE, status=422)
    assert refused["message"] == f'Service "s" is invalid: status.loadBalancer.ingress[0].{message}'


def test_a_service_of_another_type_has_no_addresses(api: Api) -> None:
    api.patch(f"{SERVICES}/s/status", points({"ip": "192.0.2.1"}))
    assert api.patch(f"{SERVICES}/s", {"spec": {"type": "ClusterIP"}})["status"] == {"loadBalancer": {}}
    refused = api.json("PATCH", f"{SERVICES}/s/status", points({"ip": "192.0.2.1"}), content=MERGE, status=422)
    assert refused["message"] == (
        'Service "s" is invalid: status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is '
        "'LoadBalancer'"
    )


def test_the_addresses_of_an_ingress_are_checked_and_have_no_mode() -> None:
    api = Api()
    spec = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    obj = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"}, "spec": spec}
    api.create(INGRESSES, obj)
    status = api.patch(f"{INGRESSES}/i/status", points({"ip": "192.0.2.1"}))["status"]
    assert status == {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    refused = api.json("PATCH", f"{INGRESSES}/i/status", points({"ip": "x"}), content=MERGE, status=422)
    assert refused["details"]["causes"][0]["field"] == "status.loadBalancer.ingress[0].ip"
