"""``config/`` as documented: installed, used with the rights that it gives, upgraded, uninstalled.

No image runs here: the pods of the Deployment are processes with its arguments, environment and service account.
"""

import itertools
import json
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import control_planes, fleet_fixture, pods
from tests.support.control_planes import ControlPlane
from tests.support.documentation import ROOT, scripts
from tests.support.fleet_fixture import Fleet
from tests.support.kubectl import kubectl
from tests.support.planning import manifest
from tests.support.pods import IP, Pod
from tests.support.processes import UD
from tests.support.site import COMMAND_SECONDS, Site
from tests.support.waiting import until
from uniteddeployment.controller.rights import IN_MEMBER, ON_HOST, Right

CONFIG = ROOT / "config"
NAMESPACE = "uniteddeployment-system"
MEMBER = "member-1"

ROLLOUT_PORTS = ("--metrics-port=0", "--probe-port=0")


class Installation:
    """A host and a member of its own, a shell as the documentation has it, and the pods of the controller."""

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        self.fleet = fleet
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        control_planes.write(self.kubeconfig, control_planes.merged(fleet.planes, "default"))
        (folder / "config").symlink_to(CONFIG)
        programs = folder / "bin"
        programs.mkdir()
        (programs / "kubectl").symlink_to(kubectl())
        (programs / "ud").write_text(f'#!/bin/sh\nexec {shlex.join(UD)} "$@"\n')
        (programs / "ud").chmod(0o700)
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        self._environment = {**os.environ, "PATH": path, "KUBECONFIG": str(self.kubeconfig)}
        self._pods = itertools.count()

    @property
    def member(self) -> ControlPlane:
        return self.fleet.members[MEMBER]

    def sh(self, script: str) -> str:
        """What it prints. Raises AssertionError when a command fails."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def documented(self, section: str) -> None:
        """Do what a section of the documentation says."""
        for script in scripts("operations.md", section):
            self.sh(script)

    def get(self, *arguments: str) -> Any:
        return yaml.safe_load(self.sh(f"kubectl get {' '.join(arguments)} -o yaml"))

    def empty(self, *arguments: str) -> bool:
        return not self.sh(f"kubectl get {' '.join(arguments)} -o name --ignore-not-found")

    def installed(self) -> None:
        """Everything that the documentation installs, with a member that is registered."""
        self.documented("Install")
        self.give_token()
        for cluster in self.sh("kubectl get udc -o name").split():  # no controller is left to remove the finalizer
            self.sh(f"kubectl patch {cluster} --type=merge -p '{json.dumps({'metadata': {'finalizers': None}})}'")
        self.sh("kubectl delete secret,udc member-1 --ignore-not-found")
        with self.pod():  # the documentation waits until the member is connected
            self.documented("Register a member with kubectl")

    def give_token(self) -> None:
        """Stand in for the controller that fills Secrets with tokens, where there is none."""
        account = "uniteddeployment-member"
        self.sh(f"kubectl apply -k config/member --context {MEMBER}")
        secret = f"secret {account} -n {NAMESPACE} --context {MEMBER}"
        if not self.get(secret).get("data"):
            token = self.sh(f"kubectl create token {account} -n {NAMESPACE} --context {MEMBER}").strip()
            authority = self.member.config["clusters"][0]["cluster"]["certificate-authority-data"]
            data = {"stringData": {"token": token}, "data": {"ca.crt": authority}}
            self.sh(f"kubectl patch {secret} --type=merge -p '{json.dumps(data)}'")

    def apply(self, document: dict[str, Any]) -> None:
        file = self.folder / "application.yaml"
        file.write_text(yaml.safe_dump(document))
        self.sh(f"kubectl apply -f {file}")

    @contextmanager
    def pod(
        self, kustomization: str = "config", name: str = "uniteddeployment", free_ports: Sequence[str] = pods.FREE_PORTS
    ) -> Iterator[Pod]:
        """A pod of a Deployment, with the rights that are installed."""
        documents = yaml.safe_load_all(self.sh(f"kubectl kustomize {kustomization}"))
        (deployment,) = (one for one in documents if one["kind"] == "Deployment" and one["metadata"]["name"] == name)
        folder = self.folder / f"pod-{next(self._pods)}"
        with pods.pod(self.fleet.host, deployment, folder, self.kubeconfig, free_ports) as made:
            yield made


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Clusters of its own: a controller that is installed works on all namespaces."""
    with fleet_fixture.fleet(tmp_path_factory.mktemp("installation"), [MEMBER], bare=True) as found:
        found.needs_processes()
        found.needs_pods()
        yield found


@pytest.fixture
def host(clusters: Fleet, tmp_path: Path) -> Installation:
    return Installation(clusters, tmp_path)


def ready(pod: Pod) -> Callable[[], bool]:
    return lambda: pod.get("/readyz") == (200, "ok\n")


def application(image: str = "app:1") -> dict[str, Any]:
    return manifest(image=image, replicas=2, shares={MEMBER: None})


def asked(plane: ControlPlane, account: str) -> set[tuple[Right, bool]]:
    """What a service account asked for, and whether it was refused."""
    user = f"system:serviceaccount:{NAMESPACE}:{account}"
    return {(one.rule, one.status == 403) for one in plane.requests() if one.user == user and one.resource}


def test_every_sample_is_accepted(bare_site: Site) -> None:
    for sample in sorted((CONFIG / "samples").glob("*.yaml")):
        assert "created" in bare_site.kubectl("apply", "--dry-run=server", "-f", str(sample)), sample.name


def test_the_documented_installation_works_with_the_rights_that_are_shipped(host: Installation) -> None:
    """Two replicas of the shipped Deployment; RBAC is enforced, and nothing that they ask for is refused."""
    host.documented("Install")
    with host.pod() as one, host.pod() as two:
        host.documented("Register a member")
        until(ready(one), "the first is ready")
        until(ready(two), "the second is ready")
        holder = host.get("lease uniteddeployment-controller -n", NAMESPACE)["spec"]["holderIdentity"]
        assert holder in {one.identity, two.identity}

        host.apply(application())
        host.sh("kubectl wait --for=condition=Ready ud/web --timeout=60s")
        host.apply(application("app:2"))
        host.sh("kubectl wait --for=jsonpath='{.status.observedGeneration}'=2 ud/web --timeout=60s")
        host.sh("kubectl wait --for=condition=Ready ud/web --timeout=60s")
        for configuration in ("validatingwebhookconfiguration", "mutatingwebhookconfiguration"):
            (webhook,) = host.get(configuration, "uniteddeployment")["webhooks"]
            assert webhook["clientConfig"]["caBundle"]
        host.documented("Upgrade")
        host.documented("Webhooks")

        assert one.get("/metrics", "metrics", host="127.0.0.1")[0] == 200
        assert one.get("/metrics", "metrics")[0] == 0, "metrics stay on loopback"
        assert one.get("/metrics")[0] == 404, "probes have a port of their own"
        assert one.get("/healthz") == (200, "ok\n")
        for pod in (one, two):
            assert pod.process.stop() == 0
            assert "Traceback" not in pod.process.log.read_text()
    for plane, account, allowed in (
        (host.fleet.host, "uniteddeployment", ON_HOST),
        (host.member, "uniteddeployment-member", IN_MEMBER),
    ):
        requests = asked(plane, account)
        assert requests
        assert {right for right, _ in requests} <= allowed
        assert not {right for right, refused in requests if refused}
    may = f"kubectl auth can-i patch --as system:serviceaccount:{NAMESPACE}:uniteddeployment"
    host.sh(f"{may} secret/{MEMBER}-member-token; ! {may} secret/other")


def test_the_rollout_controller_works_with_the_rights_that_are_shipped(host: Installation) -> None:
    """RBAC is enforced, and nothing that it asks for is refused; an approver needs the right to the status alone."""
    host.installed()
    with host.pod(), host.pod(name="uniteddeployment-rollout", free_ports=ROLLOUT_PORTS) as rollouts:
        host.apply(application())
        host.sh("kubectl wait --for=condition=Ready ud/web --timeout=60s")
        host.sh("kubectl apply -f config/samples/rollout.yaml")
        host.sh("kubectl wait --for=condition=Ready uro/web --timeout=60s")
        image = "/spec/template/statefulSetTemplate/spec/template/spec/containers/0/image"
        patch = json.dumps([{"op": "replace", "path": image, "value": "app:2"}])
        host.sh(f"kubectl patch ud web --type=json -p '{patch}'")
        host.sh("kubectl wait --for=jsonpath='{.status.phase}'=Paused uro/web --timeout=60s")
        may = "kubectl auth can-i patch unitedrollouts --as ann"
        host.sh("kubectl create clusterrolebinding ann --clusterrole uniteddeployment-rollout-commands --user ann")
        host.sh(f"{may} --subresource=status; ! {may}")
        assert rollouts.get("/readyz") == (200, "ok\n")
        assert rollouts.get("/metrics")[0] == 404, "probes have a port of their own"
        assert rollouts.get("/metrics", "metrics")[0] == 0, "metrics stay on loopback"
        assert 'uniteddeployment_rollout_phase{name="web"' in rollouts.get("/metrics", "metrics", host="127.0.0.1")[1]
        host.sh("kubectl delete clusterrolebinding ann; kubectl delete uro web")
        assert rollouts.process.stop() == 0
        assert "Traceback" not in rollouts.process.log.read_text()
    requests = asked(host.fleet.host, "uniteddeployment-rollout")
    assert requests
    assert not {right for right, refused in requests if refused}


def test_metrics_are_at_the_address_of_the_pod_when_that_is_asked_for(host: Installation) -> None:
    host.documented("Install")
    host.sh("kubectl apply -k config/metrics")
    names = {"uniteddeployment": pods.FREE_PORTS, "uniteddeployment-rollout": ROLLOUT_PORTS}
    for name, free_ports in names.items():
        with host.pod("config/metrics", name, free_ports) as pod:
            until(ready(pod), "it is ready")
            status, text = pod.get("/metrics", "metrics", host=IP)
            assert status == 200
            assert "workqueue_depth" in text


def test_without_the_right_to_the_lease_a_pod_says_so_and_is_not_ready(host: Installation) -> None:
    """It never leads: a rollout stops, and the log has the way out."""
    host.documented("Install")
    with host.pod() as first:  # it makes the certificate of the webhooks
        until(ready(first), "it is ready")
    remove = '[{"op": "remove", "path": "/rules/0"}, {"op": "remove", "path": "/rules/0"}]'
    host.sh(f"kubectl patch role uniteddeployment -n {NAMESPACE} --type=json -p '{remove}'")
    with host.pod() as pod:
        until(lambda: "forbidden" in pod.get("/readyz")[1], "the reason")
        status, text = pod.get("/readyz")
        assert status == 503
        assert f"the Lease {NAMESPACE}/uniteddeployment-controller cannot be used" in text
        assert f"allow get, create and patch of leases in the namespace {NAMESPACE}" in text
        warning = pod.process.wait_for(r"(?m)^.*cannot lead.*$")[0]
        assert '"level": "warning"' in warning
        assert pod.get("/healthz")[0] == 200, "a restart would not help"
        host.documented("Upgrade")
        until(ready(pod), "it has the right again")


def test_pods_of_each_deployment_keep_to_the_restricted_standard(host: Installation) -> None:
    """On a server with Pod Security admission this asks the server."""
    host.documented("Install")
    documents = list(yaml.safe_load_all(host.sh("kubectl kustomize config")))
    deployments = [document for document in documents if document["kind"] == "Deployment"]
    assert deployments
    file = host.folder / "pod.yaml"
    for deployment in deployments:
        spec = deployment["spec"]["template"]["spec"]
        file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try"}, "spec": spec}))
        host.sh(f"kubectl create --dry-run=server -n {NAMESPACE} -f {file}")
        (container,) = spec["containers"]
        context = {**spec["securityContext"], **container["securityContext"]}
        assert context["runAsNonRoot"]
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["readOnlyRootFilesystem"]


def test_the_image_runs_what_the_deployment_asks_for() -> None:
    """The user and the program are those of the Dockerfile."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    (deployment,) = yaml.safe_load_all((CONFIG / "manager" / "deployment.yaml").read_text())
    spec = deployment["spec"]["template"]["spec"]
    context = spec["securityContext"]
    assert f"USER {context['runAsUser']}:{context['runAsGroup']}" in lines
    assert 'ENTRYPOINT ["ud"]' in lines
    assert "command" not in spec["containers"][0]


def test_uninstalling_in_the_documented_order_leaves_nothing(host: Installation) -> None:
    host.installed()
    with host.pod() as pod:
        until(ready(pod), "it is ready")
        host.apply(application())
        host.sh("kubectl wait --for=condition=Ready ud/web --timeout=60s")
        host.sh(scripts("operations.md", "Uninstall")[0])
    assert host.empty("sts,deploy -A --context", MEMBER)
    for context in ("host", MEMBER):
        found = host.sh(f"kubectl get crd,clusterrole,clusterrolebinding -o name --context {context}")
        assert "uniteddeployment" not in found
        until(lambda context=context: host.empty(f"namespace {NAMESPACE} --context {context}"), "no namespace")  # type: ignore[misc]  # bound per turn


@pytest.fixture
def abandoned(host: Installation) -> Installation:
    """An application runs, and the controller is gone."""
    host.installed()
    with host.pod() as pod:
        until(ready(pod), "it is ready")
        host.apply(application())
        host.sh("kubectl wait --for=condition=Ready ud/web --timeout=60s")
    return host


def test_without_the_controller_an_application_waits_for_it_to_come_back(abandoned: Installation) -> None:
    """As the documentation says of the wrong order."""
    abandoned.sh("kubectl delete ud --all --wait=false")
    assert "deletionTimestamp" in abandoned.get("ud web")["metadata"]
    assert not abandoned.empty("sts -A --context", MEMBER), "workloads go on running"
    with abandoned.pod():
        abandoned.sh("kubectl wait --for=delete ud/web --timeout=60s")
    assert abandoned.empty("sts -A --context", MEMBER)


def test_crds_that_were_deleted_too_early_go_when_the_applications_are_given_up(abandoned: Installation) -> None:
    """As the documentation says of the wrong order."""
    abandoned.sh("kubectl delete -k config/crd --wait=false")
    until(lambda: "deletionTimestamp" in abandoned.get("ud web")["metadata"], "the deletion of the application")
    assert "deletionTimestamp" in abandoned.get("udc member-1")["metadata"]
    assert not abandoned.empty("sts -A --context", MEMBER), "workloads go on running"
    abandoned.sh(scripts("operations.md", "Uninstall")[1])
    until(lambda: abandoned.empty("crd uniteddeployments.uniteddeployment.io"), "the CRDs go")
    assert abandoned.empty("sts -A --context", MEMBER)
