"""Records Events of controllers as core v1 Event objects.

:class:`Recorder` increments the count of a repeated Event, combines many similar messages about one object into one
Event, and limits the rate per object, so that a pod that fails for a week costs few objects. Recording is best effort:
an Event that cannot be written (in a terminating namespace, for example) is dropped, and the caller continues.
"""

from collections import OrderedDict
from typing import Any, Final, NamedTuple

from uniteddeployment.embedded.access import Access
from uniteddeployment.embedded.apimachinery.meta import timestamp
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.controllers.framework.times import micro_timestamp
from uniteddeployment.embedded.errors import StatusError

MAX_CACHED: Final = 4096
"""Maximum number of Events that are cached for counting; the least recently used ones are dropped."""

SIMILAR: Final = 10
"""Number of Events differing only in their message that are written separately within :data:`SIMILAR_SECONDS`."""

SIMILAR_SECONDS: Final = 600.0
BURST: Final = 25
"""Number of Events that a component may write about one object at once; then one every :data:`REFILL_SECONDS`."""

REFILL_SECONDS: Final = 300.0

MANAGERS: Final = {"kubelet": "kubelet", "default-scheduler": "kube-scheduler"}
"""The program that a component belongs to, if it is not kube-controller-manager."""

SERIES_COMPONENTS: Final = {"default-scheduler": "Binding"}
"""Components that use events.k8s.io (event time and series instead of a count), with the action they report."""


class _Subject(NamedTuple):
    component: str
    kind: str
    namespace: str
    name: str
    uid: str


class _Recorded(NamedTuple):
    """An Event that was written before, with its location and count."""

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
    """The ``involvedObject`` that refers to ``obj``."""
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
        self._known: OrderedDict[tuple[_Subject, str, str, str], _Recorded] = OrderedDict()
        self._similar: OrderedDict[tuple[_Subject, str, str], _Similar] = OrderedDict()
        self._buckets: OrderedDict[_Subject, _Bucket] = OrderedDict()
        self._last_stamp = 0

    def event(self, obj: Obj, type_: str, reason: str, message: str, *, component: str) -> None:
        """Record that ``reason`` happened to ``obj``: create an Event or increment the count of an existing one."""
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
            # Events are best effort: the namespace may be terminating, and the caller must finish its work.
            self._known.pop(key, None)
            return
        self._known.move_to_end(key)
        _evict(self._known)

    def _admit(self, subject: _Subject) -> bool:
        now = self._clock.monotonic()
        bucket = self._buckets.get(subject, _Bucket(float(BURST), now))
        tokens = min(float(BURST), bucket.tokens + (now - bucket.filled) / REFILL_SECONDS)
        admitted = tokens >= 1
        self._buckets[subject] = _Bucket(tokens - 1 if admitted else tokens, now)
        self._buckets.move_to_end(subject)
        _evict(self._buckets)
        return admitted

    def _is_one_of_many(self, subject: _Subject, type_: str, reason: str, message: str) -> bool:
        """Whether so many similar Events were written recently that this one is combined with others."""
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
        _evict(self._similar)
        # Messages that have an Event of their own continue to use it.
        return message not in messages

    def _count_up(self, known: _Recorded | None, message: str, component: str) -> _Recorded | None:
        """Increment the count of a known Event; None if there is none, or if it was deleted."""
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

    def _write(self, obj: Obj, type_: str, reason: str, message: str, component: str) -> _Recorded:
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
        return _Recorded(name, namespace, 1)

    def _stamp(self) -> int:
        """The present time in unique nanoseconds: in virtual time many Events happen at once."""
        self._last_stamp = max(self._last_stamp + 1, int(self._clock.now().timestamp() * 1_000_000) * 1_000)
        return self._last_stamp


def _evict(cache: OrderedDict[Any, Any]) -> None:
    while len(cache) > MAX_CACHED:
        cache.popitem(last=False)
