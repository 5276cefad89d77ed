"""A pod of the shipped Deployment as a process of this machine: its arguments, its environment, its service account."""

import base64
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.control_planes import ControlPlane
from tests.support.processes import Process, ud

IP = "127.0.0.2"
"""The address of the pod: on this machine, and not the loopback address that programs mean by themselves."""
FREE_PORTS = ("--metrics-port=0", "--probe-port=0", "--admission-port=0", f"--admission-host={IP}")
"""What is changed of the shipped arguments: several pods share the ports of this machine."""


@dataclass(frozen=True)
class Pod:
    """A running controller as the Deployment describes it."""

    process: Process

    @property
    def identity(self) -> str:
        """What the Lease says when it leads."""
        return self.process.wait_for(r'"identity": ?"([^"]+)"')[1]

    def port(self, what: str) -> int:
        """Where it serves ``metrics`` or ``probe``."""
        return int(self.process.wait_for(rf'(?m)^(?=.*"what": ?"{what}").*"port": ?(\d+)')[1])

    def get(self, path: str, what: str = "probe", host: str = IP) -> tuple[int, str]:
        """Status and text of a page; status 0 if nobody listens there."""
        try:
            with urllib.request.urlopen(f"http://{host}:{self.port(what)}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except urllib.error.URLError as error:
            return 0, str(error.reason)


@contextmanager
def pod(
    plane: ControlPlane,
    deployment: Mapping[str, Any],
    folder: Path,
    free_ports: Sequence[str] = FREE_PORTS,
) -> Iterator[Pod]:
    """Run the first container of a Deployment in its cluster, until the block ends."""
    folder.mkdir()
    namespace = deployment["metadata"]["namespace"]
    spec = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    fields = {"metadata.namespace": namespace, "status.podIP": IP}
    told = {
        one["name"]: one.get("value") or fields[one["valueFrom"]["fieldRef"]["fieldPath"]] for one in container["env"]
    }
    arguments = [re.sub(r"\$\((\w+)\)", lambda match: told[match[1]], one) for one in container["args"]]
    account = _service_account(plane, namespace, spec["serviceAccountName"], folder)
    server = urlsplit(plane.server)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/",
        "KUBERNETES_SERVICE_HOST": str(server.hostname),
        "KUBERNETES_SERVICE_PORT": str(server.port),
        **told,
    }
    with ud(*arguments, *free_ports, log=folder / "log", env=environment, service_account=account) as process:
        yield Pod(process)


def _service_account(plane: ControlPlane, namespace: str, name: str, folder: Path) -> Path:
    """What a kubelet mounts into a pod: a token, the authority of the API server, the namespace."""
    account = folder / "serviceaccount"
    account.mkdir()
    authority = plane.config["clusters"][0]["cluster"]["certificate-authority-data"]
    files = {
        "token": plane.token(namespace, name).encode(),
        "ca.crt": base64.b64decode(authority),
        "namespace": namespace.encode(),
    }
    for file, content in files.items():
        (account / file).touch(mode=0o600)
        (account / file).write_bytes(content)
    return account
