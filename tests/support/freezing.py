"""Processes of a simulation that can be frozen in the middle of their work, as SIGSTOP does.

All coroutines of a process run in one context. While it is frozen, nothing in that context runs: neither answers that
come in, nor timers. When it resumes, all of it runs at once, in the order in which it came.
"""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.support.virtual_time import BoundedLoop

T = TypeVar("T")

_PROCESS: contextvars.ContextVar["Frozen | None"] = contextvars.ContextVar("process", default=None)


@dataclass(frozen=True, slots=True)
class _Held:
    """A callback that was due while its process was frozen."""

    callback: Callable[..., object]
    args: tuple[Any, ...]
    handle: list[asyncio.Handle]
    context: contextvars.Context


class Frozen:
    """One process: what it runs, and whether it is frozen."""

    def __init__(self) -> None:
        self.frozen = False
        self._held: list[_Held] = []

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine in this process, and everything that it starts."""
        context = contextvars.copy_context()
        context.run(_PROCESS.set, self)
        return asyncio.get_running_loop().create_task(work, context=context)

    def freeze(self) -> None:
        self.frozen = True

    def resume(self) -> None:
        """Everything that was due happens now."""
        self.frozen = False
        loop = asyncio.get_running_loop()
        for held in self._held:
            if not held.handle[0].cancelled():
                loop.call_soon(held.callback, *held.args, context=held.context)
        self._held.clear()

    def gate(
        self, callback: Callable[..., object], handle: list[asyncio.Handle], context: contextvars.Context
    ) -> Callable[..., None]:
        """The callback, put off while the process is frozen."""

        def gated(*args: Any) -> None:
            if self.frozen:
                self._held.append(_Held(callback, args, handle, context))
            else:
                callback(*args)

        return gated


class FreezableLoop(BoundedLoop):
    """An event loop that asks the process of each callback whether it runs."""

    def call_soon(  # type: ignore[override]  # the signatures of the stubs need type variables that nothing here uses
        self, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        found: asyncio.Handle = self._gated(super().call_soon, callback, args, context)
        return found

    def call_at(  # type: ignore[override]  # as above
        self, when: float, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        def schedule(gated: Any, *rest: Any, context: contextvars.Context) -> asyncio.TimerHandle:
            return super(FreezableLoop, self).call_at(when, gated, *rest, context=context)

        found: asyncio.TimerHandle = self._gated(schedule, callback, args, context)
        return found

    def _gated(self, schedule: Any, callback: Any, args: Any, context: contextvars.Context | None) -> Any:
        where = context if context is not None else contextvars.copy_context()
        process = where.get(_PROCESS)
        if process is None:
            return schedule(callback, *args, context=where)
        handle: list[asyncio.Handle] = []
        handle.append(schedule(process.gate(callback, handle, where), *args, context=where))
        return handle[0]


def outside(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Run a coroutine outside of any process, as another machine would."""
    return asyncio.get_running_loop().create_task(work, context=contextvars.Context())
