"""Clusters that begin with what another one held."""

from random import Random

from tests.embedded.cluster_kit import definition
from tests.support.hand_clock import HandClock
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Identity, Request

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
HEADERS = {"content-type": "application/json", "authorization": "Bearer t"}
TOKENS = {"t": Identity("admin", ("system:masters",))}


def test_a_cluster_that_begins_with_an_image_serves_its_definitions_and_runs_pods_on_its_nodes() -> None:
    clock = HandClock()
    first = Cluster("first", clock=clock, random=Random(1), nodes=1)
    first.start()
    first.access.create(DEFINITIONS, definition(), manager="test")
    clock.advance(1)
    first.stop()

    second = Cluster("second", clock=clock, random=Random(2), tokens=TOKENS, image=first.image())
    listed = Request("GET", "/apis/example.com/v1/namespaces/default/things", (), HEADERS, b"")
    assert second.handle(listed).status == 200
    second.start()
    pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "app:1"}]}}
    second.access.create("pods", pod, manager="test")
    clock.advance(10)
    running = second.access.get("pods", "default", "p")
    assert running is not None
    assert running["spec"]["nodeName"] == "first-node-1"
    assert running["status"]["phase"] == "Running"
    assert first.access.list("pods") == []
