"""Events are counted instead of repeated, combined when there are many, and never delay work."""

from tests.embedded.workload_kit import NAMESPACE, World
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.events.expiry import EventExpiry
from uniteddeployment.embedded.controllers.events.recorder import BURST, Recorder


def recorder() -> tuple[World, Recorder, Obj]:
    world = World()
    pod = world.create("pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "app:1"}]}})
    return world, Recorder(world.access, world.clock), pod


def test_an_event_says_what_happened_to_whom_and_who_says_so() -> None:
    world, events, pod = recorder()
    events.event(pod, "Warning", "Failed", "it broke", component="job-controller")
    (event,) = world.all("events")
    name, _, stamp = event["metadata"]["name"].rpartition(".")
    assert name == "p"
    assert len(stamp) == 16
    assert int(stamp, 16) > 0
    assert (event["type"], event["reason"], event["message"], event["count"]) == ("Warning", "Failed", "it broke", 1)
    assert event["source"] == {"component": "job-controller"}
    assert event["reportingComponent"] == "job-controller"
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2026-01-01T00:00:00Z"
    assert (event["involvedObject"]["kind"], event["involvedObject"]["uid"]) == ("Pod", pod["metadata"]["uid"])


def test_the_same_thing_again_is_counted() -> None:
    world, events, pod = recorder()
    for _ in range(3):
        events.event(pod, "Normal", "Pulled", "got it", component="kubelet")
        world.run(60)
    (event,) = world.all("events")
    assert event["count"] == 3
    assert (event["firstTimestamp"], event["lastTimestamp"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:02:00Z")


def test_a_deleted_event_is_written_again() -> None:
    world, events, pod = recorder()
    events.event(pod, "Normal", "Pulled", "got it", component="kubelet")
    world.delete("events", world.all("events")[0]["metadata"]["name"])
    events.event(pod, "Normal", "Pulled", "got it", component="kubelet")
    assert [event["count"] for event in world.all("events")] == [1]


def test_many_similar_events_share_one() -> None:
    world, events, pod = recorder()
    for number in range(15):
        events.event(pod, "Normal", "Created", f"pod {number}", component="replicaset-controller")
    result = world.all("events")
    assert len(result) == 11
    (combined,) = (event for event in result if event["count"] > 1)
    assert (combined["count"], combined["message"]) == (5, "(combined from similar events): pod 14")


def test_an_object_that_produces_too_many_events_is_rate_limited() -> None:
    world, events, pod = recorder()
    for number in range(BURST + 5):
        events.event(pod, "Normal", f"Reason{number}", "so", component="x")
    assert len(world.all("events")) == BURST
    world.run(300)
    events.event(pod, "Normal", "Later", "so", component="x")
    assert len(world.all("events")) == BURST + 1


def test_the_scheduler_speaks_of_series() -> None:
    world, events, pod = recorder()
    for _ in range(2):
        events.event(pod, "Normal", "Scheduled", "assigned", component="default-scheduler")
    (event,) = world.all("events")
    assert event["series"]["count"] == 2
    assert event["reportingComponent"] == "default-scheduler"
    assert event["action"] == "Binding"
    assert event["eventTime"] == "2026-01-01T00:00:00.000000Z"


def test_an_event_that_cannot_be_written_is_left_out() -> None:
    world, events, pod = recorder()
    elsewhere = {**pod, "metadata": {**pod["metadata"], "namespace": "nowhere"}}
    events.event(elsewhere, "Normal", "Pulled", "got it", component="kubelet")
    assert world.access.list("events", NAMESPACE) == []


def test_events_are_forgotten_an_hour_after_they_last_happened() -> None:
    world = World(EventExpiry)
    pod = world.create("pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "app:1"}]}})
    events = Recorder(world.access, world.clock)
    events.event(pod, "Normal", "Once", "so", component="x")
    events.event(pod, "Normal", "Again", "so", component="x")
    world.run(1800)
    events.event(pod, "Normal", "Again", "so", component="x")
    world.run(1801)
    assert [event["reason"] for event in world.all("events")] == ["Again"]
    world.run(1800)
    assert world.all("events") == []
