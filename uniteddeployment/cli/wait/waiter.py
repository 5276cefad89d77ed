"""``ud wait``: waits until the controller reports a state for the current spec."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from uniteddeployment.cli import application
from uniteddeployment.cli.application import Shown
from uniteddeployment.cli.connect import Target, connected, read_application
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.output.documents import check_output, dump
from uniteddeployment.cli.output.terminal import say
from uniteddeployment.controller import logs
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.planning.results import State

_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)(s|m|h|)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


def main(target: Target, names: Sequence[str], states: Sequence[str], timeout: str, output: str) -> None:
    """Wait, and report progress on standard error. Raises TimeoutError, CommandError."""
    check_output(output, ("text", "json"))
    if not names:
        raise CommandError("name at least one UnitedDeployment: ud wait NAME", USAGE)
    waiter = Waiter(names, [_state(state) for state in states], quiet=output == "json")
    limit = seconds(timeout)
    logs.configure("console", "error")
    asyncio.run(_wait(target, waiter, limit, timeout))
    if output == "json":
        dump([{"name": name, "state": str(waiter.reached[name])} for name in names], output)


def _state(text: str) -> State:
    for state in State:
        if text.lower() == state.lower():
            return state
    raise CommandError(f"--for must be one of {', '.join(State)}, not {text!r}", USAGE)


def seconds(text: str) -> float:
    """The seconds of a duration option. Raises CommandError."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise CommandError(f"--timeout must be a duration such as 90s, 10m or 1h, not {text!r}", USAGE)
    return float(match[1]) * _SECONDS[match[2]]


class Waiter:
    """The latest state of each application, and which of them have not reached a wanted state."""

    def __init__(self, names: Sequence[str], wanted: Sequence[State], *, quiet: bool = False) -> None:
        self.names = tuple(names)
        self.waiting = dict.fromkeys(names, "")
        """Name -> "NAME is STATE", once the state is known."""
        self.reached: dict[str, State] = {}
        self.gone = ""
        """The name of an application that was deleted."""
        self.changed = asyncio.Event()
        self._wanted = wanted
        self._quiet = quiet
        self._said = ""

    def note(self, old: Shown | None, new: Shown | None) -> None:
        """Handle a watch event."""
        if new is None:
            if old is not None and old.metadata.name in self.waiting:
                self.gone = old.metadata.name
        elif new.metadata.name in self.waiting:
            self._compare(new.metadata.name, new.as_dict())
        self.changed.set()

    def _compare(self, name: str, obj: dict[str, Any]) -> None:
        state = application.state(obj)
        if state in self._wanted:
            del self.waiting[name]
            self.reached[name] = state
            if not self._quiet:
                say(f"{name} is {state}")
            return
        self.waiting[name] = f"{name} is {state}"
        line = f"{self.waiting[name]}: {application.message(obj)}".removesuffix(": ")
        if self._said != line:
            self._said = line
            say(line, error=True)


async def _wait(target: Target, waiter: Waiter, limit: float, timeout: str) -> None:  # noqa: ASYNC109  # for the message
    try:
        async with asyncio.timeout(limit), connected(target) as client:
            for name in waiter.names:
                await read_application(client, target.namespace, name, Shown)
            reflector = Reflector(
                client,
                UNITED_DEPLOYMENTS,
                Shown,
                Cache[Shown](waiter.note),
                namespace=target.namespace,
                field_selector=f"metadata.name={waiter.names[0]}" if len(waiter.names) == 1 else None,
            )
            watching = asyncio.create_task(reflector.run())
            try:
                while waiter.waiting and not waiter.gone:
                    await waiter.changed.wait()
                    waiter.changed.clear()
            finally:
                watching.cancel()
    except TimeoutError:
        states = ", ".join(state or f"the state of {name} is not known" for name, state in waiter.waiting.items())
        raise TimeoutError(f"timed out after {timeout}: {states}") from None
    if waiter.gone:
        raise CommandError(f"{waiter.gone} was deleted")
