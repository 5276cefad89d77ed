"""POST requests to any servers that users name: bounded in time and size, and never to link-local addresses.

Users choose the addresses, so the answers are not trusted, and no answer is quoted unless it has the expected form.
"""

import asyncio
import base64
import binascii
import ipaddress
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

MAX_ANSWER_BYTES = 1 << 20
"""The largest answer that is read."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


class RequestFailed(Exception):  # noqa: N818  # the outcome that callers report
    """There is no answer. The message names only the origin of the URL, since a URL may contain a secret.

    ``permanent`` means that the same request always fails.
    """

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer."""

    status: int
    body: bytes


class Web:
    """One session for all servers. It follows no redirects, keeps no cookies and reads no proxy settings."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        ca_bundle: str = "",
        seconds: float,
    ) -> Answer:
        """Send a POST request, and return its answer. Raises RequestFailed, which names only the origin of the URL."""
        where = "{}://{}:{}".format(*origin(url))
        refuse_link_local(urlsplit(url).hostname or "", where)
        context = tls_context(ca_bundle)
        try:
            async with asyncio.timeout(seconds):
                return await self._post(url, headers, body, context)
        except TimeoutError:
            raise RequestFailed(f"{where} did not answer within {seconds:g} seconds") from None
        except aiohttp.ClientConnectorCertificateError:
            raise RequestFailed(f"the certificate of {where} is not trusted; set caBundle") from None
        except aiohttp.ClientConnectorError as error:
            reason = error.os_error.strerror or type(error.os_error).__name__
            raise RequestFailed(f"{where} cannot be reached: {reason}") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise RequestFailed(f"the request to {where} failed: {type(error).__name__}") from None

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes, context: ssl.SSLContext | None) -> Answer:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(resolver=_Resolver(), limit=0, limit_per_host=32),
                cookie_jar=aiohttp.DummyCookieJar(),
                # A small compressed answer can be a large one.
                auto_decompress=False,
                headers={"Accept-Encoding": "identity", "User-Agent": "uniteddeployment"},
                timeout=aiohttp.ClientTimeout(total=None),
                trust_env=False,
            )
        async with self._session.post(
            url, data=body, headers=dict(headers), ssl=context or True, allow_redirects=False
        ) as response:
            content = bytearray()
            async for chunk in response.content.iter_chunked(1 << 16):
                content += chunk
                if len(content) > MAX_ANSWER_BYTES:
                    response.close()
                    raise RequestFailed(f"the answer has more than {MAX_ANSWER_BYTES >> 20} MiB")
            return Answer(response.status, bytes(content))


class _Resolver(AbstractResolver):
    """Resolves names, except to link-local addresses: cloud providers serve the credentials of nodes there."""

    def __init__(self) -> None:
        self._names = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of a host. Raises OSError."""
        found = await self._names.resolve(host, port, family)
        allowed = [address for address in found if not _link_local(address["host"])]
        if not allowed:
            raise OSError(None, "link-local addresses are not allowed")
        return allowed

    async def close(self) -> None:
        """Release nothing: the resolver holds nothing."""
        await self._names.close()


def refuse_link_local(host: str, where: str) -> None:
    """Raises RequestFailed if the host is a link-local address. Names are checked when they are resolved."""
    if _link_local(host):
        raise RequestFailed(f"{where} is a link-local address, which is not allowed", permanent=True)


def _link_local(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_link_local


def origin(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port of a URL. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ValueError("not a URL of HTTP")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return parts.scheme, host, parts.port or _DEFAULT_PORTS[parts.scheme]


def tls_context(ca_bundle: str) -> ssl.SSLContext | None:
    """Return a context that trusts only these authorities; None if the text is empty. Raises RequestFailed."""
    if not ca_bundle:
        return None
    try:
        return ssl.create_default_context(cadata=base64.b64decode(ca_bundle, validate=True).decode("ascii"))
    except (binascii.Error, UnicodeDecodeError, ssl.SSLError):
        raise RequestFailed("caBundle must have PEM certificates in base64", permanent=True) from None
