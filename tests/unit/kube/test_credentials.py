"""Credentials: what is accepted, what is refused in one line, and that no secret ever shows (I12)."""

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import yaml

from uniteddeployment.kube import credentials, kubeconfig
from uniteddeployment.kube.credentials import Connection, CredentialsError, StaticToken

SECRET = "s3cr3t-t0ken"


def document(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443"} if cluster is None else cluster}],
        "users": [{"name": "u", "user": {"token": SECRET} if user is None else user}],
    }


def from_text(text: str) -> Connection:
    return credentials.from_kubeconfig_bytes(text.encode())


def from_document(content: dict[str, Any], **options: Any) -> Connection:
    return credentials.from_kubeconfig_bytes(yaml.safe_dump(content).encode(), **options)


def token_of(connection: Connection, refused: str | None = None) -> str:
    assert connection.tokens is not None
    return asyncio.run(_token(connection.tokens, refused))


async def _token(tokens: credentials.TokenProvider, refused: str | None) -> str:
    return await tokens.token(refused=refused)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_kubeconfig_with_everything_in_it() -> None:
    cluster = {
        "server": "https://h:6443/",
        "certificate-authority-data": encoded("CA"),
        "tls-server-name": "kubernetes",
    }
    user = {"client-certificate-data": encoded("CERT"), "client-key-data": encoded("KEY"), "token": f"{SECRET}\n"}
    connection = from_document(document(cluster, user), name="member-1")
    assert (connection.server, connection.name) == ("https://h:6443/", "member-1")
    assert (connection.ca, connection.client_cert, connection.client_key) == (b"CA", b"CERT", b"KEY")
    assert connection.tls_server_name == "kubernetes"
    assert token_of(connection) == SECRET


def test_no_secret_shows_in_a_connection() -> None:
    """I12."""
    connection = credentials.from_values(
        "https://h:6443", token=SECRET, ca=b"CACACA", client_cert=b"CERTCERT", client_key=b"KEYKEY"
    )
    for text in (repr(connection), str(connection), repr(connection.tokens), repr(StaticToken(SECRET))):
        for secret in (SECRET, "CACACA", "CERTCERT", "KEYKEY"):
            assert secret not in text


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty or not a kubeconfig"),
        (b"just text", "is empty or not a kubeconfig"),
        (b"a: [1\ntoken: s3cr3t-t0ken: x", "is not YAML \\(line"),
        (b"\xff\xfe\x00", "is not YAML"),
        (b"contexts: []", "has no current-context"),
        (b"current-context: x\ncontexts: 7", "is not a list"),
        (b"current-context: s", "has no context 's'"),
        (b"current-context: s\ncontexts: [{name: s, context: {}}]", "names no cluster"),
        (b"current-context: s\ncontexts: [{name: s, context: {cluster: c}}]", "has no cluster 'c'"),
        (
            b"current-context: s\ncontexts: [{name: s, context: {cluster: c}}]\nclusters: [{name: c, cluster: {}}]",
            "has no server",
        ),
    ],
)
def test_what_is_no_kubeconfig_is_refused_in_one_line_without_quoting_it(content: bytes, complaint: str) -> None:
    """I11, I12."""
    with pytest.raises(CredentialsError, match=complaint) as caught:
        credentials.from_kubeconfig_bytes(content)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("cluster", "user", "complaint"),
    [
        ({}, {"exec": {"command": "rm", "args": ["-rf", SECRET]}}, "must not run programs"),
        ({}, {"auth-provider": {"name": "gcp", "config": {"cmd-path": SECRET}}}, "must not run programs"),
        ({}, {"tokenFile": "/etc/passwd"}, "must not read files"),
        ({}, {"client-certificate": "/x", "client-key": "/y"}, "must not read files"),
        ({"certificate-authority": "/x"}, {}, "must not read files"),
        ({}, {"username": "a", "password": SECRET}, "no longer supports"),
        ({"proxy-url": "http://evil"}, {}, "not supported"),
        ({"certificate-authority-data": "%%"}, {}, "not base64"),
        ({}, {"client-certificate-data": encoded("x")}, "only work together"),
        ({}, {"token": "two\nlines"}, "a space or a line break"),
        ({}, {"token": "two words"}, "a space or a line break"),
        ({}, {"token": " \n"}, "the token is empty"),
        ({}, {"token": "t\u00f6ken"}, "other than printable ASCII"),
        ({}, {"token": "to\u0000ken"}, "other than printable ASCII"),
        ({}, {"token": "x" * 20_000}, "longer than 16384"),
        ({}, {"token": 12345}, "'token' of the kubeconfig must be a string: put quotes around it"),
        ({}, {"client-certificate-data": [1], "client-key-data": {}}, "must be a string"),
        ({"server": 5}, {}, "'server' of the kubeconfig must be a string"),
        ({"tls-server-name": 5}, {}, "'tls-server-name' of the kubeconfig must be a string"),
        ({"server": "https://h", "tls-server-name": "a" * 300}, {}, "the TLS server name is longer than a DNS name"),
        ({"server": "https://h", "tls-server-name": "a b"}, {}, "the TLS server name contains characters"),
        ({"server": "https://h", "insecure-skip-tls-verify": "true"}, {}, "must be true or false"),
        ({"server": "https://h:99999"}, {}, "must be a URL"),
        ({"server": "https://["}, {}, "must be a URL"),
        ({"server": "https://[::1"}, {}, "must be a URL"),
        ({"server": "https://[zz]"}, {}, "(must be a URL|no IPv6 address)"),
        ({"server": f"https://{'a' * 300}"}, {}, "longer than a DNS name can be"),
        ({"server": f"https://{'a.' * 200}b"}, {}, "longer than a DNS name can be"),
        ({"server": "https://a..b"}, {}, "has an empty part"),
        ({"server": f"https://h/{'x' * 3000}"}, {}, "too long"),
        ({"server": "https://h\u00f6st"}, {}, "characters that no URL can have"),
        ({"server": "https://h\n"}, {}, "characters that no URL can have"),
        ({"server": "10.0.0.1"}, {}, "must be a URL"),
        ({"server": f"https://admin:{SECRET}@h"}, {}, "must not contain a user or a password"),
    ],
)
def test_a_secret_cannot_make_us_run_or_read_or_send_anything_odd(
    cluster: dict[str, Any], user: dict[str, Any], complaint: str
) -> None:
    """I11, I12."""
    with pytest.raises(CredentialsError, match=complaint) as caught:
        from_document(document({"server": "https://h:6443"} | cluster, user))
    assert SECRET not in str(caught.value)


def test_a_context_can_be_chosen() -> None:
    content = document()
    content["contexts"].append({"name": "other", "context": {"cluster": "d"}})
    content["clusters"].append({"name": "d", "cluster": {"server": "http://127.0.0.1:8001"}})
    connection = from_document(content, context="other")
    assert (connection.server, connection.name, connection.tokens) == ("http://127.0.0.1:8001", "other", None)
    assert connection.tls_context() is None


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"ca": b"no certificate"}, "no readable PEM"),
        ({"ca": "é".encode()}, "no readable PEM"),
        ({"client_cert": b"x", "client_key": SECRET.encode()}, "do not load"),
    ],
)
def test_certificates_that_do_not_load_are_refused_by_name(values: dict[str, bytes], complaint: str) -> None:
    """I12: the name of the cluster, not the content."""
    connection = credentials.from_values("https://h:6443", name="member-1", **values)  # type: ignore[arg-type]  # bytes
    with pytest.raises(CredentialsError, match=f"member-1: .*{complaint}") as caught:
        connection.tls_context()
    assert SECRET not in str(caught.value)


class TestFiles:
    """Kubeconfig files of this process itself may do what kubectl's may."""

    @pytest.fixture(autouse=True)
    def _nowhere(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
            monkeypatch.delenv(name, raising=False)

    def write(self, path: Path, content: dict[str, Any]) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(content))
        return path

    def test_nothing_to_load_says_what_to_do(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(CredentialsError, match="no kubeconfig: give one"):
            kubeconfig.load()
        with pytest.raises(CredentialsError, match="no such kubeconfig"):
            kubeconfig.load(tmp_path / "none")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
        with pytest.raises(CredentialsError, match=r"from \$KUBECONFIG"):
            kubeconfig.load()

    def test_relative_files_start_from_the_kubeconfig(self, tmp_path: Path) -> None:
        (tmp_path / "ca.pem").write_text("CA")
        (tmp_path / "token").write_text(f"{SECRET}\n")
        cluster = {"server": "https://h", "certificate-authority": "ca.pem"}
        file = self.write(tmp_path / "config", document(cluster, {"tokenFile": "token"}))
        connection = kubeconfig.load(file)
        assert connection.ca == b"CA"
        assert token_of(connection) == SECRET
        (tmp_path / "token").write_text("renewed")
        assert token_of(connection) == SECRET
        assert token_of(connection, refused=SECRET) == "renewed"
        (tmp_path / "ca.pem").unlink()
        with pytest.raises(CredentialsError, match=r"cannot read .*ca\.pem: No such file"):
            kubeconfig.load(file)

    def test_several_files_are_merged_and_the_first_wins(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        first = self.write(tmp_path / "a", {"current-context": "other", "clusters": None})
        second = document()
        second["contexts"].append({"name": "other", "context": {"cluster": "c", "user": "u"}})
        monkeypatch.setenv("KUBECONFIG", f"{first}:{tmp_path / 'missing'}:{self.write(tmp_path / 'b', second)}")
        assert kubeconfig.load().name == "other"
        assert kubeconfig.load(context="main").name == "main"
        with pytest.raises(CredentialsError, match="has no context 'nope'"):
            kubeconfig.load(context="nope")

    def test_the_usual_place_is_looked_at(self, tmp_path: Path) -> None:
        self.write(tmp_path / "home/.kube/config", document())
        assert kubeconfig.load().server == "https://10.0.0.1:6443"

    def test_in_a_pod_the_service_account_is_used_and_its_token_read_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
        monkeypatch.setattr(kubeconfig, "SERVICE_ACCOUNT", tmp_path)
        with pytest.raises(CredentialsError, match="cannot read"):
            kubeconfig.in_cluster()
        (tmp_path / "ca.crt").write_text("CA")
        (tmp_path / "token").write_text(SECRET)
        connection = kubeconfig.in_cluster()
        assert connection.server == "https://[fd00::1]:443"
        assert connection.name == "in-cluster"
        assert token_of(connection) == SECRET

    def test_in_a_pod_the_namespace_is_the_pods_own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """That is where the shipped Role gives the right to the Lease."""
        monkeypatch.setattr(kubeconfig, "SERVICE_ACCOUNT", tmp_path)
        monkeypatch.delenv("POD_NAMESPACE", raising=False)
        assert kubeconfig.namespace() == "default"
        (tmp_path / "namespace").write_text("platform\n")
        assert kubeconfig.namespace() == "platform"
        monkeypatch.setenv("POD_NAMESPACE", "told")
        assert kubeconfig.namespace() == "told"
        file = self.write(tmp_path / "config", document())
        assert kubeconfig.namespace(file) == "default", "a kubeconfig is about another cluster than the pod's"

    def test_a_user_without_a_home_is_no_obstacle(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Images run under a number that no user has."""
        monkeypatch.delenv("HOME")
        monkeypatch.setattr("pwd.getpwuid", Mock(side_effect=KeyError))
        with pytest.raises(CredentialsError, match="no kubeconfig"):
            kubeconfig.load()

    def test_a_token_file_is_read_again_after_a_minute(self, tmp_path: Path) -> None:
        file = tmp_path / "token"
        file.write_text("old")
        now = [0.0]
        tokens = kubeconfig.FileToken(file, clock=lambda: now[0])
        assert asyncio.run(tokens.token()) == "old"
        file.write_text("new")
        assert asyncio.run(tokens.token()) == "old"
        now[0] = 61
        assert asyncio.run(tokens.token()) == "new"

    def plugin(self, tmp_path: Path, status: dict[str, Any] | None, exit_code: int = 0) -> dict[str, Any]:
        """A user with an exec plugin that counts how often it is run and says it in its token."""
        answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status or {}}
        script = tmp_path / "plugin.py"
        script.write_text(
            "import pathlib, sys\n"
            f"runs = pathlib.Path({str(tmp_path / 'runs')!r})\n"
            "runs.write_text((runs.read_text() if runs.exists() else '') + 'x')\n"
            f"print({json.dumps(answer)!r}.replace('RUNS', str(len(runs.read_text()))))\n"
            f"print({SECRET!r}, file=sys.stderr)\n"
            f"sys.exit({exit_code})\n"
        )
        settings = {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": [str(script)]}
        return {"exec": settings | {"interactiveMode": "Never"}}

    def test_an_exec_plugin_gives_tokens_and_is_run_again_when_one_is_refused(self, tmp_path: Path) -> None:
        file = self.write(tmp_path / "config", document(user=self.plugin(tmp_path, {"token": "token-RUNS"})))
        connection = kubeconfig.load(file)
        assert token_of(connection) == "token-1"
        assert token_of(connection, refused="an older one") == "token-1"
        assert token_of(connection, refused="token-1") == "token-2"

    def test_an_exec_plugin_is_run_again_before_its_token_expires(self, tmp_path: Path) -> None:
        status = {"token": "token-RUNS", "expirationTimestamp": "2020-01-01T00:00:00Z"}
        file = self.write(tmp_path / "config", document(user=self.plugin(tmp_path, status)))
        assert token_of(kubeconfig.load(file)) == "token-2"

    def test_an_exec_plugin_may_give_a_client_certificate(self, tmp_path: Path) -> None:
        status = {"clientCertificateData": "CERT", "clientKeyData": "KEY"}
        file = self.write(tmp_path / "config", document(user=self.plugin(tmp_path, status)))
        connection = kubeconfig.load(file)
        assert (connection.client_cert, connection.client_key, connection.tokens) == (b"CERT", b"KEY", None)

    @pytest.mark.parametrize(
        ("status", "exit_code", "complaint"),
        [
            (None, 3, "process returned 3"),
            ({}, 0, "neither a token nor"),
            ({"token": "x", "expirationTimestamp": "soon"}, 0, "expiry that is not a time"),
        ],
    )
    def test_an_exec_plugin_that_fails_is_one_line_without_its_output(
        self, tmp_path: Path, status: dict[str, Any] | None, exit_code: int, complaint: str
    ) -> None:
        """I12: what a plugin prints may be a credential."""
        file = self.write(tmp_path / "config", document(user=self.plugin(tmp_path, status, exit_code)))
        with pytest.raises(CredentialsError, match=complaint) as caught:
            kubeconfig.load(file)
        assert SECRET not in str(caught.value)

    def test_a_plugin_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/no/such/plugin"}}
        file = self.write(tmp_path / "config", document(user=user))
        with pytest.raises(CredentialsError, match="'/no/such/plugin' cannot be run: No such file"):
            kubeconfig.load(file)
        file = self.write(tmp_path / "config", document(user={"exec": {"apiVersion": "x"}}))
        with pytest.raises(CredentialsError, match="has no command"):
            kubeconfig.load(file)

    def test_an_auth_provider_gives_its_token(self, tmp_path: Path) -> None:
        user = {"auth-provider": {"name": "gcp", "config": {"access-token": "from-provider"}}}
        assert token_of(kubeconfig.load(self.write(tmp_path / "a", document(user=user)))) == "from-provider"
        user = {"auth-provider": {"name": "azure", "config": {}}}
        with pytest.raises(CredentialsError, match="'azure' returned no token"):
            kubeconfig.load(self.write(tmp_path / "b", document(user=user)))


def test_the_namespace_of_a_context_is_for_those_who_name_none(tmp_path: Path) -> None:
    from uniteddeployment.kube import kubeconfig  # noqa: PLC0415

    path = tmp_path / "config"
    context: dict[str, Any] = {"name": "c", "context": {"cluster": "c", "namespace": "shop"}}
    cluster = {"name": "c", "cluster": {"server": "https://c:6443"}}
    path.write_text(json.dumps({"current-context": "c", "contexts": [context], "clusters": [cluster]}))
    assert kubeconfig.namespace(path) == "shop"
    del context["context"]["namespace"]
    path.write_text(json.dumps({"current-context": "c", "contexts": [context], "clusters": [cluster]}))
    assert kubeconfig.namespace(path) == "default"
