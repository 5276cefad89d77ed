"""Clusters for end-to-end tests, of whatever kind, behind one face: a kubeconfig, and what can be done to them.

``embedded`` starts one of ours as a process; ``existing`` takes one that somebody else runs. Real control planes are in
``envtest``.
"""

import base64
import json
import os
import signal
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.support import audit
from tests.support.audit import Asked
from tests.support.kubectl import kubectl
from tests.support.processes import Process, ud

READ_SECONDS = 30.0
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

    @property
    def server(self) -> str:
        return str(self.config["clusters"][0]["cluster"]["server"])

    def read(self, path: str) -> Any:
        """A document of its API. kubectl takes a tenth of a second of CPU time for it, so tests do not poll with it."""
        token = self.config["users"][0]["user"].get("token")
        if token is None:
            return json.loads(self._kubectl("get", "--raw", path))
        there = urlsplit(self.server)
        with closing(
            HTTPSConnection(str(there.hostname), there.port, timeout=READ_SECONDS, context=self._tls)
        ) as asked:
            asked.request("GET", there.path + path, headers={"Authorization": f"Bearer {token}"})
            answer = asked.getresponse()
            document = json.load(answer)
        assert answer.status == 200, document
        return document

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        authority = self.config["clusters"][0]["cluster"].get("certificate-authority-data")
        return ssl.create_default_context(cadata=base64.b64decode(authority).decode() if authority else None)

    def _kubectl(self, *arguments: str) -> str:
        with tempfile.NamedTemporaryFile() as file:
            Path(file.name).write_text(yaml.safe_dump(self.config))
            command = [kubectl(), "--kubeconfig", file.name, *arguments]
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def requests(self) -> list[Asked]:
        """Every request that it was sent so far, whoever sent it."""
        assert self.audit_log is not None, f"{self.name} is not ours, and keeps no audit log for us"
        return audit.read(self.audit_log)

    def as_service_account(self, namespace: str, name: str, folder: Path) -> dict[str, Any]:
        """A kubeconfig for a ServiceAccount that is there: its rights are those of RBAC and nothing else."""
        file = folder / f"{self.name}-admin.kubeconfig"
        write(file, self.config)
        command = [kubectl(), "create", "token", name, "--namespace", namespace, "--duration", "1h"]
        env = {**os.environ, "KUBECONFIG": str(file)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        user = {"name": name, "user": {"token": done.stdout.strip()}}
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
        processes = {}
        for name in names:
            options = ["--kubeconfig", str(_file(folder, name)), "--ready-after", str(READY_AFTER)]
            options += ["--audit-log", str(_audit_log(folder, name))]
            processes[name] = stack.enter_context(ud("embedded", *options, log=folder / f"{name}.log"))
            # A stopped process would not hear that it is to end.
            stack.callback(_continue, processes[name])
        for process in processes.values():
            process.wait_for("export KUBECONFIG")
        yield [
            ControlPlane(
                name,
                yaml.safe_load(_file(folder, name).read_text()),
                process,
                audit_log=_audit_log(folder, name),
            )
            for name, process in processes.items()
        ]


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
