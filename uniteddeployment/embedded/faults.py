"""Faults between a cluster and its clients, for tests: latency, errors and lost connections.

Contract: faults affect every client, in process or over HTTPS, and never the cluster's own controllers. Every chance
comes from the injected Random and every wait from the cluster's clock, so a simulation with faults can be repeated.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from uniteddeployment.embedded.clock import Clock
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.http import ByteStream, Request, Response
from uniteddeployment.embedded.requests import answer

RETRY_AFTER: Final = 1
"""Seconds in the Retry-After header of a 429."""

CUT_OFF: Final = "the cluster is cut off"


@dataclass(frozen=True, slots=True)
class Settings:
    """The active faults."""

    latency: float = 0.0
    """Seconds before each response."""
    jitter: float = 0.0
    """Maximum of the random addition to the latency, in seconds."""
    error_rate: float = 0.0
    """The share of requests that get an error response."""
    error_codes: tuple[int, ...] = (500, 429)
    slow_watch: float = 0.0
    """Seconds before each chunk of a watch."""
    cut_off: bool = False
    """Connections are refused, and open connections break."""
    black_hole: bool = False
    """Connections are accepted and never answered; open watches fall silent."""
    frozen: bool = False
    """As after SIGSTOP: like a black hole, but the server handles all requests when it goes on, late as it is."""

    @property
    def calm(self) -> bool:
        return self == _CALM


_CALM: Final = Settings()


class Faults:
    """The faults of one cluster. :meth:`set` and :meth:`clear` take effect at once, also for open watches."""

    def __init__(self, clock: Clock, random: Random) -> None:
        self._clock = clock
        self._random = random
        self._settings = _CALM
        self._listeners: list[Callable[[Settings], None]] = []

    @property
    def now(self) -> Settings:
        """The active faults."""
        return self._settings

    def set(
        self,
        *,
        latency: float | None = None,
        jitter: float | None = None,
        error_rate: float | None = None,
        error_codes: tuple[int, ...] | None = None,
        slow_watch: float | None = None,
        cut_off: bool | None = None,
        black_hole: bool | None = None,
        frozen: bool | None = None,
    ) -> None:
        """Change the given faults and keep the others."""
        given = {
            "latency": latency,
            "jitter": jitter,
            "error_rate": error_rate,
            "error_codes": error_codes,
            "slow_watch": slow_watch,
            "cut_off": cut_off,
            "black_hole": black_hole,
            "frozen": frozen,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        self._change(replace(self._settings, **changes))  # type: ignore[arg-type]  # each value has the type of its field

    def clear(self) -> None:
        """Switch all faults off."""
        self._change(_CALM)

    def subscribe(self, listener: Callable[[Settings], None]) -> Callable[[], None]:
        """Call ``listener`` after each change; return a function that unsubscribes."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def _change(self, settings: Settings) -> None:
        self._settings = settings
        for listener in tuple(self._listeners):
            listener(settings)

    async def wait(self, seconds: float) -> None:
        """Wait on the cluster's clock. Raises ConnectionError if the cluster is cut off first."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def on_change(settings: Settings) -> None:
            if settings.cut_off and not done.done():
                done.set_exception(ConnectionResetError(CUT_OFF))

        timer = self._clock.call_later(seconds, lambda: None if done.done() else done.set_result(None))
        unsubscribe = self.subscribe(on_change)
        on_change(self._settings)
        try:
            await done
        finally:
            timer.cancel()
            unsubscribe()

    async def _until(self, reached: Callable[[Settings], bool]) -> None:
        """Wait until the settings satisfy a condition."""
        if reached(self._settings):
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def on_change(settings: Settings) -> None:
            if reached(settings) and not done.done():
                done.set_result(None)

        unsubscribe = self.subscribe(on_change)
        try:
            await done
        finally:
            unsubscribe()

    async def around(self, request: Request, handle: Callable[[Request], Response]) -> Response:
        """Answer a request as a client sees it. Raises ConnectionError if a fault breaks the connection."""
        await self._before()
        if self._settings.frozen:
            return await self._once_resumed(request, handle)
        return self._answer(request, handle)

    def _answer(self, request: Request, handle: Callable[[Request], Response]) -> Response:
        settings = self._settings
        if settings.error_rate and self._random.random() < settings.error_rate:
            return self._error(self._random.choice(settings.error_codes))
        response = handle(request)
        if response.stream is not None:
            response.stream = self.through(response.stream)
        return response

    async def _once_resumed(self, request: Request, handle: Callable[[Request], Response]) -> Response:
        """Handle a request when the server goes on, even if its client has given up by then."""
        answered: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

        def on_change(settings: Settings) -> None:
            if settings.frozen and not settings.cut_off:
                return
            unsubscribe()
            try:
                if settings.cut_off:
                    raise ConnectionResetError(CUT_OFF)
                response = self._answer(request, handle)
            except ConnectionError as error:
                if not answered.done():
                    answered.set_exception(error)
                return
            if not answered.done():
                answered.set_result(response)
            elif response.stream is not None:
                response.stream.end()

        unsubscribe = self.subscribe(on_change)
        return await answered

    def through(self, stream: ByteStream) -> ByteStream:
        """A watch as a client sees it, under the faults that are active as each chunk is sent."""
        return _Stream(self, stream)

    async def _before(self) -> None:
        """Apply the faults that affect a request before the cluster sees it."""
        if self._settings.cut_off:
            raise ConnectionRefusedError(CUT_OFF)
        delay = self._settings.latency
        if self._settings.jitter:
            delay += self._settings.jitter * self._random.random()
        if delay:
            await self.wait(delay)
        if self._settings.black_hole:
            await self._until(lambda settings: settings.cut_off or not settings.black_hole)
            raise ConnectionResetError("the connection was lost in a black hole")

    async def late(self) -> None:
        """Apply the faults that affect a chunk of a watch. Raises ConnectionError if the chunk is lost."""
        if self._settings.slow_watch:
            await self.wait(self._settings.slow_watch)
        await self._until(lambda settings: settings.cut_off or not (settings.black_hole or settings.frozen))
        if self._settings.cut_off:
            raise ConnectionResetError(CUT_OFF)

    @staticmethod
    def _error(code: int) -> Response:
        if code == 429:
            text = "the server has received too many requests and has asked us to try again later"
            return answer.error(StatusError(429, "TooManyRequests", text, details={}, retry_after=RETRY_AFTER))
        reasons = {500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}
        text = "Internal error occurred: injected fault"
        return answer.error(StatusError(code, reasons.get(code, ""), text))


class _Stream:
    """A watch under faults."""

    def __init__(self, faults: Faults, stream: ByteStream) -> None:
        self._faults = faults
        self._stream = stream
        self._broken = False
        self._unsubscribe = faults.subscribe(self._on_change)

    def _on_change(self, settings: Settings) -> None:
        if settings.cut_off:
            self._broken = True
            self._stream.end()

    def __aiter__(self) -> "_Stream":
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await anext(self._stream)
        except StopAsyncIteration:
            self._unsubscribe()
            if self._broken:
                raise ConnectionResetError(CUT_OFF) from None
            raise
        if not self._faults.now.calm:
            await self._faults.late()
        if self._broken:
            raise ConnectionResetError(CUT_OFF)
        return chunk

    def end(self) -> None:
        """End the watch from the cluster's side."""
        self._stream.end()

    async def aclose(self) -> None:
        """Close the watch from the reader's side."""
        self._unsubscribe()
        await self._stream.aclose()
