"""Real control planes for tests: etcd, kube-apiserver and, where there are binaries of them, kube-controller-manager
and kube-scheduler on loopback, each cluster with an etcd, certificates and a token of its own.

The binaries come from the folder that ``KUBEBUILDER_ASSETS`` names. Nodes and pods are simulated by ``fake_kubelet``.
Everything lives in a folder of the caller and ends with the block; when something does not start, the error has the
end of its log.
"""

import base64
import os
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.control_planes import READY_AFTER, ControlPlane
from tests.support.processes import Process
from uniteddeployment.embedded import kubeconfig
from uniteddeployment.embedded.serving.tls import Authority

ASSETS = "KUBEBUILDER_ASSETS"
START_SECONDS = 90.0
"""Four API servers that start at once on two cores take their time."""
STOP_SECONDS = 2.0
TAIL = 4000

AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
"""

_OFF = (
    "horizontal-pod-autoscaler-controller",  # there are no metrics
    "root-ca-certificate-publisher-controller",  # would put a ConfigMap into each namespace
    "clusterrole-aggregation-controller",  # its objects are not used here
)


@dataclass(frozen=True)
class Binaries:
    """Where the programs are; the last two may be missing."""

    etcd: Path
    apiserver: Path
    controller_manager: Path | None = None
    scheduler: Path | None = None


@dataclass(frozen=True)
class Files:
    """What one control plane keeps in its folder, and the ports that it listens on."""

    folder: Path
    etcd_port: int
    port: int

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def etcd_url(self) -> str:
        return f"http://127.0.0.1:{self.etcd_port}"

    def __truediv__(self, name: str) -> Path:
        return self.folder / name


class BinariesMissingError(Exception):
    """What is missing, in one line."""


def find(folder: str | None = None) -> Binaries:
    """The binaries of a folder, by default that of KUBEBUILDER_ASSETS. Raises BinariesMissingError."""
    named = folder if folder is not None else os.environ.get(ASSETS, "")
    if not named:
        raise BinariesMissingError(f"{ASSETS} is not set: name a folder with etcd and kube-apiserver (1.36) in it")
    place = Path(named)

    def program(name: str) -> Path | None:
        path = place / name
        return path.resolve() if os.access(path, os.X_OK) and path.is_file() else None

    etcd, apiserver = program("etcd"), program("kube-apiserver")
    if etcd is None or apiserver is None:
        missing = " and ".join(n for n, path in (("etcd", etcd), ("kube-apiserver", apiserver)) if path is None)
        raise BinariesMissingError(f"{place} (from {ASSETS}) has no program {missing}")
    return Binaries(etcd, apiserver, program("kube-controller-manager"), program("kube-scheduler"))


def etcd_command(program: Path, files: Files) -> list[str]:
    """One member that never waits for the disk: nothing of it has to survive."""
    return [
        str(program),
        f"--data-dir={files / 'etcd'}",
        f"--listen-client-urls={files.etcd_url}",
        f"--advertise-client-urls={files.etcd_url}",
        "--listen-peer-urls=http://127.0.0.1:0",
        "--unsafe-no-fsync",
    ]


def apiserver_command(program: Path, files: Files) -> list[str]:
    """An API server without ServiceAccount admission: pods need no token to be simulated."""
    return [
        str(program),
        f"--etcd-servers={files.etcd_url}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={files.port}",
        f"--cert-dir={files / 'certificates'}",
        f"--tls-cert-file={files / 'server.crt'}",
        f"--tls-private-key-file={files / 'server.key'}",
        f"--token-auth-file={files / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        f"--service-account-issuer={files.url}",
        f"--service-account-key-file={files / 'service-account.crt'}",
        f"--service-account-signing-key-file={files / 'service-account.key'}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true",
        "--disable-admission-plugins=ServiceAccount",
        # Nobody reaches this server by the Service `kubernetes`, and loopback addresses are no endpoints.
        "--endpoint-reconciler-type=none",
        f"--audit-policy-file={files / 'audit-policy.yaml'}",
        f"--audit-log-path={files / 'audit.log'}",
        # A test that looks for a request must find it as soon as it was answered.
        "--audit-log-mode=blocking",
    ]


def controller_manager_command(program: Path, files: Files) -> list[str]:
    return [
        str(program),
        f"--kubeconfig={files / 'kubeconfig'}",
        "--use-service-account-credentials=false",
        "--leader-elect=false",
        "--secure-port=0",
        f"--controllers=*,{','.join(f'-{name}' for name in _OFF)}",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]


def scheduler_command(program: Path, files: Files) -> list[str]:
    return [
        str(program),
        f"--kubeconfig={files / 'kubeconfig'}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]


def kubelet_command(files: Files, *, bind: bool, nodes: int = 3) -> list[str]:
    """The simulated nodes; ``bind`` when there is no scheduler to place pods on them."""
    command = [sys.executable, "-m", "tests.support.fake_kubelet"]
    command += ["--kubeconfig", str(files / "kubeconfig"), "--nodes", str(nodes), "--zones", "z1,z2,z3"]
    command += ["--ready-after", str(READY_AFTER)]
    return [*command, "--bind"] if bind else command


@contextmanager
def control_planes(names: list[str], folder: Path, binaries: Binaries) -> Iterator[list[ControlPlane]]:
    """Several of them, started side by side."""
    with ExitStack() as stack:
        starting = [stack.enter_context(_started(name, folder / name, binaries)) for name in names]
        for plane, files in starting:
            _await_ready(plane, files)
        for _plane, files in starting:
            _enter_helpers(stack, files, binaries)
        yield [stack.enter_context(plane) for plane, _ in starting]


@contextmanager
def _started(name: str, folder: Path, binaries: Binaries) -> Iterator[tuple[ControlPlane, Files]]:
    """etcd and the API server; ready later."""
    folder.mkdir(parents=True)
    files = Files(folder, *_free_ports(2))
    config = _write_files(name, files)
    with (
        _process(etcd_command(binaries.etcd, files), files / "etcd.log"),
        _process(apiserver_command(binaries.apiserver, files), files / "kube-apiserver.log") as server,
    ):
        pods = binaries.controller_manager is not None
        yield ControlPlane(name, config, server, runs_pods=pods, audit_log=files / "audit.log"), files


def _enter_helpers(stack: ExitStack, files: Files, binaries: Binaries) -> None:
    if binaries.controller_manager is None:
        return
    commands = {"kube-controller-manager": controller_manager_command(binaries.controller_manager, files)}
    if binaries.scheduler is not None:
        commands["kube-scheduler"] = scheduler_command(binaries.scheduler, files)
    commands["fake-kubelet"] = kubelet_command(files, bind=binaries.scheduler is None)
    for name, command in commands.items():
        stack.enter_context(_process(command, files / f"{name}.log"))


def _write_files(name: str, files: Files) -> dict[str, object]:
    """Certificates, keys and the token; gives the kubeconfig."""
    authority = Authority(name)
    pair = authority.server("127.0.0.1", "localhost", "kubernetes.default.svc")
    accounts = authority.client("service-accounts")
    token = secrets.token_hex(16)
    secret_files = {
        "server.crt": pair.certificate,
        "server.key": pair.key,
        # The server takes a public key from a certificate, but from a private key only in an older form.
        "service-account.crt": accounts.certificate,
        "service-account.key": accounts.key,
        "tokens.csv": f"{token},admin,admin,system:masters\n".encode(),
        "audit-policy.yaml": AUDIT_POLICY.encode(),
    }
    for file, content in secret_files.items():
        (files / file).touch(mode=0o600)
        (files / file).write_bytes(content)
    context = kubeconfig.Context(name, files.url, authority.certificate, token=token)
    kubeconfig.write(files / "kubeconfig", [context])
    return kubeconfig.kubeconfig([context], name)


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now; all different."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def _process(command: list[str], log: Path) -> Iterator[Process]:
    """A program until the block ends, in a session of its own so that Ctrl-C reaches it through us only."""
    with log.open("wb") as out:
        popen = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, cwd=Path(__file__).parents[2], start_new_session=True
        )
    try:
        yield Process(popen, log)
    finally:
        if popen.poll() is None:
            popen.send_signal(signal.SIGCONT)  # a stopped process would not hear that it is to end
            popen.terminate()
        try:
            popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            # An API server waits for its clients; nothing in it has to survive.
            popen.kill()
            popen.wait()


def _await_ready(plane: ControlPlane, files: Files) -> None:
    """Wait for /readyz. Raises AssertionError with the ends of the logs."""
    user = plane.config["users"][0]["user"]
    authority = base64.b64decode(plane.config["clusters"][0]["cluster"]["certificate-authority-data"])
    context = ssl.create_default_context(cadata=authority.decode())
    request = urllib.request.Request(f"{plane.server}/readyz", headers={"Authorization": f"Bearer {user['token']}"})  # noqa: S310  # https
    deadline = time.monotonic() + START_SECONDS
    said = "no answer"
    assert plane.process is not None
    while time.monotonic() < deadline and plane.process.popen.poll() is None:
        try:
            with urllib.request.urlopen(request, timeout=5, context=context):  # noqa: S310  # https
                return
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
        except OSError as error:
            said = str(error)
        time.sleep(0.1)
    logs = [f"--- {log}\n{log.read_text(errors='replace')[-TAIL:]}" for log in sorted(files.folder.glob("*.log"))]
    raise AssertionError(f"the API server {plane.name} is not ready: {said}\n" + "\n".join(logs))
