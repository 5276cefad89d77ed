"""How many more pods of an application fit into each of its clusters, for the snapshot that its plan is made from.

Room is only counted for plans that use it: those of applications with the strategy Adaptive, and those that move
replicas away from a cluster. The pods that a plan assigns to a cluster keep their room until the cluster shows them, so
that two applications that are planned one after the other do not get the same room.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from cachetools import LRUCache

from uniteddeployment.controller.host import Key
from uniteddeployment.fleet.capacity import demand
from uniteddeployment.fleet.capacity.assumed import Assumed, Demanded, Zones
from uniteddeployment.fleet.capacity.objects import ZONE
from uniteddeployment.fleet.capacity.reader import CapacityReader
from uniteddeployment.fleet.capacity.room import Group, room
from uniteddeployment.fleet.capacity.sharing import shared_rooms
from uniteddeployment.fleet.capacity.sums import SubsetKey
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.kinds.workload import render
from uniteddeployment.planning.observed import HOST, NO_PODS, ClusterFacts, MemberView, SharedRoom
from uniteddeployment.planning.plan import Plan
from uniteddeployment_api import Subset
from uniteddeployment_api.strategic import PatchError

_MOST_DEMANDS = 4096

Assignment = tuple[str, SubsetKey]
"""Cluster and subset."""


class Rooms:
    """The rooms of all applications. ``now`` is a clock that never goes back, in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.fleet: Fleet | None = None
        """Set once, after both exist."""
        self._now = now
        self._assumed: dict[str, Assumed] = {}
        """Cluster -> the pods that were assigned to it."""
        self._assignments: dict[Key, set[Assignment]] = {}
        """Application -> where it has pods that did not appear yet."""
        self._users: set[Key] = set()
        """The applications whose last snapshots had rooms."""
        self._waiting: dict[str, set[Key]] = {}
        """Cluster -> the applications whose plans may change when it has more room."""
        self._waits: dict[Key, frozenset[str]] = {}
        """The same by application."""
        self._demands: LRUCache[tuple[str, int, str], Demanded | None] = LRUCache(_MOST_DEMANDS)

    def add(
        self, subject: Subject, views: Mapping[str, MemberView], facts: Mapping[str, ClusterFacts]
    ) -> Mapping[str, ClusterFacts]:
        """Return the facts with the room for each subset, where it is known and the plan uses it."""
        app, key = subject.app, (subject.namespace, subject.name)
        if app is None or subject.deleting or not _uses_room(app, facts):
            self._users.discard(key)
            return facts
        self._users.add(key)
        clusters: dict[str, list[Subset]] = {}
        for subset in app.subsets.values():
            clusters.setdefault(app.cluster_of(subset), []).append(subset)
        found = dict(facts)
        for name, subsets in clusters.items():
            if name in facts and (view := views.get(name)) is not None:
                rooms, shared = self._rooms(subject, app, subsets, name, view)
                found[name] = replace(facts[name], rooms=rooms, shared=shared)
        return found

    def planned(self, subject: Subject, plan: Plan) -> None:
        """Keep room for the pods that a plan assigns to clusters that do not show them yet."""
        key, app = (subject.namespace, subject.name), subject.app
        assignments: set[Assignment] = set()
        for result in plan.results if app is not None else ():
            reader = self._reader(result.cluster)
            if reader is None or app is None:
                continue
            subset = _subset_key(app, result.name)
            shown = max(reader.sums.shown.get(subset, 0), result.counts.observed)
            demanded = self._demanded(subject, app, app.subsets[result.name]) if result.replicas > shown else None
            if demanded is not None:
                assignments.add((result.cluster, subset))
                assumed = self._assumed.setdefault(result.cluster, Assumed())
                assumed.assign(subset, result.replicas, demanded, shown=shown, now=self._now())
        self._replace_assignments(key, assignments)
        settled = key not in self._users or all(result.settled for result in plan.results)
        self._note_waiting(key, frozenset() if settled else frozenset(result.cluster for result in plan.results))

    def shown(self, cluster: str, subset: SubsetKey, pods: int) -> None:
        """A cluster shows another number of pods of a subset."""
        assumed = self._assumed.get(cluster)
        if assumed is not None:
            assumed.show(subset, pods, self._now())
            if not assumed:
                del self._assumed[cluster]

    def forget(self, key: Key) -> None:
        """Discard the state of an application that was deleted."""
        self._replace_assignments(key, set())
        self._note_waiting(key, frozenset())
        self._users.discard(key)

    def waiting(self, cluster: str) -> Collection[Key]:
        """The applications whose plans may change when the capacity of a cluster changes."""
        return tuple(self._waiting.get(cluster, ()))

    def _rooms(
        self, subject: Subject, app: Application, subsets: Iterable[Subset], cluster: str, view: MemberView
    ) -> tuple[dict[str, int], tuple[SharedRoom, ...]]:
        """The room for each subset in a cluster, and what they share."""
        reader = self._reader(cluster)
        if reader is None:
            return {}, ()
        rooms: dict[str, int] = {}
        demands: dict[Demanded, tuple[str, ...]] = {}
        unseen: dict[Demanded, int] = {}
        for subset in subsets:
            demanded = self._demanded(subject, app, subset)
            if demanded is None:
                continue
            # The two watches of pods are not in step: pods that only the other one shows take room as well.
            living = sum(view.pods.get(subset.name, NO_PODS).living.values())
            missing = max(0, living - reader.sums.shown.get(_subset_key(app, subset.name), 0))
            groups = [(demanded.amounts, missing), *self._assumed_by_others(app, cluster, demanded)]
            if (found := room(reader.sums, demanded.amounts, demanded.zones, groups)) is not None:
                rooms[subset.name] = found
                demands[demanded] = (*demands.get(demanded, ()), subset.name)
                unseen[demanded] = unseen.get(demanded, 0) + missing
        if len(rooms) < 2:
            return rooms, ()
        own = [(demanded.amounts, pods) for demanded, pods in unseen.items()]
        others = {one: [*own, *self._assumed_by_others(app, cluster, one)] for one in demands}
        return rooms, tuple(shared_rooms(reader.sums, demands, others))

    def _assumed_by_others(self, app: Application, cluster: str, demanded: Demanded) -> list[Group]:
        """The pods of other applications that were assigned to a cluster and that it does not show yet."""
        assumed = self._assumed.get(cluster)
        if assumed is None:
            return []
        own = [_subset_key(app, name) for name in app.subsets]
        return list(assumed.missing(own, demanded.zones, self._now()))

    def _reader(self, cluster: str) -> CapacityReader | None:
        """The capacity of a cluster, if it is known."""
        member = self.fleet.member(cluster) if self.fleet is not None and cluster != HOST else None
        return member.capacity if member is not None and member.capacity.current else None

    def _demanded(self, subject: Subject, app: Application, subset: Subset) -> Demanded | None:
        """What each pod of a subset needs; None if that cannot be read."""
        key = (subject.uid, subject.generation, subset.name)
        if key not in self._demands:
            self._demands[key] = _demanded(app, subset)
        return self._demands[key]

    def _replace_assignments(self, key: Key, present: set[Assignment]) -> None:
        for cluster, subset in self._assignments.get(key, set()) - present:
            if (assumed := self._assumed.get(cluster)) is not None:
                assumed.drop(subset)
        if present:
            self._assignments[key] = present
        else:
            self._assignments.pop(key, None)

    def _note_waiting(self, key: Key, clusters: frozenset[str]) -> None:
        """An application that is not settled may go on when a cluster has more room."""
        before = self._waits.get(key, frozenset())
        if clusters == before:
            return
        for cluster in before - clusters:
            self._waiting[cluster].discard(key)
            if not self._waiting[cluster]:
                del self._waiting[cluster]
        for cluster in clusters - before:
            self._waiting.setdefault(cluster, set()).add(key)
        if clusters:
            self._waits[key] = clusters
        else:
            del self._waits[key]


def _uses_room(app: Application, facts: Mapping[str, ClusterFacts]) -> bool:
    if app.model.spec.topology.schedule_strategy.type == "Adaptive":
        return True
    return any(fact.taints or fact.offline_since is not None for fact in facts.values())


def _subset_key(app: Application, subset: str) -> SubsetKey:
    return app.namespace, app.label, subset


def _demanded(app: Application, subset: Subset) -> Demanded | None:
    try:
        body = render(app, subset, app.revision_data, app.revision_of(subset.name)).body
    except PatchError:
        return None  # the plan reports it
    spec = body["spec"]["template"].get("spec") or {}
    amounts = demand.of_template(spec)
    return Demanded(amounts, zones(spec)) if amounts is not None else None


def zones(spec: Mapping[str, Any]) -> Zones:
    """Return the zones that the node selector and the required node affinity of a pod template name; None if any.

    >>> zones({"nodeSelector": {"topology.kubernetes.io/zone": "a"}})
    frozenset({'a'})
    """
    named = (spec.get("nodeSelector") or {}).get(ZONE)
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or ()
    found = _either([_both(term.get("matchExpressions") or ()) for term in terms])
    if named is None:
        return found
    return frozenset({named}) if found is None or named in found else frozenset()


def _both(expressions: Iterable[Mapping[str, Any]]) -> Zones:
    """The zones that satisfy all expressions of a term."""
    found: Zones = None
    for expression in expressions:
        if expression.get("key") == ZONE and expression.get("operator") == "In":
            values = frozenset(expression.get("values") or ())
            found = values if found is None else found & values
    return found


def _either(terms: Collection[Zones]) -> Zones:
    """The zones that satisfy one of the terms."""
    if not terms:
        return None
    found: frozenset[str] = frozenset()
    for term in terms:
        if term is None:
            return None
        found |= term
    return found
