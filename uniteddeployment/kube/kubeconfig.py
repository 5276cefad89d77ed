"""Connections from kubeconfig files and from inside a pod, for this process's own credentials.

The official client runs exec plugins and auth providers. It is imported only if there is one to run, since that costs
300 ms and 50 MB. Its loader is not used for the rest, since it leaves private keys in temporary files.
"""

import asyncio
import importlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from uniteddeployment.kube.credentials import (
    Connection,
    CredentialsError,
    StaticToken,
    TokenProvider,
    clean_token,
    decoded,
    is_insecure,
    parse_kubeconfig,
    pick_context,
    text,
)

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The folder with the token, the CA certificate and the namespace of a pod."""
_REREAD_SECONDS = 60.0
_BEFORE_EXPIRY = 60.0


def load(path: str | Path | None = None, context: str | None = None, *, name: str = "") -> Connection:
    """The connection of a context of a kubeconfig.

    Without ``path``: ``$KUBECONFIG`` (several files are merged; the first value wins), ``~/.kube/config``, or the
    service account of the pod. An exec plugin is run once here, so that a failure shows at once; this blocks.
    """
    files = _files(path)
    if not files:
        return in_cluster(name=name)
    document, bases = _merged(files)
    what = str(files[0]) if len(files) == 1 else "$KUBECONFIG"
    cluster, user, chosen = pick_context(document, context, what)
    if cluster.get("proxy-url"):
        raise CredentialsError(f"the context {chosen!r} of {what} has 'proxy-url', which is not supported")
    base = bases["clusters", str(_entry(document, chosen).get("cluster"))]
    user_base = bases.get(("users", str(_entry(document, chosen).get("user"))), base)
    credentials = _user(user, user_base, cluster, what)
    return Connection(
        text(cluster, "server", what),
        ca=_bytes(cluster, "certificate-authority", base),
        tokens=credentials.tokens,
        client_cert=credentials.cert,
        client_key=credentials.key,
        insecure=is_insecure(cluster),
        tls_server_name=text(cluster, "tls-server-name", what) or None,
        name=name or chosen,
    )


def namespace(path: str | Path | None = None, context: str | None = None) -> str:
    """The namespace to use by default: that of a kubeconfig's context, or that of the pod, or ``default``.

    In a pod, the environment variable ``POD_NAMESPACE`` goes first.
    """
    files = _files(path)
    if not files:
        return os.environ.get("POD_NAMESPACE") or _namespace_of_the_pod() or "default"
    document, _ = _merged(files)
    _, _, chosen = pick_context(document, context, str(files[0]))
    return text(_entry(document, chosen), "namespace") or "default"


def _namespace_of_the_pod() -> str:
    try:
        return (SERVICE_ACCOUNT / "namespace").read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def in_cluster(*, name: str = "") -> Connection:
    """The connection of the pod's service account. Its token is read again when it is renewed."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise CredentialsError("no kubeconfig: give one, set KUBECONFIG, or run in a pod of the cluster")
    ca, token = SERVICE_ACCOUNT / "ca.crt", SERVICE_ACCOUNT / "token"
    if ":" in host:
        host = f"[{host}]"
    tokens = FileToken(token)
    tokens.read()
    return Connection(f"https://{host}:{port}", ca=_read(ca), tokens=tokens, name=name or "in-cluster")


class FileToken:
    """A token in a file that is renewed, as by a kubelet; it is read again every minute."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._token = ""
        self._read_at = 0.0

    def read(self) -> str:
        """Read the file now."""
        self._token = clean_token(_read(self._path).decode("utf-8", "replace"))
        self._read_at = self._clock()
        return self._token

    async def token(self, *, refused: str | None = None) -> str:
        if not self._token or refused == self._token or self._clock() - self._read_at > _REREAD_SECONDS:
            return await asyncio.to_thread(self.read)
        return self._token


@dataclass(frozen=True, slots=True)
class Credential:
    """The output of a plugin: a token or a client certificate, and its expiry in seconds since 1970."""

    token: str = ""
    cert: bytes | None = None
    key: bytes | None = None
    expires: float | None = None


class PluginToken:
    """Tokens from a program. It runs again, in a thread, before the token expires and when the server refuses it."""

    def __init__(
        self, run: Callable[[], Credential], first: Credential, clock: Callable[[], float] = time.time
    ) -> None:
        self._run = run
        self._now = first
        self._clock = clock
        self._lock = asyncio.Lock()

    async def token(self, *, refused: str | None = None) -> str:
        if not self._stale(refused):
            return self._now.token
        async with self._lock:
            # Another task may have renewed the token while this one waited for the lock.
            if self._stale(refused):
                self._now = await asyncio.to_thread(self._run)
            return self._now.token

    def _stale(self, refused: str | None) -> bool:
        expires = self._now.expires
        return self._now.token == refused or (expires is not None and self._clock() > expires - _BEFORE_EXPIRY)


@dataclass(frozen=True, slots=True)
class _Credentials:
    tokens: TokenProvider | None = None
    cert: bytes | None = None
    key: bytes | None = None


def _user(user: Mapping[str, Any], base: Path, cluster: Mapping[str, Any], what: str) -> _Credentials:
    if user.get("username"):
        raise CredentialsError(f"{what} has a user name and a password, which Kubernetes no longer supports")
    cert, key = _bytes(user, "client-certificate", base), _bytes(user, "client-key", base)
    if user.get("token"):
        return _Credentials(StaticToken(clean_token(text(user, "token", what))), cert, key)
    if user.get("tokenFile"):
        tokens = FileToken(base / text(user, "tokenFile", what))
        tokens.read()
        return _Credentials(tokens, cert, key)
    run: Callable[[], Credential] | None = None
    if user.get("exec"):
        run = _exec_plugin(user["exec"], base, cluster)
    elif user.get("auth-provider"):
        run = _auth_provider(user["auth-provider"])
    if run is None:
        return _Credentials(None, cert, key)
    first = run()
    if first.token:
        return _Credentials(PluginToken(run, first), cert, key)
    return _Credentials(None, first.cert, first.key)


def _exec_plugin(settings: Mapping[str, Any], base: Path, cluster: Mapping[str, Any]) -> Callable[[], Credential]:
    """Return a function that runs an exec plugin. Errors do not quote its output: it may be a credential."""
    command = str(settings.get("command", "")) if isinstance(settings, dict) else ""
    if not command:
        raise CredentialsError("the kubeconfig's exec plugin has no command")

    def run() -> Credential:
        try:
            node = _official("kube_config").ConfigNode
            plugin = _official("exec_provider").ExecProvider
            status = plugin(node("exec", dict(settings)), str(base), node("cluster", dict(cluster))).run()
        except OSError as error:
            raise CredentialsError(f"the exec plugin {command!r} cannot be run: {error.strerror}") from None
        except _official().ConfigException as error:
            reason = str(error).split(".", maxsplit=1)[0].split("\n", maxsplit=1)[0].removeprefix("exec: ")
            raise CredentialsError(f"the exec plugin {command!r} failed: {reason}") from None
        return _from_plugin(status, command)

    return run


def _from_plugin(status: Mapping[str, Any], command: str) -> Credential:
    expires = status.get("expirationTimestamp")
    try:
        until = datetime.fromisoformat(str(expires)).timestamp() if expires else None
    except ValueError:
        raise CredentialsError(f"the exec plugin {command!r} returned an expiry that is not a time") from None
    if status.get("token"):
        return Credential(clean_token(str(status["token"])), expires=until)
    cert, key = status.get("clientCertificateData"), status.get("clientKeyData")
    if cert and key:
        return Credential(cert=str(cert).encode(), key=str(key).encode(), expires=until)
    raise CredentialsError(f"the exec plugin {command!r} returned neither a token nor a client certificate with key")


def _auth_provider(settings: Mapping[str, Any]) -> Callable[[], Credential]:
    """Return a function that runs a built-in auth provider (OIDC, GCP) of the official client."""

    def run() -> Credential:
        document = {
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
            "clusters": [{"name": "x", "cluster": {}}],
            "users": [{"name": "x", "user": {"auth-provider": dict(settings)}}],
        }
        target = importlib.import_module("kubernetes.client").Configuration()
        try:
            _official("kube_config").KubeConfigLoader(document).load_and_set(target)
        except _official().ConfigException:
            raise CredentialsError(f"the auth provider {settings.get('name')!r} returned no token") from None
        token = str((target.api_key or {}).get("BearerToken", "")).removeprefix("Bearer ")
        if not token:
            raise CredentialsError(f"the auth provider {settings.get('name')!r} returned no token")
        return Credential(clean_token(token))

    return run


def _official(module: str = "") -> Any:
    """A module of the official client's configuration, imported when it is needed; see this module's docstring."""
    return importlib.import_module(f"kubernetes.config.{module}".rstrip("."))


def _files(path: str | Path | None) -> list[Path]:
    """The kubeconfig files to read; none when only the service account is left."""
    if path is not None:
        named = Path(path).expanduser()
        if not named.is_file():
            raise CredentialsError(f"no such kubeconfig: {named}")
        return [named]
    listed = [Path(part).expanduser() for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if listed:
        existing = [file for file in listed if file.is_file()]
        if not existing:
            raise CredentialsError(f"no such kubeconfig: {listed[0]} (from $KUBECONFIG)")
        return existing
    try:
        usual = Path("~/.kube/config").expanduser()
    except RuntimeError:
        return []  # this user has no home folder
    return [usual] if usual.is_file() else []


def _merged(files: list[Path]) -> tuple[dict[str, Any], dict[tuple[str, str], Path]]:
    """All files merged into one document, and the folder to which the paths of each entry are relative."""
    document: dict[str, Any] = {"clusters": [], "users": [], "contexts": []}
    bases: dict[tuple[str, str], Path] = {}
    for file in files:
        part = parse_kubeconfig(_read(file), str(file), trusted=True)
        document.setdefault("current-context", part.get("current-context"))
        document["current-context"] = document["current-context"] or part.get("current-context")
        for section in ("clusters", "users", "contexts"):
            entries = part.get(section) or []
            if not isinstance(entries, list):
                raise CredentialsError(f"{section!r} of {file} is not a list")
            for entry in entries:
                if isinstance(entry, dict) and (section, str(entry.get("name"))) not in bases:
                    bases[section, str(entry.get("name"))] = file.parent
                    document[section].append(entry)
    return document, bases


def _entry(document: Mapping[str, Any], context: str) -> Mapping[str, Any]:
    return next(item["context"] for item in document["contexts"] if item.get("name") == context)


def _bytes(section: Mapping[str, Any], key: str, base: Path) -> bytes | None:
    """The data of a field, or the content of the file that it names; the data wins, as in kubectl."""
    data = decoded(section, f"{key}-data")
    if data is None and section.get(key):
        return _read(base / text(section, key))
    return data


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CredentialsError(f"cannot read {path}: {error.strerror}") from None
