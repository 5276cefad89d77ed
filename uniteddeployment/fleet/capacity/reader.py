"""Reads the nodes and all pods of a member, and publishes their sums when they have changed enough.

These watches are apart from those that a member needs to be Ready. If they fail, or if the credentials have no right to
them, the capacity of the cluster is unknown, and nothing else changes.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import structlog

from uniteddeployment.fleet.capacity.figures import differs, figures
from uniteddeployment.fleet.capacity.objects import Node, Pod
from uniteddeployment.fleet.capacity.sums import SubsetKey, Sums
from uniteddeployment.fleet.status import Verdict
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Forbidden, TooMany
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.resource import NODES, PODS, Resource

T = TypeVar("T", Node, Pod)
U = TypeVar("U")

_log = structlog.get_logger(__name__)

MOST_NODES, MOST_PODS = 50_000, 500_000
"""How many nodes and pods of a cluster are counted. Kubernetes is built for 5,000 nodes and 150,000 pods."""
PUBLISH_SECONDS = 10.0
"""The shortest time between two publications."""
GRACE_SECONDS = 10.0
"""How long a watch may fail before the figures count as outdated."""


ERROR_PAUSE = 60.0
"""The pause after an unexpected error."""
MISSING_RIGHT = "MissingRight"
COUNTED = "Counted"
DISABLED = Verdict("False", "Disabled", "spec.capacity is Disabled")


class NodeCounts(NamedTuple):
    """How many nodes a cluster has, and how many of them can take pods."""

    total: int
    usable: int


class CapacityReader:
    """Follows the capacity of one cluster. ``run`` works until it is cancelled.

    ``on_change`` is called when ``published`` or ``state`` has changed, and ``on_shown(subset, pods)`` when the number
    of pods of a subset of ours has. ``before_list`` is that of reflectors.
    """

    def __init__(
        self,
        name: str,
        client: Client,
        *,
        enabled: bool,
        on_change: Callable[[], None],
        on_shown: Callable[[SubsetKey, int], None] = lambda _subset, _pods: None,
        before_list: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._name = name
        self._client = client
        self._enabled = enabled
        self._on_change = on_change
        self._on_shown = on_shown
        self._before_list = before_list
        self._switched = asyncio.Event()
        self._changed = asyncio.Event()
        self._reported: set[str] = set()
        """The kinds of odd objects that were logged."""
        self.state: Verdict | None = None if enabled else DISABLED
        """None while the first lists are read."""
        self.published: dict[str, Any] | None = None
        """The figures as of the last publication; None while there are none."""
        self._begin()

    def _begin(self) -> None:
        self.sums = Sums(self._changed.set, self._on_shown)
        sums = self.sums
        self._node_cache: Cache[Node] = Cache(indexes=(_Follower[Node](sums.node_changed),), most=MOST_NODES)
        self._pod_cache: Cache[Pod] = Cache(indexes=(_Follower[Pod](sums.pod_changed),), most=MOST_PODS)
        self._nodes = self._reflector(NODES, Node, self._node_cache)
        self._pods = self._reflector(PODS, Pod, self._pod_cache)

    @property
    def current(self) -> bool:
        """Whether the sums are complete, and follow the cluster."""
        return self.state is not None and self.state.status == "True"

    @property
    def nodes(self) -> NodeCounts | None:
        """The number of nodes; None if that is unknown."""
        if not self.current:
            return None
        return NodeCounts(self.sums.existing_nodes, self.sums.usable_nodes)

    def enable(self, enabled: bool) -> None:
        """Begin or end to follow the capacity."""
        if enabled != self._enabled:
            self._enabled = enabled
            self._switched.set()

    def retry_now(self) -> None:
        """Reopen watches that failed, because the server is known to be back. A missing right is not asked for."""
        for reflector in (self._nodes, self._pods):
            if not reflector.connected and reflector.refusal is None:
                reflector.retry_now()

    async def run(self) -> None:
        """Follow the capacity while it is enabled."""
        while True:
            self._switched.clear()
            if not self._enabled:
                self._set(DISABLED, None)
                await self._switched.wait()
                continue
            following = asyncio.create_task(self._follow())
            switched = asyncio.create_task(self._switched.wait())
            try:
                await asyncio.wait((following, switched), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (following, switched):
                    task.cancel()
                await asyncio.gather(following, switched, return_exceptions=True)
            if not following.cancelled() and (error := following.exception()) is not None:
                _log.error("capacity not followed", cluster=self._name, exc_info=error)
                self._set(Verdict("Unknown", "InternalError", "internal error; the controller's log says where"), None)
                await asyncio.sleep(ERROR_PAUSE)
            self._begin()

    async def _follow(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._nodes.run())
            tasks.create_task(self._follow_pods())
            tasks.create_task(self._publish_changes())

    async def _follow_pods(self) -> None:
        """Follow the pods once the nodes are known, so that resources of nodes come first."""
        await self._nodes.synced.wait()
        await self._pods.run()

    async def _publish_changes(self) -> None:
        """Publish the first figures at once, and later ones from time to time."""
        while True:
            await self._wait_changed()
            if self._publish():
                await asyncio.sleep(PUBLISH_SECONDS)

    async def _wait_changed(self) -> None:
        """Wait until something has changed; while a watch fails, also until that has lasted for too long."""
        failing = not (self._nodes.steady and self._pods.steady)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS if failing else None):
                await self._changed.wait()
        self._changed.clear()

    def _publish(self) -> bool:
        """Publish the state and, if it is current, the figures. Return whether figures were counted."""
        state = self._present_state()
        if state is None:
            return False
        if state.status != "True":
            self._set(state, None if state.reason == MISSING_RIGHT else self.published)
            return False
        self._report_odd_objects()
        new = figures(self.sums)
        self._set(state, new if self.published is None or differs(self.published, new) else self.published)
        return True

    def _present_state(self) -> Verdict | None:
        for reflector in (self._nodes, self._pods):
            error = reflector.trouble or reflector.refusal
            if error is None or not (reflector.refusal or not reflector.synced.is_set() or _lasts(reflector)):
                continue
            if isinstance(error, Forbidden):
                return Verdict("False", MISSING_RIGHT, f"{error}. `ud rbac member` prints the rights that are needed")
            return Verdict("Unknown", "TooMany" if isinstance(error, TooMany) else "NotReadable", str(error))
        if not self._nodes.synced.is_set() or not self._pods.synced.is_set():
            return None
        return Verdict("True", COUNTED, self._message())

    def _message(self) -> str:
        odd = len(self._node_cache.undecodable) + len(self._pod_cache.undecodable)
        odd += self.sums.unknown_nodes + self.sums.unknown_pods
        counted = "the nodes and pods of the cluster are counted"
        return counted if not odd else f"{counted}, apart from those whose resources cannot be read"

    def _report_odd_objects(self) -> None:
        """Log the first node and the first pod whose resources cannot be read; the cache logs what it cannot decode."""
        sums = self.sums
        nodes = ((key, node.problem) for key, node in self._node_cache.objects.items())
        pods = ((key, pod.problem) for key, pod in self._pod_cache.objects.items())
        for kind, count, objects in (("node", sums.unknown_nodes, nodes), ("pod", sums.unknown_pods, pods)):
            if count and kind not in self._reported:
                self._reported.add(kind)
                (namespace, name), why = next(found for found in objects if found[1])
                _log.warning(
                    "resources cannot be read", cluster=self._name, kind=kind, namespace=namespace, name=name, why=why
                )

    def _set(self, state: Verdict, published: dict[str, Any] | None) -> None:
        if (state, published) != (self.state, self.published):
            self.state, self.published = state, published
            self._on_change()

    def _reflector(self, resource: Resource, type_: type[T], cache: Cache[T]) -> Reflector[T]:
        return Reflector(
            self._client,
            resource,
            type_,
            cache,
            on_synced=self._changed.set,
            on_state=lambda _: self._changed.set(),
            before_list=self._before_list,
            optional=True,
        )


@dataclass(slots=True)
class _Follower(Generic[U]):
    """Passes the changes of a cache on."""

    update: Callable[[U | None, U | None], None]


def _lasts(reflector: Reflector[Node] | Reflector[Pod]) -> bool:
    return reflector.failing_for > GRACE_SECONDS
