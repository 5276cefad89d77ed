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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import control_planes, processes
from tests.support.api import Api
from tests.support.fleet_fixture import HOST, Fleet
from tests.support.kubectl import kubectl
from tests.support.processes import Process, ud
from tests.support.waiting import until

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
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": str(self.fleet.folder / "kube-cache")}

    def kubectl(self, *arguments: str, stdin: str = "", check: bool = True) -> str:
        """Its standard output. Raises AssertionError when it fails."""
        done = self.try_kubectl(*arguments, stdin=stdin)
        assert not check or done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def try_kubectl(self, *arguments: str, stdin: str = "") -> Done:
        return self.run([kubectl(), *arguments], stdin=stdin)

    def ud(self, *arguments: str, stdin: str = "", **environment: str) -> Done:
        env = {**self.environment, **environment}
        return processes.run(arguments, environment=env, stdin=stdin, seconds=COMMAND_SECONDS)

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

    def apply(self, document: Mapping[str, Any]) -> None:
        """Server-side apply on the host, in the namespace of the test."""
        self.fleet.host.api.apply(document, self.namespace)

    def create(self, document: Mapping[str, Any]) -> None:
        """Create an object of the host, in the namespace of the test."""
        self.fleet.host.api.create(document, self.namespace)

    def get(self, name: str, one: str, context: str = HOST) -> Any:
        """An object; ``name`` is what kubectl calls its resource. Raises ApiError."""
        return self.api(context).get(name, self.namespace, one)

    def objects(self, name: str, context: str = HOST) -> list[Any]:
        """All objects of a resource in the namespace of the test."""
        return list(self.api(context).get(name, self.namespace)["items"])

    def names(self, name: str, context: str = HOST) -> list[str]:
        """The names of these objects."""
        return [one["metadata"]["name"] for one in self.objects(name, context)]

    def exists(self, name: str, one: str, context: str = HOST) -> bool:
        return self.api(context).exists(name, self.namespace, one)

    def merge(self, name: str, one: str, patch: Mapping[str, Any]) -> None:
        """Apply a merge patch to an object of the host."""
        self.fleet.host.api.merge(name, self.namespace, one, patch)

    def api(self, context: str) -> Api:
        return next(plane.api for plane in self.fleet.planes if plane.name == context)

    def delete(self, name: str, one: str, policy: str = "Background") -> None:
        """Delete an object of the host, and wait until it is gone."""
        self.fleet.host.api.delete(name, self.namespace, one, policy)
        self.wait_deleted(name, one)

    def wait_deleted(self, name: str, one: str) -> None:
        self.until(lambda: not self.exists(name, one), f"{name}/{one} is gone")

    def wait(self, name: str, one: str, condition: str, status: str = "True") -> None:
        """Wait for a condition that is about the present generation of an object, as ``kubectl wait`` does."""

        def holds() -> bool:
            found = self.get(name, one)
            conditions = found.get("status", {}).get("conditions", ())
            has = next((each for each in conditions if each["type"] == condition), {"status": ""})
            generation = found["metadata"]["generation"]
            return bool(has["status"] == status and has.get("observedGeneration", generation) == generation)

        self.until(holds, f"{condition} of {name}/{one} is {status}")

    def wait_phase(self, phase: str, name: str, *objects: str) -> None:
        """Wait until the status of each of these objects has this phase."""
        for one in objects:

            def reached(one: str = one) -> bool:
                return bool(self.get(name, one).get("status", {}).get("phase") == phase)

            self.until(reached, f"{name}/{one} is {phase}")

    def wait_settled(self, name: str = "web") -> None:
        """Wait until the controller has seen the object as it is, and it is ready."""

        def settled() -> bool:
            found = self.get("ud", name)
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
        return str(self.get("lease", "uniteddeployment-controller")["spec"].get("holderIdentity", ""))

    def images(self, member: str) -> dict[str, int]:
        """Image -> living pods, from the API of the member."""
        living = [pod for pod in self.objects("pods", member) if "deletionTimestamp" not in pod["metadata"]]
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
        """A Secret and a Cluster for each member."""
        for name, plane in self.fleet.members.items():
            self.apply(credentials(name, plane.config))
            self.apply(cluster(name))


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
    for plane in fleet.planes:
        plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    try:
        yield made
    finally:
        # Finalizers would keep the namespace when no controller is left to do what they stand for.
        for name in ("ud", "udc"):
            for one in made.objects(name):
                if one["metadata"].get("finalizers"):
                    made.merge(name, one["metadata"]["name"], {"metadata": {"finalizers": None}})
        for plane in fleet.planes:
            plane.api.delete("namespace", None, namespace)
