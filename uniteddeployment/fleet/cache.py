"""The workloads and pods of one cluster that carry our label, indexed by application.

The objects are in one :class:`~uniteddeployment.kube.cache.Cache` per resource, filled by watches and by the answers to
our writes, so no plan is made from a state that is known to be outdated (I9). The indexes here hold only their keys.
"""

from collections.abc import Callable, Mapping

import msgspec

from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.index import Index
from uniteddeployment.planning.kinds import KINDS
from uniteddeployment.planning.observed import Metadata, Pod, PodMetadata, PodTally, Workload, tally
from uniteddeployment_api import names

MOST_WORKLOADS, MOST_PODS = 50_000, 150_000
"""How many workloads of a kind and how many of our pods a cluster may have. Kubernetes is built for 150,000 pods."""

AppKey = tuple[str, str]
"""(namespace, value of the name label)"""


class MemberCache:
    """The cached objects of one cluster.

    ``on_change`` is called with the application of each change that a watch shows, and ``on_contact`` for each change,
    also for those by answers to our writes.
    """

    def __init__(self, on_change: Callable[[AppKey], None], *, on_contact: Callable[[], None] = lambda: None) -> None:
        self._on_change = on_change
        self._on_contact = on_contact
        self._workloads_of = {kind.name: Index(_application) for kind in KINDS}
        self._pods_of = _PodIndex()
        self.workload_caches: Mapping[str, Cache[Workload]] = {
            name: Cache(self._object_changed, indexes=(index,), adapt=_with_kind(name), most=MOST_WORKLOADS)
            for name, index in self._workloads_of.items()
        }
        """Kind -> its workloads."""
        self.pod_cache: Cache[Pod] = Cache(self._object_changed, indexes=(self._pods_of,), most=MOST_PODS)
        self._pods_of.pods = self.pod_cache

    def __contains__(self, application: object) -> bool:
        """Whether an application has something here."""
        return application in self._pods_of or any(application in index for index in self._workloads_of.values())

    def applications(self) -> frozenset[AppKey]:
        """The applications that have workloads here."""
        return frozenset(group for index in self._workloads_of.values() for group in index.groups())

    def workloads(self, application: AppKey) -> tuple[Workload, ...]:
        """The workloads of an application, sorted by kind and name."""
        return tuple(
            workload
            for kind, index in sorted(self._workloads_of.items())
            if application in index
            for workload in self.workload_caches[kind].select(index.keys(application))
        )

    def workload(self, application: AppKey, kind: str, name: str) -> Workload | None:
        """The workload of an application with this kind and name."""
        workload = self.workload_caches[kind].get((application[0], name))
        return workload if workload is not None and _application(workload) == application else None

    def pods(self, application: AppKey) -> Mapping[str, PodTally]:
        """Subset -> its pods, counted; only subsets that have changed since the last call are counted again."""
        return self._pods_of.tallies(application)

    def merge(self, kind: str, workload: Workload) -> bool:
        """Store the answer to a request unless the cached copy is at least as new; return True if stored."""
        stored = self.workload_caches[kind].merge(workload)
        if stored:
            self._on_contact()
        return stored

    def expect_deletion(self, application: AppKey, kind: str, name: str, uid: str) -> None:
        """Mark a workload whose deletion was requested, so that it is not requested again before its event comes."""
        cached = self.workload(application, kind, name)
        if cached is not None and cached.metadata.uid == uid and cached.metadata.deletion_timestamp is None:
            self.workload_caches[kind].amend((application[0], name), cached.being_deleted())

    def _object_changed(self, old: Workload | Pod | None, new: Workload | Pod | None) -> None:
        self._on_contact()
        state = new or old
        if state is None:
            return
        application = _application(state)
        self._on_change(application)
        if old is not None and old.metadata.labels != state.metadata.labels and _application(old) != application:
            self._on_change(_application(old))


class _PodIndex:
    """The names of pods by application and subset, and their counts while nothing changes."""

    pods: Cache[Pod]

    def __init__(self) -> None:
        self._names: dict[AppKey, dict[str, dict[str, None]]] = {}
        self._tallies: dict[AppKey, dict[str, PodTally]] = {}

    def __contains__(self, application: object) -> bool:
        return application in self._names

    def tallies(self, application: AppKey) -> Mapping[str, PodTally]:
        subsets = self._names.get(application)
        if subsets is None:
            return {}
        tallies = self._tallies.setdefault(application, {})
        for subset, pods in subsets.items():
            if subset not in tallies:
                tallies[subset] = tally(self.pods.objects[application[0], name] for name in pods)
        return dict(tallies)

    def update(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and new is not None and old.metadata.labels == new.metadata.labels:
            self._recount(_application(new), new.subset)
            return
        if old is not None:
            self._remove(_application(old), old.subset, old.metadata.name)
        if new is not None:
            application = _application(new)
            self._names.setdefault(application, {}).setdefault(new.subset, {})[new.metadata.name] = None
            self._recount(application, new.subset)

    def _recount(self, application: AppKey, subset: str) -> None:
        if tallies := self._tallies.get(application):
            tallies.pop(subset, None)

    def _remove(self, application: AppKey, subset: str, name: str) -> None:
        self._recount(application, subset)
        subsets = self._names[application]
        del subsets[subset][name]
        if not subsets[subset]:
            del subsets[subset]
        if not subsets:
            del self._names[application]
            self._tallies.pop(application, None)


def _with_kind(kind: str) -> Callable[[Workload], Workload]:
    """Set the kind, since objects in lists do not have one, and those of OpenKruise may share one with Kubernetes'."""

    def adapted(workload: Workload) -> Workload:
        return workload if workload.kind == kind else msgspec.structs.replace(workload, kind=kind)

    return adapted


def _application(state: Workload | Pod) -> AppKey:
    metadata: Metadata | PodMetadata = state.metadata
    return metadata.namespace, metadata.labels.get(names.LABEL_NAME, "")
