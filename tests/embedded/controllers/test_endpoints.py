"""EndpointSlices and Endpoints follow the pods of a Service."""

from tests.embedded.workload_kit import World, deployment, stateful_set, template
from uniteddeployment.embedded.apimachinery.resources import Obj

SLICES = "endpointslices.discovery.k8s.io"
DEPLOYMENTS = "deployments.apps"
PORTS = [{"name": "http", "port": 80, "targetPort": "http"}]


def service(**spec: object) -> Obj:
    base = {"selector": {"app": "web"}, "ports": PORTS, "clusterIP": "10.96.1.1", "ipFamilies": ["IPv4"]}
    return {"metadata": {"name": "web", "labels": {"sl": "v"}}, "spec": base | spec}


def listening(image: str = "app:1") -> Obj:
    pod_template = template(image)
    pod_template["spec"]["containers"][0]["ports"] = [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]
    return pod_template


def conditions(world: World) -> list[tuple[bool, bool, bool]]:
    """(ready, serving, terminating) of all endpoints."""
    endpoints = [endpoint for result in world.all(SLICES) for endpoint in result["endpoints"] or ()]
    return [tuple(endpoint["conditions"][c] for c in ("ready", "serving", "terminating")) for endpoint in endpoints]


def test_a_service_without_pods_has_one_empty_slice() -> None:
    world = World()
    created = world.create("services", service())
    world.run()
    (endpoint_slice,) = world.all(SLICES)
    assert endpoint_slice["endpoints"] is None
    assert endpoint_slice["ports"] is None
    assert endpoint_slice["addressType"] == "IPv4"
    assert endpoint_slice["metadata"]["name"].startswith("web-")
    assert endpoint_slice["metadata"]["labels"] == {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "web",
        "sl": "v",
    }
    assert endpoint_slice["metadata"]["ownerReferences"][0]["uid"] == created["metadata"]["uid"]


def test_slices_and_endpoints_list_the_pods_with_the_ports_they_have() -> None:
    world = World()
    world.access.create(
        "nodes", {"metadata": {"name": "node-1", "labels": {"topology.kubernetes.io/zone": "z1"}}}, manager="test"
    )
    world.create("services", service())
    world.create(DEPLOYMENTS, deployment(replicas=2, template=listening()))
    world.run()
    (endpoint_slice,) = world.all(SLICES)
    assert endpoint_slice["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert conditions(world) == [(True, True, False)] * 2
    pods = {pod["metadata"]["name"]: pod for pod in world.all("pods")}
    for endpoint in endpoint_slice["endpoints"]:
        pod = pods[endpoint["targetRef"]["name"]]
        assert endpoint["addresses"] == [pod["status"]["podIP"]]
        assert endpoint["nodeName"] == pod["spec"]["nodeName"]
        assert endpoint.get("zone") == ("z1" if endpoint["nodeName"] == "node-1" else None)
    old = world.get("endpoints", "web")
    assert old["metadata"]["labels"] == {"endpoints.kubernetes.io/managed-by": "endpoint-controller", "sl": "v"}
    (subset,) = old["subsets"]
    assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert len(subset["addresses"]) == 2


def test_pods_that_are_not_ready_are_listed_as_such() -> None:
    world = World()
    world.create("services", service())
    world.create(DEPLOYMENTS, deployment(replicas=1, template=listening("fail:1")))
    world.run()
    assert conditions(world) == [(False, False, False)]
    (subset,) = world.get("endpoints", "web")["subsets"]
    assert "addresses" not in subset
    assert len(subset["notReadyAddresses"]) == 1


def test_a_pod_that_leaves_is_terminating_and_then_gone() -> None:
    world = World()
    world.create("services", service())
    world.create(DEPLOYMENTS, deployment(replicas=1, template=listening()))
    world.run()
    world.set(DEPLOYMENTS, "web", "spec.replicas", 0)
    world.run(0.1)
    assert conditions(world) == [(False, True, True)]
    assert "subsets" not in world.get("endpoints", "web")
    world.run()
    assert conditions(world) == []
    assert len(world.all(SLICES)) == 1


def test_a_headless_service_publishes_pods_that_are_not_ready_if_it_says_so() -> None:
    world = World()
    world.create("services", service(clusterIP="None", publishNotReadyAddresses=True, ports=None))
    world.create(DEPLOYMENTS, deployment(replicas=1, template=template("fail:1")))
    world.run()
    assert conditions(world) == [(True, False, False)]
    (endpoint_slice,) = world.all(SLICES)
    assert endpoint_slice["ports"] is None
    assert endpoint_slice["metadata"]["labels"]["service.kubernetes.io/headless"] == ""


def test_pods_of_a_stateful_set_have_their_host_names() -> None:
    world = World()
    world.create("services", service(clusterIP="None", ports=[{"port": 80}]))
    world.create("statefulsets.apps", stateful_set(replicas=2))
    world.run()
    (endpoint_slice,) = world.all(SLICES)
    assert sorted(endpoint["hostname"] for endpoint in endpoint_slice["endpoints"]) == ["web-0", "web-1"]
    assert endpoint_slice["ports"] == [{"name": "", "port": 80, "protocol": "TCP"}]


def test_a_service_without_selector_has_no_slices() -> None:
    world = World()
    world.create("services", service(selector=None))
    world.run()
    assert world.all(SLICES) == []


def test_a_slice_holds_a_hundred_endpoints() -> None:
    world = World()
    world.create("services", service())
    world.create(DEPLOYMENTS, deployment(replicas=150, template=listening()))
    world.run()
    assert sorted(len(result["endpoints"]) for result in world.all(SLICES)) == [50, 100]


def test_a_changed_slice_is_repaired_and_a_deleted_service_leaves_no_endpoints() -> None:
    world = World()
    world.create("services", service())
    world.create(DEPLOYMENTS, deployment(replicas=1, template=listening()))
    world.run()
    name = world.all(SLICES)[0]["metadata"]["name"]
    world.set(SLICES, name, "endpoints", [])
    world.run()
    assert conditions(world) == [(True, True, False)]
    world.delete("services", "web")
    world.run()
    assert world.all("endpoints") == []


def test_a_settled_service_writes_nothing() -> None:
    world = World()
    world.create("services", service())
    world.create(DEPLOYMENTS, deployment(template=listening()))
    world.run()
    before = len(world.history)
    for controller in world.controllers:
        controller.enqueue(("ns", "web"))
    world.run(3600)
    assert len(world.history) == before
