"""Events: what a controller tells people it did, written as core v1 Event objects.

:class:`Recorder` counts up instead of repeating itself, combines many similar messages about one object into one
event, and falls silent about an object that produces too many, so that a pod that fails for a week costs a handful of
objects. Telling is best effort: an event that cannot be written (the namespace is going away, say) is left out, and
the work that it is about goes on.
"""

from collections import OrderedDict
from typing import Any, Final, NamedTuple

from uniteddeployment.embedded.access import Access
from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.times import micro_timestamp
from uniteddeployment.embedded.errors import StatusError

REMEMBERED: Final = 4096
"""How many different events are remembered for counting; the ones not seen for longest are forgotten first."""

SIMILAR: Final = 10
"""How many events that differ only in their message are written on their own within :data:`SIMILAR_SECONDS`."""

SIMILAR_SECONDS: Final = 600.0
BURST: Final = 25
"""How many events about one object one component may write at once; later one every :data:`REFILL_SECONDS`."""

REFILL_SECONDS: Final = 300.0

MANAGERS: Final = {"kubelet": "kubelet", "default-scheduler": "kube-scheduler"}
"""The program that a component is part of, where it is not kube-controller-manager."""

SERIES_COMPONENTS: Final = {"default-scheduler": "Binding"}
"""Components that speak events.k8s.io (an event time and a series, no count), with the action they report."""


class _Subject(NamedTuple):
    component: str
    kind: str
    namespace: str
    name: str
    uid: str


class _Known(NamedTuple):
    """An event that was written before: where it is, and how often it happened."""

    name: str
    namespace: str
    times: int


class _Similar(NamedTuple):
    messages: frozenset[str]
    seen: float


class _Bucket(NamedTuple):
    tokens: float
    filled: float


def object_reference(obj: Obj) -> Obj:
    """The ``involvedObject`` that points at ``obj``."""
    metadata = obj["metadata"]
    reference = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "name": metadata["name"]}
    for field in ("namespace", "uid", "resourceVersion"):
        if metadata.get(field):
            reference[field] = metadata[field]
    return reference


class Recorder:
    """The event sink (:class:`..framework.controller.EventSink`) that writes Event objects into the cluster."""

    def __init__(self, access: Access, clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._known: OrderedDict[tuple[_Subject, str, str, str], _Known] = OrderedDict()
        self._similar: OrderedDict[tuple[_Subject, str, str], _Similar] = OrderedDict()
        self._buckets: OrderedDict[_Subject, _Bucket] = OrderedDict()
        self._last_stamp = 0

    def event(self, obj: Obj, type_: str, reason: str, message: str, *, component: str) -> None:
        """Tell that ``reason`` happened to ``obj``: a new Event, or one more on the count of an old one."""
        metadata = obj["metadata"]
        subject = _Subject(
            component, obj["kind"], metadata.get("namespace", ""), metadata["name"], metadata.get("uid", "")
        )
        if not self._admit(subject):
            return
        if self._is_one_of_many(subject, type_, reason, message):
            key = (subject, type_, reason, "")
            message = f"(combined from similar events): {message}"
        else:
            key = (subject, type_, reason, message)
        try:
            self._known[key] = self._count_up(self._known.get(key), message, component) or self._write(
                obj, type_, reason, message, component
            )
        except StatusError:
            # Events are best effort: the namespace may be terminating, and the caller has its own work to finish.
            self._known.pop(key, None)
            return
        self._known.move_to_end(key)
        _forget(self._known)

    def _admit(self, subject: _Subject) -> bool:
        now = self._clock.monotonic()
        bucket = self._buckets.get(subject, _Bucket(float(BURST), now))
        tokens = min(float(BURST), bucket.tokens + (now - bucket.filled) / REFILL_SECONDS)
        admitted = tokens >= 1
        self._buckets[subject] = _Bucket(tokens - 1 if admitted else tokens, now)
        self._buckets.move_to_end(subject)
        _forget(self._buckets)
        return admitted

    def _is_one_of_many(self, subject: _Subject, type_: str, reason: str, message: str) -> bool:
        """Whether so many similar events were written lately that this one has to share one with others."""
        now = self._clock.monotonic()
        key = (subject, type_, reason)
        similar = self._similar.get(key, _Similar(frozenset(), now))
        if now - similar.seen > SIMILAR_SECONDS:
            similar = _Similar(frozenset(), now)
        messages = similar.messages
        if len(messages) < SIMILAR:
            messages |= {message}
        self._similar[key] = _Similar(messages, now)
        self._similar.move_to_end(key)
        _forget(self._similar)
        # Messages that have an event of their own go on counting there.
        return message not in messages

    def _count_up(self, known: _Known | None, message: str, component: str) -> _Known | None:
        """One more of a known event; None when there is none, or it was deleted meanwhile."""
        if known is None:
            return None
        stored = self._access.get("events", known.namespace, known.name)
        if stored is None:
            return None
        event = stored | {"message": message}
        now = self._clock.now()
        count = known.times + 1
        if component in SERIES_COMPONENTS:
            event["series"] = {"count": count, "lastObservedTime": micro_timestamp(now)}
        else:
            event |= {"count": count, "lastTimestamp": timestamp(now)}
        self._access.update("events", event, manager=MANAGERS.get(component, "kube-controller-manager"))
        return known._replace(times=count)

    def _write(self, obj: Obj, type_: str, reason: str, message: str, component: str) -> _Known:
        namespace = obj["metadata"].get("namespace") or "default"
        name = f"{obj['metadata']['name']}.{self._stamp():x}"
        now = self._clock.now()
        event: Obj = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": object_reference(obj),
            "reason": reason,
            "message": message,
            "type": type_,
            "reportingComponent": component,
        }
        if component in SERIES_COMPONENTS:
            event |= {
                "source": {},
                "eventTime": micro_timestamp(now),
                "action": SERIES_COMPONENTS[component],
                "reportingInstance": f"{component}-embedded",
            }
        else:
            host = obj.get("spec", {}).get("nodeName", "") if component == "kubelet" and obj["kind"] == "Pod" else ""
            source = {"component": component} | ({"host": host} if host else {})
            moment = timestamp(now)
            event |= {
                "source": source,
                "firstTimestamp": moment,
                "lastTimestamp": moment,
                "count": 1,
                "reportingInstance": host,
            }
        self._access.create("events", event, manager=MANAGERS.get(component, "kube-controller-manager"))
        return _Known(name, namespace, 1)

    def _stamp(self) -> int:
        """Nanoseconds of now, made unique: in virtual time many things happen at once."""
        self._last_stamp = max(self._last_stamp + 1, int(self._clock.now().timestamp() * 1_000_000) * 1_000)
        return self._last_stamp


def _forget(remembered: OrderedDict[Any, Any]) -> None:
    while len(remembered) > REMEMBERED:
        remembered.popitem(last=False)
