"""One test's place in the fleet: a namespace of its own in every cluster, the members registered in it, ``kubectl`` and
``ud`` that look there, and controllers that look nowhere else.
"""

import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.support import control_planes, processes
from tests.support.fleet_fixture import Fleet
from tests.support.kubectl import kubectl
from tests.support.processes import Process, ud
from tests.support.waiting import WAIT_SECONDS, until
from uniteddeployment_api.names import API_PATH, UNITED_DEPLOYMENT_PLURAL

COMMAND_SECONDS = 90.0

Done = subprocess.CompletedProcess[str]


class Site:
    """What a test uses. All of it is gone when the test ends."""

    def __init__(self, fleet: Fleet, namespace: str, folder: Path) -> None:
        self.fleet = fleet
        self.namespace = namespace
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        control_planes.write(self.kubeconfig, control_planes.merged(fleet.planes, namespace))
        self._controllers = 0

    @property
    def environment(self) -> dict[str, str]:
        # kubectl caches discovery by host and port: another fleet may have had the same port with other kinds.
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": str(self.folder / "kube-cache")}

    def kubectl(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        """Its standard output. Raises AssertionError when it fails."""
        done = self.try_kubectl(*arguments, stdin=stdin)
        assert not check or done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def try_kubectl(self, *arguments: str, stdin: str = "") -> Done:
        return self.run([kubectl(), *arguments], stdin=stdin)

    def ud(self, *arguments: str, stdin: str = "") -> Done:
        return processes.run(arguments, environment=self.environment, stdin=stdin, seconds=COMMAND_SECONDS)

    def run(self, command: list[str], stdin: str = "", **environment: str) -> Done:
        return subprocess.run(
            command,
            input=stdin,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )

    def apply(self, document: Mapping[str, Any]) -> str:
        return self.kubectl("apply", "-f", "-", stdin=json.dumps(document))

    def get(self, *arguments: str) -> Any:
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def wait(self, what: str, *targets: str) -> None:
        """``kubectl wait``: ``what`` is a condition, ``jsonpath=...`` or ``delete``."""
        condition = what if what == "delete" or what.startswith("jsonpath") else f"condition={what}"
        self.kubectl("wait", f"--for={condition}", f"--timeout={WAIT_SECONDS:g}s", *targets)

    def wait_settled(self, name: str = "web") -> None:
        """Wait until the controller has seen the object as it is, and it is ready."""
        path = f"{API_PATH}/namespaces/{self.namespace}/{UNITED_DEPLOYMENT_PLURAL}/{name}"

        def settled() -> bool:
            found = self.fleet.host.read(path)
            status = found.get("status") or {}
            conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
            return (
                status.get("observedGeneration") == found["metadata"]["generation"]
                and conditions.get("Ready") == "True"
                and conditions.get("Reconciling") == "False"
            )

        self.until(settled, f"{name} is settled")

    def holder(self) -> str:
        """The identity in the Lease of the controllers."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/uniteddeployment-controller"
        return str(self.fleet.host.read(path)["spec"].get("holderIdentity", ""))

    def images(self, member: str) -> dict[str, int]:
        """Image -> living pods, as the member itself tells it."""
        pods = self.fleet.members[member].read(f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        living = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        return dict(sorted(Counter(pod["spec"]["containers"][0]["image"] for pod in living).items()))

    def all_images(self) -> dict[str, dict[str, int]]:
        return {member: self.images(member) for member in self.fleet.members}

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for something that kubectl cannot wait for."""
        until(condition, what)

    @contextmanager
    def controller(self, *options: str, ready: bool = True) -> Iterator["Controller"]:
        """``ud controller run`` for this namespace, with probes."""
        self._controllers += 1
        arguments = ["--namespace", self.namespace, "--election-namespace", self.namespace]
        arguments += ["--metrics-host", "127.0.0.1", "--metrics-port", "0", "--log-format", "json", *options]
        log = self.folder / f"controller-{self._controllers}.log"
        with ud("controller", "run", *arguments, log=log, env=self.environment) as process:
            found = Controller(process, int(process.wait_for(r'"port": ?(\d+)')[1]))
            if ready:
                self.until(lambda: found.get("/readyz")[0] == 200, "the controller is ready")
            yield found

    def register_members(self) -> None:
        """A Secret and a Cluster for each member, all in one apply."""
        documents: list[dict[str, Any]] = []
        for name, plane in self.fleet.members.items():
            documents += [credentials(name, plane.config), cluster(name)]
        self.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))


class Controller:
    """A controller process and its probes."""

    def __init__(self, process: Process, port: int) -> None:
        self.process = process
        self.port = port

    @property
    def identity(self) -> str:
        """What the Lease says when it leads."""
        return self.process.wait_for(r'"identity": ?"([^"]+)"')[1]

    def get(self, path: str) -> tuple[int, str]:
        """Status and text of one of its pages."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def requests(self) -> Counter[tuple[str, str, str]]:
        """How many requests it made so far, by cluster, verb and resource, without watches and probes."""
        found: Counter[tuple[str, str, str]] = Counter()
        for line in self.get("/metrics")[1].splitlines():
            match = re.match(r"rest_client_requests_total\{(.*)\} (\S+)", line)
            if match:
                labels = dict(re.findall(r'(\w+)="([^"]*)"', match[1]))
                if labels["verb"] not in ("watch", "probe"):
                    found[labels["cluster"], labels["verb"], labels["resource"]] += int(float(match[2]))
        return found


def credentials(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """A Secret with a kubeconfig."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}
    return {**secret, "stringData": {"kubeconfig": json.dumps(config)}}


def cluster(name: str) -> dict[str, Any]:
    """A Cluster object whose Secret has its own name."""
    return {
        "apiVersion": "uniteddeployment.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"credentials": {"secretRef": {"name": name}}, "health": {"offlineAfter": "1s", "recoverAfter": "1s"}},
    }


@contextmanager
def site(fleet: Fleet, namespace: str, folder: Path) -> Iterator[Site]:
    """A namespace in every cluster, until the block ends."""
    made = Site(fleet, namespace, folder)
    contexts = [plane.name for plane in fleet.planes]
    _everywhere(made, contexts, "create", "namespace", namespace)
    try:
        yield made
    finally:
        # Finalizers would keep the namespace when no controller is left to do what they stand for.
        left = made.try_kubectl("get", "ud,udc", "-o", "name").stdout.split()
        for name in left:
            made.try_kubectl("patch", name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        _everywhere(made, contexts, "delete", "namespace", namespace, "--wait=false")


def _everywhere(made: Site, contexts: list[str], *arguments: str) -> None:
    """The same command in all clusters at once."""
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(
                    [kubectl(), "--context", context, *arguments],
                    env=made.environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                )
            )
            for context in contexts
        ]
        for one in running:
            _, errors = one.communicate(timeout=COMMAND_SECONDS)
            assert one.returncode == 0, f"kubectl {' '.join(arguments)}: {errors.decode()}"
