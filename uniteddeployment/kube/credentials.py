"""``Connection``: the address of one API server with credentials, and the ways to get one.

A ``Connection`` is complete: only token providers read files or the environment after it was made. No ``repr`` and no
error contains a secret (I12).
"""

import base64
import contextlib
import ipaddress
import os
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from yarl import URL

from uniteddeployment.kube import bounded_yaml
from uniteddeployment.text import shortened

MAX_SECRET_BYTES = 256 << 10
"""The largest kubeconfig in a Secret. With one cluster and one user, it has a few KiB."""
_LONGEST_URL = 2048
_LONGEST_NAME, _LONGEST_LABEL = 253, 63
_LONGEST_TOKEN = 16384
_NOT_IN_HOSTS = frozenset(" /?#@\\%<>\"'`{}|^")
_EXAMPLE = "must be a URL such as https://host:6443"


class CredentialsError(Exception):
    """Why credentials cannot be used, in one line."""


class TokenProvider(Protocol):
    """Provides bearer tokens, which may change with time."""

    async def token(self, *, refused: str | None = None) -> str:
        """A token that should work. ``refused`` is a token that the server has just refused."""
        ...


@dataclass(frozen=True, slots=True)
class StaticToken:
    """A token that never changes."""

    value: str = field(repr=False)

    async def token(self, *, refused: str | None = None) -> str:  # noqa: ARG002  # there is no other to give
        return self.value


@dataclass(frozen=True, slots=True)
class Connection:
    """One API server and the credentials for it.

    ``ca`` has PEM certificates; without them, those of the system are trusted. ``insecure`` skips the verification of
    certificates. Messages call the server ``name``.
    """

    server: str
    ca: bytes | None = field(default=None, repr=False)
    tokens: TokenProvider | None = field(default=None, repr=False)
    client_cert: bytes | None = field(default=None, repr=False)
    client_key: bytes | None = field(default=None, repr=False)
    insecure: bool = False
    tls_server_name: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        address = _address(self.server)
        if self.tls_server_name is not None:
            _check_host(self.tls_server_name, "the TLS server name")
        if (self.client_cert is None) != (self.client_key is None):
            raise CredentialsError("a client certificate and its key only work together")
        if not self.name:
            object.__setattr__(self, "name", address)

    def tls_context(self) -> ssl.SSLContext | None:
        """The TLS settings; ``None`` for a plain HTTP server."""
        if not self.server.startswith("https:"):
            return None
        if self.ca is None:
            context = ssl.create_default_context()
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            try:
                context.load_verify_locations(cadata=self.ca.decode("ascii"))
            except (ssl.SSLError, ValueError):
                raise CredentialsError(f"{self.name}: the CA bundle holds no readable PEM certificate") from None
        # Python 3.13 and later may require extensions that the certificate authority of a kubeadm cluster lacks.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.client_cert is not None and self.client_key is not None:
            try:
                with as_file(self.client_cert + b"\n" + self.client_key) as path:
                    # Without a password argument, OpenSSL would prompt for one on the terminal.
                    context.load_cert_chain(path, password="")
            except (ssl.SSLError, ValueError):
                raise CredentialsError(f"{self.name}: the client certificate and key do not load") from None
        return context


def from_values(
    server: str,
    *,
    ca: bytes | None = None,
    token: str | TokenProvider | None = None,
    client_cert: bytes | None = None,
    client_key: bytes | None = None,
    insecure: bool = False,
    name: str = "",
) -> Connection:
    """A connection from plain values, as a Cluster object and its Secret have them."""
    tokens = StaticToken(clean_token(token)) if isinstance(token, str) else token
    return Connection(
        server, ca=ca, tokens=tokens, client_cert=client_cert, client_key=client_key, insecure=insecure, name=name
    )


_FILES = {
    "certificate-authority": "certificate-authority-data",
    "client-certificate": "client-certificate-data",
    "client-key": "client-key-data",
    "tokenFile": "token",
}


def from_kubeconfig_bytes(data: bytes, *, context: str | None = None, name: str = "") -> Connection:
    """A connection from an untrusted kubeconfig, such as one in a Secret.

    The right to write the Secret must not include the right to run programs or to read files where the controller runs.
    So exec plugins, auth providers and references to files are refused.
    """
    document = parse_kubeconfig(data, "the kubeconfig", trusted=False)
    cluster, user, chosen = pick_context(document, context, "the kubeconfig")
    for key in ("exec", "auth-provider"):
        if user.get(key):
            raise CredentialsError(
                f"the kubeconfig's user has {key!r}: a kubeconfig in a Secret must not run programs; put a token or a "
                "client certificate into it"
            )
    for key, instead in _FILES.items():
        if cluster.get(key) or user.get(key):
            raise CredentialsError(
                f"the kubeconfig has {key!r}: a kubeconfig in a Secret must not read files; put {instead!r} into it"
            )
    if user.get("username") or user.get("password"):
        raise CredentialsError("the kubeconfig has a user name and a password, which Kubernetes no longer supports")
    if cluster.get("proxy-url"):
        raise CredentialsError("the kubeconfig has 'proxy-url', which is not supported")
    token = text(user, "token")
    return Connection(
        text(cluster, "server"),
        ca=decoded(cluster, "certificate-authority-data"),
        tokens=StaticToken(clean_token(token)) if token else None,
        client_cert=decoded(user, "client-certificate-data"),
        client_key=decoded(user, "client-key-data"),
        insecure=is_insecure(cluster),
        tls_server_name=text(cluster, "tls-server-name") or None,
        name=name or chosen,
    )


def parse_kubeconfig(data: bytes, what: str, *, trusted: bool) -> dict[str, Any]:
    """The kubeconfig as a mapping. Errors omit the parser's message, since it quotes lines, which may have secrets.

    Unless it is ``trusted``, it has bounds, so that no Secret can stop this process.
    """
    try:
        document = bounded_yaml.load_trusted(data) if trusted else bounded_yaml.load(data, max_bytes=MAX_SECRET_BYTES)
    except bounded_yaml.BoundsError as error:
        raise CredentialsError(f"{what} {error}") from None
    if not isinstance(document, dict):
        raise CredentialsError(f"{what} is empty or not a kubeconfig")
    return document


def pick_context(
    document: Mapping[str, Any], context: str | None, what: str
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """The cluster, the user and the name of a context; by default the current one."""
    chosen = context or text(document, "current-context", what)
    if not chosen:
        raise CredentialsError(f"{what} has no current-context, and no context was named")
    entry = _named(document, "contexts", chosen, "context", what)
    cluster_name = text(entry, "cluster", what)
    if not cluster_name:
        raise CredentialsError(f"the context {_quoted(chosen)} of {what} names no cluster")
    cluster = _named(document, "clusters", cluster_name, "cluster", what)
    if not cluster.get("server"):
        raise CredentialsError(f"the cluster {_quoted(cluster_name)} of {what} has no server")
    user_name = text(entry, "user", what)
    user = _named(document, "users", user_name, "user", what) if user_name else {}
    return cluster, user, chosen


def _named(document: Mapping[str, Any], section: str, name: str, key: str, what: str) -> dict[str, Any]:
    entries = document.get(section) or []
    if not isinstance(entries, list):
        raise CredentialsError(f"{section!r} of {what} is not a list")
    for entry in entries:
        if isinstance(entry, dict) and entry.get("name") == name:
            value = entry.get(key) or {}
            if not isinstance(value, dict):
                raise CredentialsError(f"the {key} {_quoted(name)} of {what} is not an object")
            return value
    raise CredentialsError(f"{what} has no {key} {_quoted(name)}")


def _quoted(name: str) -> str:
    return repr(shortened(name, _LONGEST_NAME))


def text(section: Mapping[str, Any], key: str, what: str = "the kubeconfig") -> str:
    """A field of type string; empty if it is missing. A number without quotes is refused, as in kubectl."""
    value = section.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise CredentialsError(f"{key!r} of {what} must be a string: put quotes around it")
    return value


def is_insecure(cluster: Mapping[str, Any]) -> bool:
    """Whether a kubeconfig turns the verification of the server's certificate off."""
    value = cluster.get("insecure-skip-tls-verify")
    if value is not None and not isinstance(value, bool):
        raise CredentialsError("'insecure-skip-tls-verify' of the kubeconfig must be true or false")
    return value is True


def decoded(section: Mapping[str, Any], key: str) -> bytes | None:
    """The bytes of a base64 field; ``None`` if it is missing."""
    value = text(section, key)
    if not value:
        return None
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        raise CredentialsError(f"{key!r} of the kubeconfig is not base64") from None


def clean_token(token: str) -> str:
    """The token without the line break that editors add. Raises CredentialsError if it cannot be sent."""
    clean = token.strip()
    if not clean:
        raise CredentialsError("the token is empty")
    if len(clean) > _LONGEST_TOKEN:
        raise CredentialsError(f"the token is longer than {_LONGEST_TOKEN} characters")
    if any(character.isspace() for character in clean):
        raise CredentialsError("the token contains a space or a line break: copy it in one piece")
    if not clean.isascii() or not clean.isprintable():
        raise CredentialsError("the token contains characters other than printable ASCII")
    return clean


def _address(server: str) -> str:
    """Host and port of the URL of an API server. Raises CredentialsError."""
    if not server:
        raise CredentialsError("the address of the API server is missing")
    if len(server) > _LONGEST_URL or not server.isascii() or not server.isprintable() or " " in server:
        raise CredentialsError("the address of the API server is too long, or contains characters that no URL can have")
    try:
        parts = urlsplit(server)
        host, _ = parts.hostname, parts.port
        URL(server)
    except (ValueError, IndexError):  # yarl indexes into an empty host, as in http://[]@
        raise CredentialsError(f"the address of the API server {_EXAMPLE}") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise CredentialsError(f"the address of the API server {_EXAMPLE}")
    if parts.username is not None or parts.password is not None:
        raise CredentialsError("the address of the API server must not contain a user or a password")
    _check_host(host, "the host in the address of the API server")
    return parts.netloc


def _check_host(host: str, what: str) -> None:
    """Refuse names that cannot be resolved, since some libraries fail on them with unexpected errors."""
    if ":" in host and not _is_ipv6(host):
        raise CredentialsError(f"{what} is not an IPv6 address")
    labels = host.removesuffix(".").split(".")
    if len(host) > _LONGEST_NAME or not all(0 < len(label) <= _LONGEST_LABEL for label in labels if ":" not in host):
        raise CredentialsError(f"{what} is longer than a DNS name can be, or has an empty part")
    if not host.isascii() or not host.isprintable() or set(host) & _NOT_IN_HOSTS:
        raise CredentialsError(f"{what} contains characters that a host name cannot have")


def _is_ipv6(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True


@contextlib.contextmanager
def as_file(content: bytes) -> Iterator[str]:
    """A path with this content, since OpenSSL reads keys from paths only. In memory if the system supports it."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "pem")
            path.touch(mode=0o600)
            path.write_bytes(content)
            yield str(path)
