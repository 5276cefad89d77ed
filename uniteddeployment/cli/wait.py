"""``ud wait``: until applications are in a state that the controller has told of their present spec."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from uniteddeployment.cli import tree
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.get import Shown
from uniteddeployment.cli.terminal import say
from uniteddeployment.cli.where import Where, check, connected
from uniteddeployment.controller import logs
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.planning.results import State

_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)(s|m|h|)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


def main(where: Where, names: Sequence[str], states: Sequence[str], timeout: str) -> None:
    """Wait, and say on standard error what is being waited for. Raises TimeoutError, CommandError."""
    if not names:
        raise CommandError("name what to wait for: ud wait NAME", USAGE)
    wanted, limit = [_state(one) for one in states], _limit(timeout)
    logs.configure("console", "error")
    asyncio.run(_wait(where, names, wanted, limit, timeout))


def _state(text: str) -> State:
    for state in State:
        if text.lower() == state.lower():
            return state
    raise CommandError(f"--for must be one of {', '.join(State)}, not {text!r}", USAGE)


def _limit(text: str) -> float:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise CommandError(f"--timeout must be a time such as 90s, 10m or 1h, not {text!r}", USAGE)
    return float(found[1]) * _SECONDS[found[2]]


class _Waiter:
    """What is still waited for, by the newest state of each object."""

    def __init__(self, names: Sequence[str], wanted: Sequence[State]) -> None:
        self.waiting = dict.fromkeys(names, "")
        """Name -> its state, once it is known."""
        self._told = ""
        self.gone = ""
        self._wanted = wanted
        self.changed = asyncio.Event()

    def note(self, old: Shown | None, new: Shown | None) -> None:
        """A watch event."""
        if new is None:
            if old is not None and old.metadata.name in self.waiting:
                self.gone = old.metadata.name
        elif new.metadata.name in self.waiting:
            self._look(new.metadata.name, new.as_dict())
        self.changed.set()

    def _look(self, name: str, obj: dict[str, Any]) -> None:
        state = tree.state(obj)
        if state in self._wanted:
            del self.waiting[name]
            say(f"{name} is {state}")
            return
        self.waiting[name] = f"{name} is {state}"
        told = f"{self.waiting[name]}: {tree.message(obj)}".removesuffix(": ")
        if self._told != told:
            self._told = told
            say(told, error=True)


async def _wait(where: Where, names: Sequence[str], wanted: Sequence[State], limit: float, timeout: str) -> None:  # noqa: ASYNC109
    waiter = _Waiter(names, wanted)
    try:
        async with asyncio.timeout(limit), connected(where) as client:
            await _exist(client, where, names)
            reflector = Reflector(
                client,
                UNITED_DEPLOYMENTS,
                Shown,
                Cache[Shown](waiter.note),
                namespace=where.namespace,
                field_selector=f"metadata.name={names[0]}" if len(names) == 1 else None,
            )
            watching = asyncio.create_task(reflector.run())
            try:
                while waiter.waiting and not waiter.gone:
                    await waiter.changed.wait()
                    waiter.changed.clear()
            finally:
                watching.cancel()
    except TimeoutError:
        states = ", ".join(state or f"{name} is not known" for name, state in waiter.waiting.items())
        raise TimeoutError(f"not within {timeout}: {states}") from None
    if waiter.gone:
        raise CommandError(f"{waiter.gone} was deleted")


async def _exist(client: Client, where: Where, names: Sequence[str]) -> None:
    for name in names:
        try:
            await client.get(UNITED_DEPLOYMENTS, name, Shown, namespace=where.namespace)
        except NotFound as error:
            await check(client)
            raise CommandError(f"{error.message} (namespace {where.namespace})") from None
