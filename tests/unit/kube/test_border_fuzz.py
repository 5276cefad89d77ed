"""Whatever a Secret, a URL or a server contains, the outcome is a value or a typed error (I16). No other exception."""

import asyncio
import base64
import contextlib
import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from uniteddeployment.fleet import clusters
from uniteddeployment.fleet.clusters import ClusterMetadata, ClusterObject, ClusterSpec, Credentials, Secret, SecretRef
from uniteddeployment.kube import bounded_yaml, credentials, decoding, errors, requests
from uniteddeployment.kube.credentials import Connection, CredentialsError
from uniteddeployment.kube.decoding import DecodingError, decode, without_depth
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.resource import PODS
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment.kube.watch import MAX_LINE_BYTES, Bookmark, Changes, Failure, Undecodable, WatchDecoder
from uniteddeployment.planning.observed import Pod, Workload

FUZZ = settings(max_examples=2 * settings().max_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
GET = requests.get(PODS, "a", "ns")
DEEP = b"[" * 100_000

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.dates().map(str)
    | st.sampled_from(["s", "c", "u", "https://h", "https://[", "https://h:99999", "\ud800", "x" * 300, ""])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


def entries(section: str) -> Any:
    fields = ["server", "cluster", "user", "token", "certificate-authority-data", "client-key-data", "exec"]
    fields += ["tls-server-name", "insecure-skip-tls-verify", "client-certificate-data"]
    body = st.dictionaries(st.sampled_from(fields), values, max_size=5)
    entry = st.fixed_dictionaries({"name": scalars, section.removesuffix("s"): body | values})
    return st.lists(entry | values, max_size=2) | values


kubeconfigs = st.fixed_dictionaries(
    {"current-context": scalars},
    optional={section: entries(section) for section in ("contexts", "clusters", "users")},
)


@FUZZ
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b"[[[")
@example(b"a: &a [x]\nb: *a")
@example(b"? ? ? ?")
@example(b"a: 2024-13-45")
@example(b"!!timestamp x")
@example(b"!!python/object/apply:os.system [x]")
@example(b"a: " + b"9" * 5000)
@example(b"? {a: b}\n: c")
@example(b"\xff\xfea: b")
@example(b"a: .inf\nb: 0o9\nc: 1:99:99")
@example(b'"\\ud800": x')
def test_bytes_that_are_to_be_a_kubeconfig(data: bytes) -> None:
    with contextlib.suppress(CredentialsError):
        credentials.from_kubeconfig_bytes(data)


@FUZZ
@given(kubeconfigs)
def test_documents_that_are_to_be_a_kubeconfig(document: dict[str, Any]) -> None:
    for data in (json.dumps(document).encode(), yaml.safe_dump(document).encode("utf-8", "surrogatepass")):
        with contextlib.suppress(CredentialsError):
            connection = credentials.from_kubeconfig_bytes(data)
            with contextlib.suppress(CredentialsError):
                connection.tls_context()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: &a [x, x]\nb: &b [*a, *a]\n", r"an anchor or an alias \(line 1\)"),
        ("a: [x]\nb: *a\n", "an anchor or an alias"),
        ("[" * 5000, "nested deeper than 32 levels"),
        ("- " * 5000, "nested deeper than 32 levels"),
        ("{a: " * 5000, "nested deeper than 32 levels"),
        ("a: !!binary aGVsbG8=", "a tag"),
        ("[" + "x," * 30_000 + "]", "more than 20000 values"),
        ("x" * 300_000, "larger than 256 KiB"),
        ("a: " + "9" * 5000, "an unreadable value"),
    ],
    ids=["anchor", "alias", "lists", "list items", "maps", "tag", "values", "size", "number"],
)
def test_a_kubeconfig_in_a_secret_has_bounds(monkeypatch: pytest.MonkeyPatch, text: str, complaint: str) -> None:
    """No more of a document is read than the limits allow. Nine lines with aliases took two minutes and all memory."""
    read = 0

    def parse(*args: Any, **options: Any) -> Iterator[Any]:
        nonlocal read
        for event in yaml_parse(*args, **options):
            read += 1
            yield event

    yaml_parse = yaml.parse
    monkeypatch.setattr(yaml, "parse", parse)
    with pytest.raises(CredentialsError, match=complaint):
        credentials.from_kubeconfig_bytes(text.encode())
    assert read <= bounded_yaml.MAX_NODES + 2


def test_aliases_that_double_a_list_each_time_are_refused_before_they_are_followed() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    with pytest.raises(bounded_yaml.BoundsError, match="alias"):
        bounded_yaml.load("\n".join(lines).encode(), max_bytes=100_000)


def test_dates_and_words_are_the_text_that_they_are_written_as() -> None:
    found = bounded_yaml.load(b"a: 2024-01-01\nb: 2024-99-99\nc: yes\nd: ~\ne: 1.5\nf: 1\ng: '='", max_bytes=1000)
    expected = {"a": "2024-01-01", "b": "2024-99-99", "c": True, "d": None, "e": 1.5, "f": 1, "g": "="}
    assert found == expected


urls = st.text(max_size=40) | st.builds(
    lambda scheme, host, rest: f"{scheme}://{host}{rest}",
    st.sampled_from(["https", "http", "HTTPS", "ftp", ""]),
    st.text(max_size=12)
    | st.sampled_from(["h", "[", "[::1]", "[::1", "a" * 300, "a..b", ".", "127.0.0.1", "xn--", "%41"]),
    st.sampled_from(["", ":", ":0", ":99999", ":-1", ":x", "/", "/p?q#f", "\\", "@", "\x00"]) | st.text(max_size=5),
)


@FUZZ
@given(urls, st.none() | st.text(max_size=12) | st.sampled_from(["a" * 64, "a" * 300, "a.b", "*.x", "-"]))
@example("https://h:99999", None)
@example("https://[", None)
@example("https://[]@", None)
@example("https://" + "a" * 300, None)
@example("https://a..b", None)
@example("https://h", "a" * 64)
def test_addresses_of_servers(server: str, tls_name: str | None) -> None:
    try:
        connection = Connection(server, tls_server_name=tls_name, insecure=True)
    except CredentialsError:
        return
    asyncio.run(_sends_or_says_why(connection))


async def _sends_or_says_why(connection: Connection) -> None:
    async def nowhere(host: str, *_: object, **__: object) -> None:
        (host or "").encode("idna")  # as the real one does
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    async def refused(*_: object, **__: object) -> None:
        raise ConnectionRefusedError

    loop = asyncio.get_running_loop()
    loop.getaddrinfo, loop.sock_connect = nowhere, refused  # type: ignore[method-assign, assignment]
    transport = AiohttpTransport(connection)
    try:
        with pytest.raises(errors.Unreachable):
            await transport.send(GET, timeout=5)
    finally:
        await transport.close()


encoded = st.text(max_size=30) | st.binary(max_size=60).map(lambda data: base64.b64encode(data).decode())


@FUZZ
@given(
    st.dictionaries(st.sampled_from(["kubeconfig", "token", "tls.crt", "tls.key", "x"]), encoded, max_size=4),
    urls,
    encoded,
)
def test_secrets_and_clusters(data: dict[str, str], server: str, ca: str) -> None:
    cluster = ClusterObject(ClusterMetadata("a", "ns"), ClusterSpec(server=server, ca_bundle=ca))
    with contextlib.suppress(CredentialsError):
        connection = clusters._from_secret(cluster, Secret(data))
        with contextlib.suppress(CredentialsError):
            connection.tls_context()


@pytest.mark.parametrize(
    ("token", "complaint"),
    [
        (b"two\nlines", "a space or a line break"),
        (b" \n", "the token is empty"),
        (b"t\xc3\xb6ken", "other than printable ASCII"),
        (b"\xff\xfe", "other than printable ASCII"),
        (b"to\x00ken", "other than printable ASCII"),
    ],
)
def test_a_token_that_cannot_be_sent_is_refused_with_the_name_of_its_secret(token: bytes, complaint: str) -> None:
    spec = ClusterSpec(server="https://h", credentials=Credentials(SecretRef("a")))
    cluster = ClusterObject(ClusterMetadata("a", "ns"), spec)
    data = {"token": base64.b64encode(token).decode()}
    with pytest.raises(CredentialsError, match=f"Secret ns/a: .*{complaint}"):
        clusters._from_secret(cluster, Secret(data))


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it() -> None:
    """OpenSSL would ask on the terminal and stop the whole process meanwhile."""
    key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"password"),
    )
    connection = Connection("https://h", client_cert=b"x", client_key=key, insecure=True)
    with pytest.raises(CredentialsError, match="do not load"):
        connection.tls_context()


json_texts = values.map(lambda value: json.dumps(value).encode("utf-8", "surrogatepass"))
objects = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({}, optional={"name": scalars, "labels": values, "uid": scalars}) | values},
    optional={"spec": values, "status": values, "items": st.lists(values, max_size=2), "details": values},
).map(lambda value: json.dumps(value).encode("utf-8", "surrogatepass"))
bodies = st.binary(max_size=60) | json_texts | objects


@FUZZ
@given(bodies, st.integers(100, 599), st.dictionaries(st.sampled_from(["retry-after", "x"]), st.text(max_size=9)))
@example(DEEP, 200, {})
@example(b'{"metadata":' + DEEP, 200, {})
@example(b'{"items":[' + DEEP + b"]" * 100_000 + b"]}", 200, {})
@example(b'{"details":{"retryAfterSeconds":-1e300,"causes":[{"field":5}]}}', 429, {})
@example(b"", 503, {"retry-after": "9" * 5000})
@example(b"", 503, {"retry-after": "\u00b2"})
def test_answers(body: bytes, status: int, headers: dict[str, str]) -> None:
    for read in (
        lambda: requests.read(status, headers, body, Pod),
        lambda: requests.read(status, headers, body, Workload),
        lambda: requests.read(status, headers, body, PartialObject),
        lambda: requests.read_page(status, headers, body, Workload),
    ):
        with contextlib.suppress(errors.KubeError):
            read()
    error = requests.failure(status, headers, body)
    assert len(str(error)) <= 1024
    assert error.retry_after is None or error.retry_after >= 0
    assert all(isinstance(cause.field, str) for cause in error.causes)


events = st.builds(
    lambda kind, body: b'{"type":%s,"object":%s}' % (json.dumps(kind).encode(), body),
    st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "", "X"]) | scalars,
    objects
    | json_texts
    | st.sampled_from([DEEP, DEEP + b"]" * 100_000, b"", b"\xff", b'{"metadata":{"name":"\xff"}}']),
)


@FUZZ
@given(st.lists(events | st.binary(max_size=30), max_size=5), st.lists(st.integers(1, 40), max_size=20))
def test_watches(lines: list[bytes], cuts: list[int]) -> None:
    data = b"\n".join(lines) + b"\n"
    decoder = WatchDecoder(Workload)
    found: list[Any] = []
    for cut in cuts:
        found += decoder.feed(data[:cut])
        data = data[cut:]
    found += decoder.feed(data)
    assert all(isinstance(one, Changes | Bookmark | Undecodable | Failure) for one in found)
    assert decoder.kept_bytes == 0


@FUZZ
@given(st.lists(st.integers(0, 2), max_size=30), st.integers(1, 6))
def test_what_is_nested_too_deep_is_left_out_and_nothing_else(shape: list[int], depth: int) -> None:
    value: Any = 1
    for kind in shape:
        value = [value, 2] if kind == 0 else {'a"[{\\': value, "b": []} if kind == 1 else [[], value]

    def cut(one: Any, left: int) -> Any:
        if isinstance(one, list | dict) and not left:
            return None
        if isinstance(one, list):
            return [cut(item, left - 1) for item in one]
        return {key: cut(item, left - 1) for key, item in one.items()} if isinstance(one, dict) else one

    text = json.dumps(value).encode()
    assert json.loads(without_depth(text, depth)) == cut(value, depth)


@pytest.mark.parametrize("deep", [b"[" * 5000 + b"]" * 5000, b'{"a":' * 5000 + b"1" + b"}" * 5000])
def test_an_object_that_is_too_deep_can_still_be_named(deep: bytes) -> None:
    text = b'{"metadata":{"managedFields":%s,"name":"a","namespace":"ns"},"spec":%s}' % (deep, deep)
    assert decode(text, PartialObject).metadata.name == "a"
    assert decode(msgspec.Raw(text), PartialObject).metadata.namespace == "ns"
    line = b'{"type":"ADDED","object":%s}\n' % text
    (found,) = WatchDecoder(PartialObject).feed(line + line.replace(b'"a"', b'"b"'))
    assert isinstance(found, Changes)
    assert [event.object.metadata.name for event in found.events] == ["a", "b"], "nor does it hide its neighbour"


class CountedTokens:
    """The tokens of a text, and how many of them were read."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._pattern = pattern
        self.read = 0

    def finditer(self, data: bytes) -> Iterator[re.Match[bytes]]:
        for token in self._pattern.finditer(data):
            self.read += 1
            yield token


def test_what_is_deep_and_long_is_given_up_after_a_limited_number_of_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = CountedTokens(decoding._TOKEN)
    monkeypatch.setattr(decoding, "_TOKEN", tokens)
    with pytest.raises(DecodingError):
        decode(b'{"metadata":' + b'{"a":' * 100_000, PartialObject)
    assert 0 < tokens.read <= decoding._MOST_TOKENS + 2


@pytest.mark.parametrize("piece", [b"x", b"x" * 70_000])
def test_a_line_without_an_end_is_an_error_when_it_is_too_long(piece: bytes) -> None:
    decoder = WatchDecoder(PartialObject)
    data = piece * (MAX_LINE_BYTES // len(piece))
    assert decoder.feed(data[: MAX_LINE_BYTES - 10]) == []
    for _ in range(5):
        assert decoder.feed(b"x") == []
    (found,) = decoder.feed(b"x" * 70_000)
    assert isinstance(found, Failure)
    assert "more than 4 MiB" in str(found.error)
    assert decoder.kept_bytes == 0
