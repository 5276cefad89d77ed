"""Real control planes: which programs are started with which options, and what is said when they are missing."""

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.support import envtest, fleet_fixture
from tests.support.envtest import Binaries, BinariesMissingError, Files
from tests.support.fleet_fixture import EnvironmentUnusableError

FILES = Files(Path("/tmp/x"), etcd_port=1001, port=1002)  # noqa: S108  # a name; nothing is written


def program(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def options(command: list[str]) -> dict[str, str]:
    return dict(one.removeprefix("--").partition("=")[::2] for one in command[1:])


def test_real_binaries_are_started_with_these_commands() -> None:
    etcd = options(envtest.etcd_command(Path("etcd"), FILES))
    assert etcd["listen-client-urls"] == etcd["advertise-client-urls"] == "http://127.0.0.1:1001"
    assert etcd["listen-peer-urls"] == "http://127.0.0.1:0"

    server = options(envtest.apiserver_command(Path("kube-apiserver"), FILES))
    assert server["etcd-servers"] == "http://127.0.0.1:1001"
    assert (server["bind-address"], server["secure-port"]) == ("127.0.0.1", "1002")
    assert server["disable-admission-plugins"] == "ServiceAccount"
    assert server["service-account-key-file"].endswith(".crt"), "the public key is read from a certificate"
    assert server["service-account-signing-key-file"].endswith(".key")

    manager = options(envtest.controller_manager_command(Path("kube-controller-manager"), FILES))
    scheduler = options(envtest.scheduler_command(Path("kube-scheduler"), FILES))
    for one in (manager, scheduler):
        assert (one["kubeconfig"], one["leader-elect"], one["secure-port"]) == ("/tmp/x/kubeconfig", "false", "0")  # noqa: S108
    assert manager["controllers"].startswith("*,-")

    assert "--bind" in envtest.kubelet_command(FILES, bind=True)
    assert "--bind" not in envtest.kubelet_command(FILES, bind=False)


def test_the_keys_and_certificates_are_such_as_the_server_reads(tmp_path: Path) -> None:
    config = envtest._write_files("c", Files(tmp_path, 1, 2))
    account = x509.load_pem_x509_certificate((tmp_path / "service-account.crt").read_bytes())
    key = load_pem_private_key((tmp_path / "service-account.key").read_bytes(), None)
    assert key.public_key() == account.public_key()
    token, user, uid, groups = (tmp_path / "tokens.csv").read_text().strip().split(",")
    assert (user, uid, groups) == ("admin", "admin", "system:masters")
    assert config["users"] == [{"name": "c", "user": {"token": token}}]
    assert all((tmp_path / name).stat().st_mode & 0o077 == 0 for name in ("server.key", "tokens.csv", "kubeconfig"))


def test_ports_are_free_and_different() -> None:
    assert len(set(envtest._free_ports(8))) == 8


def test_what_is_missing_is_said_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(envtest.ASSETS, raising=False)
    with pytest.raises(BinariesMissingError, match="KUBEBUILDER_ASSETS is not set"):
        envtest.find()
    with pytest.raises(BinariesMissingError, match="no program etcd and kube-apiserver"):
        envtest.find(str(tmp_path))
    etcd = program(tmp_path, "etcd")
    with pytest.raises(BinariesMissingError, match="no program kube-apiserver"):
        envtest.find(str(tmp_path))
    server = program(tmp_path, "kube-apiserver")
    assert envtest.find(str(tmp_path)) == Binaries(etcd, server)
    manager = program(tmp_path, "kube-controller-manager")
    assert envtest.find(str(tmp_path)).controller_manager == manager


@pytest.mark.parametrize(
    ("environment", "kind"),
    [
        ({}, "embedded"),
        ({"KUBEBUILDER_ASSETS": "/x"}, "embedded"),
        ({"UD_E2E_CLUSTERS": "envtest"}, "envtest"),
        ({"UD_E2E_HOST_KUBECONFIG": "/x"}, "existing"),
    ],
)
def test_the_environment_says_which_clusters(environment: dict[str, str], kind: str) -> None:
    assert fleet_fixture.kind(environment) == kind


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"UD_E2E_CLUSTERS": "minikube"}, "must be embedded, envtest or existing"),
        ({"UD_E2E_CLUSTERS": "envtest"}, "KUBEBUILDER_ASSETS is not set"),
        ({"UD_E2E_CLUSTERS": "existing"}, "set UD_E2E_HOST_KUBECONFIG"),
        ({"UD_E2E_HOST_KUBECONFIG": "/x", "UD_E2E_MEMBER_KUBECONFIGS": "/a,/b"}, "with 3 files; there are 2"),
        ({"UD_E2E_HOST_KUBECONFIG": "/x", "UD_E2E_MEMBER_KUBECONFIGS": "/a:/b,/c"}, "no such kubeconfig: /x"),
    ],
)
def test_an_environment_that_cannot_be_is_refused_before_any_test(environment: dict[str, str], message: str) -> None:
    with pytest.raises(EnvironmentUnusableError, match=message):
        fleet_fixture.check(environment)
