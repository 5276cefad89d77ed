"""Tests that take place at the same time, since they wait most of the time: each is a story in a thread of its own."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.support import control_planes
from tests.support.control_planes import ControlPlane
from tests.support.drill import PODS, Drill, Scene, scene
from tests.support.fault_proxy import through
from tests.support.forwarder import Forwarder
from tests.support.mirror import Mirror
from tests.support.other_clock import AHEAD, ANOTHER_CLOCK
from tests.support.preloaded import ENTRY


class Stage:
    """The members that the stories share, and the scenes that they begin."""

    def __init__(self, members: Mapping[str, ControlPlane], mirror: Mirror, folder: Path, stack: ExitStack) -> None:
        self.members = members
        self.mirror = mirror
        self._folder = folder
        self._stack = stack
        self._lock = threading.Lock()
        self._scenes: dict[str, Future[Scene]] = {}

    def shared(self, name: str, *registered: str) -> Scene:
        """A scene with a controller, which the first story that asks begins, and in which these are registered."""
        with self._lock:
            future, mine = self._scenes.get(name), name not in self._scenes
            if future is None:
                future = self._scenes[name] = Future()
        if mine:
            try:
                future.set_result(self._begun(name, registered))
            except BaseException as error:
                future.set_exception(error)
                raise
        return future.result()

    def _begun(self, name: str, registered: Sequence[str]) -> Scene:
        with ExitStack() as stack:
            found = stack.enter_context(self.scene(name))
            for member in registered:
                found.register(member, self.members[member].config)
            stack.enter_context(found.site.controller("--no-leader-elect"))
            with self._lock:
                self._stack.push(stack.pop_all())
        return found

    def drill(self, scene: str, member: ControlPlane, config: Mapping[str, Any] | None = None, **spec: Any) -> Drill:
        """A drill in a shared scene with a member that is registered now, by default with its own kubeconfig."""
        found = self.shared(scene, *STEADY)
        if member.name not in self.members:
            found.enter(member)
        found.register(member.name, config or member.config, **spec)
        return Drill(found, f"web-{member.name}")

    @contextmanager
    def reached_through(self, scene: str, name: str) -> Iterator[tuple[Drill, Forwarder]]:
        """A drill in a shared scene with a shared member, and the connection through which it is reached."""
        member = self.members[name]
        with Forwarder(*member.address) as wire:
            yield self.drill(scene, member, through(member.config, wire.port)), wire

    @contextmanager
    def scene(self, name: str, **options: Any) -> Iterator[Scene]:
        """A scene without a controller."""
        with scene(name, self._folder / name, self.members, self.mirror, **options) as found:
            yield found

    @contextmanager
    def embedded(self, name: str, *options: str, ahead: float = 0.0) -> Iterator[ControlPlane]:
        """One more member, which is not shared."""
        clock = {ENTRY: ANOTHER_CLOCK, AHEAD: str(ahead)} if ahead else {}
        with ExitStack() as stack:
            plane = stack.enter_context(control_planes.embedded(name, self._folder, *options, **clock))
            stack.enter_context(self.mirror.follow(plane, PODS))
            yield plane


STEADY = ("member-1", "member-2")
"""The members that nothing happens to."""
Story = Callable[[Stage], None]
Told = Mapping[str, Future[None]]
_STORIES: dict[str, Story] = {}


def story(tell: Story) -> Callable[[Any], None]:
    """Make a test of a story: it waits until the story has ended, and fails if that does."""
    _STORIES[tell.__name__] = tell

    def test(told: Told) -> None:
        told[test.__name__].result()

    test.__name__, test.__doc__, test.__module__ = tell.__name__, tell.__doc__, tell.__module__
    return test


@contextmanager
def told(names: Sequence[str], members: Mapping[str, ControlPlane], folder: Path) -> Iterator[Told]:
    """Tell the stories with these names at the same time, and wait for their ends."""
    mirror = Mirror()
    with ExitStack() as stack:
        for member in members.values():
            stack.enter_context(mirror.follow(member, PODS))
        stage = Stage(members, mirror, folder, stack)
        pool = ThreadPoolExecutor(max(1, len(names)))
        try:
            yield {name: pool.submit(_STORIES[name], stage) for name in names}
        finally:
            pool.shutdown()
