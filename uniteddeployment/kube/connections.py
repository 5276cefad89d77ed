"""Connections whose server was identified (I14).

Another server may answer at an address from one moment to the next. The connections to the former one stay with it or
break, so what was found out about a server holds for a connection, not for an address.
"""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import aiohttp

from uniteddeployment.kube.errors import NotIdentified

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace


class Use:
    """What one request needs of its connection, and which connection it got."""

    def __init__(self, *, identified: bool = False) -> None:
        self.identified = identified
        """Whether the server behind the connection has to be identified."""
        self._connection: object = None
        self._known: WeakSet[object] = WeakSet()

    def took(self, connection: object, known: WeakSet[object]) -> bool:
        """Note the connection; return whether it may be used. ``known`` are those whose server was identified."""
        self._connection, self._known = connection, known
        return not self.identified or connection in known

    def identify(self) -> None:
        """The server behind the connection is the expected one."""
        if self._connection is not None:
            self._known.add(self._connection)


USE: ContextVar[Use] = ContextVar("use")
"""The use of the request in progress: aiohttp hands nothing of its caller to a connector."""


class Connector(aiohttp.TCPConnector):
    """Raises NotIdentified instead of giving a new connection to a request for which the server has to be identified.

    A new connection is also what aiohttp takes to repeat a request whose connection was broken.
    """

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(**options)
        self._name = name
        self._identified: WeakSet[object] = WeakSet()

    async def connect(
        self,
        req: "ClientRequest",
        traces: list["Trace"],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # the base class's
    ) -> "Connection":
        connection = await super().connect(req, traces, timeout)
        if USE.get().took(connection.protocol, self._identified):
            return connection
        connection.release()  # the request that identifies the server may take it
        raise NotIdentified(f"{self._name}: the connection is new, and the server behind it was not identified yet")
