"""Clusters for end-to-end tests, of whatever kind, behind one face: a kubeconfig, and what can be done to them.

``embedded`` starts one of ours as a process; ``existing`` takes one that somebody else runs. Real control planes are in
``envtest``.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import yaml

from tests.support import audit
from tests.support.api import MERGE, Api
from tests.support.audit import Asked
from tests.support.kubectl import kubectl
from tests.support.processes import Process, ud
from uniteddeployment.kube.resource import SERVICEACCOUNTS

READY_AFTER = 0.3
"""Seconds until a simulated pod is ready: long enough for a rollout to have a middle, short enough for many tests."""


@dataclass
class ControlPlane:
    """One cluster. ``process`` is its API server, where it is a process of ours."""

    name: str
    config: dict[str, Any]
    """A kubeconfig with one context and nothing outside of it: no files, no programs."""
    process: Process | None = None
    runs_pods: bool = True
    """Whether workloads get pods here, and pods get ready."""
    audit_log: Path | None = None
    """Where its API server writes audit events, if it is one of ours."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.api.close()

    @property
    def server(self) -> str:
        return str(self.config["clusters"][0]["cluster"]["server"])

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        there = urlsplit(self.server)
        return str(there.hostname), there.port or 443

    def ask(self, method: str, path: str, document: Any = None) -> Any:
        """The same as ``api.request`` over a connection of its own, for tests in several threads."""
        with closing(Api(self.config)) as api:
            return api.request(method, path, document, MERGE if method == "PATCH" else "application/json")

    @cached_property
    def api(self) -> Api:
        """Its API, with all rights."""
        return Api(self.config)

    def read(self, path: str) -> Any:
        """A document of its API."""
        return self.api.request("GET", path)

    def requests(self) -> list[Asked]:
        """Every request that it was sent so far, whoever sent it."""
        assert self.audit_log is not None, f"{self.name} is not ours, and keeps no audit log for us"
        return audit.read(self.audit_log)

    def token(self, namespace: str, account: str) -> str:
        """A token for a ServiceAccount that is there, for an hour."""
        path = f"{SERVICEACCOUNTS.path(namespace, account)}/token"
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        return str(self.api.request("POST", path, asked)["status"]["token"])

    def as_service_account(self, namespace: str, name: str) -> dict[str, Any]:
        """A kubeconfig for a ServiceAccount that is there: its rights are those of RBAC and nothing else."""
        user = {"name": name, "user": {"token": self.token(namespace, name)}}
        context = {"cluster": self.config["clusters"][0]["name"], "user": name, "namespace": namespace}
        return {
            **self.config,
            "users": [user],
            "contexts": [{"name": self.name, "context": context}],
            "current-context": self.name,
        }

    def stop_answering(self) -> None:
        """As when the network swallows every packet: connections stay open and nothing comes back."""
        assert self.process is not None
        self.process.popen.send_signal(signal.SIGSTOP)

    def answer_again(self) -> None:
        assert self.process is not None
        self.process.popen.send_signal(signal.SIGCONT)

    def context(self, namespace: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Its cluster, user and context under its own name, for a kubeconfig of many."""
        cluster = {"name": self.name, "cluster": self.config["clusters"][0]["cluster"]}
        user = {"name": self.name, "user": self.config["users"][0]["user"]}
        context = {"name": self.name, "context": {"cluster": self.name, "user": self.name, "namespace": namespace}}
        return cluster, user, context


def merged(planes: list[ControlPlane], namespace: str) -> dict[str, Any]:
    """One kubeconfig with a context for each; the first is the current one."""
    parts = [plane.context(namespace) for plane in planes]
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": planes[0].name,
        "clusters": [cluster for cluster, _, _ in parts],
        "users": [user for _, user, _ in parts],
        "contexts": [context for _, _, context in parts],
    }


def write(path: Path, document: dict[str, Any]) -> None:
    """A kubeconfig file that only its owner can read."""
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(document))


@contextmanager
def all_embedded(names: list[str], folder: Path) -> Iterator[list[ControlPlane]]:
    """Clusters of ours, each in a process of its own, started side by side."""
    with ExitStack() as stack:
        processes = {name: stack.enter_context(_started(name, folder)) for name in names}
        yield [stack.enter_context(_ready(name, folder, process)) for name, process in processes.items()]


@contextmanager
def embedded(name: str, folder: Path, *options: str, **environment: str) -> Iterator[ControlPlane]:
    """One of them, with further options of ``ud embedded`` and variables of its environment."""
    with _started(name, folder, *options, **environment) as process, _ready(name, folder, process) as plane:
        yield plane


@contextmanager
def _started(name: str, folder: Path, *further: str, **environment: str) -> Iterator[Process]:
    options = ["--kubeconfig", str(_file(folder, name)), "--ready-after", str(READY_AFTER)]
    options += ["--audit-log", str(_audit_log(folder, name)), *further]
    with ud("embedded", *options, log=folder / f"{name}.log", env={**os.environ, **environment}) as process:
        try:
            yield process
        finally:
            _continue(process)  # a stopped process would not hear that it is to end


def _ready(name: str, folder: Path, process: Process) -> ControlPlane:
    """Wait until it serves."""
    process.wait_for("export KUBECONFIG")
    config = yaml.safe_load(_file(folder, name).read_text())
    return ControlPlane(name, config, process, audit_log=_audit_log(folder, name))


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.kubeconfig"


def _audit_log(folder: Path, name: str) -> Path:
    return folder / f"{name}.audit"


def _continue(process: Process) -> None:
    if process.popen.poll() is None:
        process.popen.send_signal(signal.SIGCONT)


def existing(name: str, kubeconfig: Path) -> ControlPlane:
    """Somebody's cluster: the current context of a kubeconfig."""
    command = [kubectl(), "config", "view", "--raw", "--flatten", "--minify", "-o", "json"]
    shown = subprocess.run(
        command, env={**os.environ, "KUBECONFIG": str(kubeconfig)}, capture_output=True, text=True, check=True
    )
    return ControlPlane(name, json.loads(shown.stdout))
