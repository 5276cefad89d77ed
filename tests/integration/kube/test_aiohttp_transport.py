"""The transport over real sockets and TLS: what it carries, and in which words it says that it could not."""

import asyncio
import contextlib
import datetime as dt
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from uniteddeployment.kube import credentials, requests
from uniteddeployment.kube import transport as transport_module
from uniteddeployment.kube.cache import Cache
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import ApiError, NotIdentified, NotLeading, Unreachable
from uniteddeployment.kube.meta import ObjectMeta, PartialObject
from uniteddeployment.kube.reflector import Reflector
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import PODS
from uniteddeployment.kube.transport import AiohttpTransport

SECRET = "s3cr3t-t0ken"
GET = requests.get(PODS, "a", "ns")
PROBE = replace(GET, verb="probe")
WRITE = replace(requests.delete(PODS, "a", "ns"), identified=True)
WATCH = requests.watch(PODS, "ns")


class Authority:
    """A certificate authority of the kind that Kubernetes' tools make."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
        self.certificate = self._sign(self.name, self.key, ca=True)

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, name: str) -> tuple[bytes, bytes]:
        """A certificate for a name, also good for the loopback address, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = self._sign(subject, key, ca=False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return made.public_bytes(serialization.Encoding.PEM), private

    def _sign(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, ca: bool) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        names: list[x509.GeneralName] = [
            x509.DNSName("kubernetes"),
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        ]
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self.key, hashes.SHA256())
        )


class Server:
    """An HTTPS server that remembers requests and answers as the test wants."""

    def __init__(self, authority: Authority, folder: Path) -> None:
        self.seen: list[web.Request] = []
        self.bodies: list[bytes] = []
        self.tokens = {SECRET}
        self.peers: list[object] = []
        self.release = asyncio.Event()
        self.authority = authority
        cert, key = authority.issue("server")
        (folder / "server.pem").write_bytes(cert + key)
        (folder / "ca.pem").write_bytes(authority.pem)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(folder / "server.pem")
        self.context.load_verify_locations(folder / "ca.pem")
        self.context.verify_mode = ssl.CERT_OPTIONAL
        self.url = ""

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator["Server"]:
        runner = web.ServerRunner(web.Server(self.handle), shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self.context)
        await site.start()
        self.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            self.release.set()
            await runner.cleanup()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.seen.append(request)  # type: ignore[arg-type]  # only what both have is used
        self.bodies.append(await request.read())
        self.peers.append(request.get_extra_info("peercert"))
        if request.headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            return web.json_response({"kind": "Status", "code": 401, "reason": "Unauthorized"}, status=401)
        match request.path.rsplit("/", 1)[1]:
            case "redirect":
                return web.Response(status=302, headers={"location": "https://example.com/"})
            case "slow":
                await self.release.wait()
            case "cut":
                assert request.transport is not None
                request.transport.abort()
            case "pods":
                return await self.watch(request)
        return web.json_response({"metadata": {"name": "a", "resourceVersion": "5"}})

    async def watch(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"ns"')
        await response.write(
            b',"resourceVersion":"1"}}}\n{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"2",'
            b'"annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
        )
        await self.release.wait()
        if "abort" in request.query.get("labelSelector", ""):
            assert request.transport is not None
            request.transport.abort()
        return response


@pytest.fixture
def authority() -> Authority:
    return Authority()


@pytest.fixture
async def server(authority: Authority, tmp_path: Path) -> AsyncIterator[Server]:
    async with Server(authority, tmp_path).serving() as running:
        yield running


@contextlib.asynccontextmanager
async def transport_to(connection: credentials.Connection) -> AsyncIterator[AiohttpTransport]:
    transport = AiohttpTransport(connection, connect_timeout=2)
    try:
        yield transport
    finally:
        await transport.close()


def connection_to(server: Server, **options: object) -> credentials.Connection:
    values: dict[str, object] = {"ca": server.authority.pem, "token": SECRET, "name": "member-1"} | options
    return credentials.from_values(server.url, **values)  # type: ignore[arg-type]  # the test's own mix


async def test_a_request_arrives_as_it_was_built(server: Server) -> None:
    patch = requests.patch(
        PODS, "a:b", {"x": 1}, "ns", patch_type=requests.PatchType.APPLY, field_manager="a b&c", force=True
    )
    async with transport_to(connection_to(server)) as transport:
        answer = await transport.send(patch, timeout=5)
    assert (answer.status, answer.body) == (200, b'{"metadata": {"name": "a", "resourceVersion": "5"}}')
    (seen,) = server.seen
    assert (seen.method, seen.path) == ("PATCH", "/api/v1/namespaces/ns/pods/a:b")
    assert dict(seen.query) == {"fieldManager": "a b&c", "force": "true"}
    assert seen.headers["content-type"] == "application/apply-patch+yaml"
    assert seen.headers["authorization"] == f"Bearer {SECRET}"
    assert server.bodies == [b'{"x":1}']


async def test_a_guarded_connection_sends_nothing_once_the_guard_objects(server: Server) -> None:
    """I1: a request waits in buffers on its way out; a process can be frozen meanwhile and must not send it then."""
    leading = True

    def guard() -> None:
        if not leading:
            raise NotLeading("too late")

    transport = AiohttpTransport(connection_to(server), connect_timeout=2, guard=guard)
    try:
        leading = False
        with pytest.raises(NotLeading):  # over a new connection
            await transport.send(requests.delete(PODS, "a", "ns"), timeout=5)
        leading = True
        assert (await transport.send(GET, timeout=5)).status == 200
        leading = False
        with pytest.raises(NotLeading):  # over a kept one
            await transport.send(requests.delete(PODS, "a", "ns"), timeout=5)
        leading = True
        assert (await transport.send(GET, timeout=5)).status == 200
    finally:
        await transport.close()
    assert [seen.method for seen in server.seen] == ["GET", "GET"]


@pytest.mark.parametrize("send", [lambda one: one.send(b"x"), lambda one: one.sendmsg([b"x", b"y"])])
def test_every_way_to_send_asks_the_guard(send: Callable[[socket.socket], int]) -> None:
    """I1: event loops send what the network could not take at once in another way."""

    def guard() -> None:
        raise NotLeading("too late")

    address = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 1))
    with (
        transport_module._socket(address, guard=guard) as made,
        pytest.raises(ConnectionAbortedError, match="too late"),
    ):
        send(made)


async def test_a_connection_that_breaks_while_the_guard_is_content_is_no_more_than_that(server: Server) -> None:
    transport = AiohttpTransport(connection_to(server), guard=lambda: None)
    try:
        with pytest.raises(Unreachable, match="closed the connection"):
            await transport.send(Request("POST", "/x/cut"), timeout=5)
    finally:
        await transport.close()


async def test_a_server_may_live_under_a_path(server: Server) -> None:
    """As behind proxies that serve many clusters under one name."""
    connection = credentials.from_values(f"{server.url}/k8s/clusters/c-1/", ca=server.authority.pem, token=SECRET)
    async with transport_to(connection) as transport:
        assert (await transport.send(GET, timeout=5)).status == 200
    assert server.seen[0].path == "/k8s/clusters/c-1/api/v1/namespaces/ns/pods/a"


async def test_a_client_certificate_is_shown_and_connections_are_reused(server: Server) -> None:
    cert, key = server.authority.issue("admin")
    connection = connection_to(server, client_cert=cert, client_key=key)
    async with transport_to(connection) as transport:
        for _ in range(3):
            await transport.send(GET, timeout=5)
    assert all(peer and "admin" in str(peer) for peer in server.peers)
    assert len({id(seen.transport) for seen in server.seen}) == 1


def connections_of(server: Server, *methods: str) -> set[int]:
    """The connections that requests of these methods came over."""
    return {id(seen.transport) for seen in server.seen if seen.method in methods}


async def test_a_write_that_asks_for_it_takes_the_connection_whose_server_was_identified(server: Server) -> None:
    """I14: nothing is sent over a new connection, and a watch does not take the one of the last probe."""
    async with transport_to(connection_to(server)) as transport:
        await transport.send(GET, timeout=5)
        with pytest.raises(NotIdentified, match="member-1: the connection is new"):
            await transport.send(WRITE, timeout=5)
        with pytest.raises(NotIdentified):
            await transport.send(WRITE, timeout=5)
        answer = await transport.send(PROBE, timeout=5)
        with pytest.raises(NotIdentified):
            await transport.send(WRITE, timeout=5)
        assert [seen.method for seen in server.seen] == ["GET", "GET"]
        answer.identified()
        async with transport.stream(WATCH, timeout=5):
            for _ in range(2):
                assert (await transport.send(WRITE, timeout=5)).status == 200
        assert len(connections_of(server, "DELETE")) == 1


async def test_a_write_is_not_repeated_over_a_new_connection(server: Server) -> None:
    """I14: aiohttp repeats a DELETE if the connection breaks, which another server may then answer."""
    async with transport_to(connection_to(server)) as transport:
        (await transport.send(PROBE, timeout=5)).identified()
        assert (await transport.send(WRITE, timeout=5)).status == 200
        with pytest.raises(NotIdentified):
            await transport.send(replace(WRITE, path="/cut"), timeout=5)
        assert [seen.method for seen in server.seen] == ["GET", "DELETE", "DELETE"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"ca": None}, "TLS: self-signed certificate in certificate chain|TLS: unable to get local issuer certificate"),
        ({"ca": b"junk"}, "the CA bundle holds no readable PEM certificate"),
    ],
)
async def test_a_server_that_cannot_be_trusted_is_unreachable(
    server: Server, options: dict[str, object], why: str
) -> None:
    """I12: the token never goes to a server that was not verified, and is in no error."""
    async with transport_to(connection_to(server, **options)) as transport:
        with pytest.raises(Unreachable, match=why) as caught:
            await transport.send(GET, timeout=5)
    assert str(caught.value).startswith("member-1: ")
    assert SECRET not in str(caught.value)
    assert server.seen == []


async def test_insecure_checks_nothing_and_a_server_name_checks_another(server: Server) -> None:
    async with transport_to(connection_to(server, ca=None, insecure=True)) as transport:
        assert (await transport.send(GET, timeout=5)).status == 200
    for name, good in (("kubernetes", True), ("elsewhere", False)):
        connection = credentials.Connection(
            server.url, ca=server.authority.pem, tokens=credentials.StaticToken(SECRET), tls_server_name=name
        )
        async with transport_to(connection) as transport:
            if good:
                assert (await transport.send(GET, timeout=5)).status == 200
            else:
                with pytest.raises(Unreachable, match="TLS: Hostname mismatch"):
                    await transport.send(GET, timeout=5)


class Renewing:
    """Gives old tokens until they are refused."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)

    async def token(self, *, refused: str | None = None) -> str:
        if refused == self.tokens[0] and len(self.tokens) > 1:
            self.tokens.pop(0)
        return self.tokens[0]


async def test_a_refused_token_is_renewed_once(server: Server) -> None:
    async with transport_to(connection_to(server, token=Renewing("expired", SECRET))) as transport:
        assert (await transport.send(GET, timeout=5)).status == 200
        assert len(server.seen) == 2
    async with transport_to(connection_to(server, token=Renewing("one", "two", "three"))) as transport:
        assert (await transport.send(GET, timeout=5)).status == 401
        assert len(server.seen) == 4
    async with transport_to(connection_to(server, token="wrong")) as transport:
        assert (await transport.send(GET, timeout=5)).status == 401
        assert len(server.seen) == 5


class Hanging:
    """A program that never gives its token."""

    async def token(self, *, refused: str | None = None) -> str:
        await asyncio.Event().wait()
        return "never"


async def test_waiting_for_a_token_counts_into_the_time_of_the_request(server: Server) -> None:
    """I10: a credential plugin that hangs is a server that does not answer."""
    async with transport_to(connection_to(server, token=Hanging())) as transport:
        with pytest.raises(Unreachable, match=r"no answer within 0\.05 s"):
            await transport.send(GET, timeout=0.05)


async def test_no_token_follows_a_redirect(server: Server) -> None:
    """I12."""
    async with transport_to(connection_to(server)) as transport:
        with pytest.raises(ApiError) as caught:
            await Client(transport, "x").send(Request("GET", "/redirect"))
    assert caught.value.status == 302
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("path", "timeout", "why"),
    [("/slow", 0.2, "no answer within 0.2 s"), ("/cut", 5.0, "the server closed the connection")],
)
async def test_no_answer_is_unreachable_with_the_reason(server: Server, path: str, timeout: float, why: str) -> None:  # noqa: ASYNC109  # a parameter of the test
    async with transport_to(connection_to(server)) as transport:
        with pytest.raises(Unreachable) as caught:
            await transport.send(Request("GET", path), timeout=timeout)
        assert caught.value.why == why
        if path == "/slow":
            with pytest.raises(Unreachable, match=why):
                async with transport.stream(Request("GET", path), timeout=timeout):
                    pass


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://127.0.0.1:{port}", r"cannot connect to 127.0.0.1:\d+: connection refused$"),
        ("http://[::1]:{port}", r"cannot connect to ::1:\d+: connection refused$"),
        ("https://no-such-host.invalid", "no such host: no-such-host.invalid"),
    ],
)
async def test_no_server_is_unreachable_with_the_reason(url: str, why: str) -> None:
    with socket.socket() as reserved:  # bound but not listening, so that nobody else answers there
        reserved.bind(("127.0.0.1", 0))
        connection = credentials.from_values(url.format(port=reserved.getsockname()[1]), token=SECRET)
        async with transport_to(connection) as transport:
            with pytest.raises(Unreachable, match=why) as caught:
                await transport.send(GET, timeout=5)
    assert SECRET not in str(caught.value)


async def test_a_server_that_does_not_take_the_connection_is_given_the_time_that_was_waited() -> None:
    """That is less than the time for the whole request. The kernel accepts, and nobody begins with TLS."""
    with socket.socket() as frozen:
        frozen.bind(("127.0.0.1", 0))
        frozen.listen()
        connection = credentials.from_values(f"https://127.0.0.1:{frozen.getsockname()[1]}")
        transport = AiohttpTransport(connection, connect_timeout=0.05)
        try:
            with pytest.raises(Unreachable, match=r"no answer within 0\.05 s$"):
                await transport.send(GET, timeout=5)
        finally:
            await transport.close()


async def test_a_server_that_speaks_no_tls_is_unreachable() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    plain = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with plain:
        port = plain.sockets[0].getsockname()[1]
        async with transport_to(credentials.from_values(f"https://127.0.0.1:{port}")) as transport:
            with pytest.raises(Unreachable, match="does not speak TLS"):
                await transport.send(GET, timeout=5)


async def test_a_closed_transport_says_so(server: Server) -> None:
    transport = AiohttpTransport(connection_to(server))
    await transport.close()
    with pytest.raises(Unreachable, match="was closed"):
        await transport.send(GET, timeout=5)


@pytest.mark.parametrize("abort", [False, True])
async def test_a_watch_comes_as_it_is_sent_and_ends_as_it_ends(server: Server, abort: bool) -> None:
    async with transport_to(connection_to(server)) as transport:
        watch = requests.watch(PODS, label_selector="abort" if abort else None)
        async with transport.stream(watch, timeout=5) as stream:
            assert stream.status == 200
            got = b""
            while got.count(b"\n") < 2:
                got += await anext(stream.chunks)
            server.release.set()
            if abort:
                with pytest.raises(Unreachable, match=r"the server closed the connection|the answer ended early"):
                    await anext(stream.chunks)
            else:
                assert await anext(stream.chunks, None) is None


async def test_a_reflector_over_tls_fills_its_copy_and_lets_go(server: Server) -> None:
    async with transport_to(connection_to(server)) as transport:
        reflector = Reflector(Client(transport, "x"), PODS, PartialObject, Cache())
        task = asyncio.create_task(reflector.run())
        async with asyncio.timeout(10):
            await reflector.synced.wait()
        assert reflector.cache.objects["ns", "a"].metadata == ObjectMeta(name="a", namespace="ns", resource_version="1")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not reflector.connected
