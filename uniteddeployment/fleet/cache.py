"""What one cluster shows of our applications, indexed by application. Fed by watches and by the answers to our writes.

An answer to a write is as good as the watch event that will follow it, and earlier. So the two are merged by resource
version: what is older than what is here is dropped, and no plan is made on what we know to be out of date (I9).
"""

from collections.abc import Callable, Mapping

import msgspec

from uniteddeployment.kube.tombstones import Tombstones, newer
from uniteddeployment.planning.observed import Metadata, Pod, PodMetadata, PodTally, Workload, tally
from uniteddeployment_api import names

AppKey = tuple[str, str]
"""(namespace, value of the name label)"""


class MemberCache:
    """Workloads and pods of one cluster that carry our label."""

    def __init__(self, changed: Callable[[AppKey], None], *, touched: Callable[[], None] = lambda: None) -> None:
        self._changed = changed
        self._touched = touched
        """Called for each change of what is here, also for those that come with the answers to our writes."""
        self._workloads: dict[AppKey, dict[tuple[str, str], Workload]] = {}
        self._pods: dict[AppKey, dict[str, dict[str, Pod]]] = {}
        self._tallies: dict[AppKey, dict[str, PodTally]] = {}
        self._gone = Tombstones()

    def __contains__(self, key: object) -> bool:
        """Whether an application has something here."""
        return key in self._workloads or key in self._pods

    def workloads(self, key: AppKey) -> tuple[Workload, ...]:
        found = self._workloads.get(key)
        return tuple(found[name] for name in sorted(found)) if found else ()

    def workload(self, key: AppKey, kind: str, name: str) -> Workload | None:
        return self._workloads.get(key, {}).get((kind, name))

    def pods(self, key: AppKey) -> Mapping[str, PodTally]:
        """Subset -> its pods, counted; only what changed since the last time is counted again."""
        found = self._pods.get(key)
        if found is None:
            return {}
        tallies = self._tallies.setdefault(key, {})
        for subset, pods in found.items():
            if subset not in tallies:
                tallies[subset] = tally(pods.values())
        return dict(tallies)

    def workload_changed(self, kind: str, old: Workload | None, new: Workload | None) -> None:
        """A watch event. ``kind`` is given, since objects in lists do not say it."""
        if new is not None:
            # Watch events come in order: what they show again lost our labels for a while and was never deleted.
            self._gone.discard(new.metadata)
            if self.keep(kind, new):
                self._changed(_key(new.metadata))
        elif old is not None:
            self.drop(kind, old)
            self._changed(_key(old.metadata))

    def keep(self, kind: str, workload: Workload) -> bool:
        """Put it in unless what is here is as new; says whether it did."""
        if self._gone.cover(workload.metadata):
            return False
        key = _key(workload.metadata)
        entry = (kind, workload.metadata.name)
        known = self._workloads.get(key, {}).get(entry)
        if known is not None and known.metadata.as_new_as(workload.metadata):
            return False
        if workload.kind != kind:
            workload = msgspec.structs.replace(workload, kind=kind)
        self._workloads.setdefault(key, {})[entry] = workload
        self._touched()
        return True

    def drop(self, kind: str, workload: Workload) -> None:
        """It is gone as of the resource version that it has here; an answer to a write may have shown a later state."""
        self._touched()
        self._gone.add(workload.metadata)
        key = _key(workload.metadata)
        known = self._workloads.get(key, {})
        entry = (kind, workload.metadata.name)
        here = known.get(entry)
        if here is None or here.metadata.uid != workload.metadata.uid:
            return
        if newer(here.metadata.resource_version, workload.metadata.resource_version):
            return
        del known[entry]
        if not known:
            del self._workloads[key]

    def expect_deletion(self, key: AppKey, kind: str, name: str, uid: str) -> None:
        """We have asked for its deletion, and the event that says so is on its way: nobody need ask again."""
        known = self._workloads.get(key, {})
        here = known.get((kind, name))
        if here is not None and here.metadata.uid == uid and here.metadata.deletion_timestamp is None:
            known[kind, name] = here.going()

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """A watch event."""
        pod = new or old
        if pod is None:
            return
        self._touched()
        key = _key(pod.metadata)
        subsets = self._pods.setdefault(key, {})
        pods = subsets.setdefault(pod.subset, {})
        if new is not None:
            pods[new.metadata.name] = new
        else:
            pods.pop(pod.metadata.name, None)
        self._tallies.get(key, {}).pop(pod.subset, None)
        if not pods:
            del subsets[pod.subset]
        if not subsets:
            del self._pods[key]
            self._tallies.pop(key, None)
        self._changed(key)


def _key(metadata: Metadata | PodMetadata) -> AppKey:
    return metadata.namespace, metadata.labels.get(names.LABEL_NAME, "")
