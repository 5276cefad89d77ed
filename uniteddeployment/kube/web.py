"""POST requests to any servers that users name: bounded in time and size, and never to link-local addresses.

Users choose the addresses, so the answers are not trusted, and no answer is quoted unless it has the expected form.
"""

import asyncio
import base64
import binascii
import contextlib
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

MAX_ANSWER_BYTES = 1 << 20
"""The largest answer that is read."""
NOT_ALLOWED = "link-local addresses are not allowed"
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
        context = tls_context(ca_bundle)
        async with self._answered(url, headers, body, seconds, context) as response:
            content = bytearray()
            async for chunk in response.content.iter_chunked(1 << 16):
                content += chunk
                if len(content) > MAX_ANSWER_BYTES:
                    response.close()
                    raise RequestFailed(f"the answer has more than {MAX_ANSWER_BYTES >> 20} MiB")
            return Answer(response.status, bytes(content))

    async def send(self, url: str, *, headers: Mapping[str, str], body: bytes, seconds: float) -> int:
        """Send a POST request, and return the status of its answer, of which nothing else is read.

        Raises RequestFailed, which names no part of the URL: all of it may be secret.
        """
        async with self._answered(url, headers, body, seconds, secret=True) as response:
            response.close()
            return response.status

    @contextlib.asynccontextmanager
    async def _answered(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        seconds: float,
        context: ssl.SSLContext | None = None,
        *,
        secret: bool = False,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to a request. Messages contain nothing of a URL that is ``secret``."""
        try:
            where = "{}://{}:{}".format(*origin(url))
        except ValueError:
            raise RequestFailed("the URL is invalid", permanent=True) from None
        if secret:
            where = "the server"
        refuse_link_local(urlsplit(url).hostname or "", where)
        try:
            async with (
                asyncio.timeout(seconds),
                self._opened().post(
                    url, data=body, headers=dict(headers), ssl=context or True, allow_redirects=False
                ) as response,
            ):
                yield response
        except TimeoutError:
            raise RequestFailed(f"{where} did not answer within {seconds:g} seconds") from None
        except aiohttp.InvalidURL:
            raise RequestFailed("the URL is invalid", permanent=True) from None
        except aiohttp.ClientConnectorCertificateError:
            hint = "" if secret else "; set caBundle"
            raise RequestFailed(f"the certificate of {where} is not trusted{hint}") from None
        except aiohttp.ClientConnectorError as error:
            # The texts of the system may contain the address.
            system = type(error.os_error).__name__ if secret else error.os_error.strerror
            reason = NOT_ALLOWED if isinstance(error.os_error, _RefusedAddressError) else system
            raise RequestFailed(f"{where} cannot be reached: {reason or type(error.os_error).__name__}") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise RequestFailed(f"the request to {where} failed: {type(error).__name__}") from None

    def _opened(self) -> aiohttp.ClientSession:
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
        return self._session


class _RefusedAddressError(OSError):
    """The addresses of a name may not be used."""


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
            raise _RefusedAddressError(None, NOT_ALLOWED)
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
