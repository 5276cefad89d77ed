"""HTTPS for a cluster.

Contract: one port on one address, TLS with the cluster's own CA, HTTP/1.1. When the cluster is cut off, open
connections break at once and new ones when they are made.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.faults import Settings
from uniteddeployment.embedded.serving.connection import Connection, Connections
from uniteddeployment.embedded.serving.tls import Authority, server_context


@dataclass(slots=True)
class RunningServer:
    """A cluster that is served over HTTPS. ``ca`` is the CA certificate (PEM) that clients trust."""

    url: str
    ca: bytes
    port: int
    authority: Authority
    _listener: asyncio.Server
    _connections: Connections
    _unsubscribe: Callable[[], None]
    _closed: bool = field(default=False)

    async def close(self) -> None:
        """Stop listening and break all connections. The cluster continues to run."""
        if self._closed:
            return
        self._closed = True
        self._unsubscribe()
        self._listener.close()
        self._connections.abort()
        await self._listener.wait_closed()


async def start(
    cluster: Cluster, *, port: int = 0, host: str = "127.0.0.1", authority: Authority | None = None
) -> RunningServer:
    """Serve a cluster; port 0 selects a free port. Raises OSError if the port is in use."""
    own = authority or Authority(cluster.name)
    context = server_context(own, own.server(host, "localhost", "127.0.0.1", "::1"))
    cluster.trust(own.certificate)
    connections = Connections(cluster)
    listener = await asyncio.get_running_loop().create_server(
        lambda: Connection(connections), host, port, ssl=context, backlog=1024, reuse_address=True
    )

    def on_faults(settings: Settings) -> None:
        if settings.cut_off:
            connections.abort()

    bound = int(listener.sockets[0].getsockname()[1])
    url = f"https://[{host}]:{bound}" if ":" in host else f"https://{host}:{bound}"
    return RunningServer(url, own.certificate, bound, own, listener, connections, cluster.faults.subscribe(on_faults))
