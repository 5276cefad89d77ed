"""``config/`` as documented: installed, used with the rights that it gives, upgraded, uninstalled.

No image runs here: the pods of the Deployment are processes with its arguments, environment and service account.
"""

import functools
import itertools
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import fleet_fixture, pods
from tests.support.api import Api, ApiError
from tests.support.control_planes import ControlPlane
from tests.support.documentation import ROOT, scripts
from tests.support.fleet_fixture import Fleet
from tests.support.kubectl import kubectl
from tests.support.planning import manifest
from tests.support.pods import IP, Pod
from tests.support.preloaded import Preloaded
from tests.support.site import COMMAND_SECONDS, Site
from tests.support.waiting import until
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.controller.rights import IN_MEMBER, ON_HOST, Right
from uniteddeployment.kube.resource import PODS
from uniteddeployment_api import names

CONFIG = ROOT / "config"
NAMESPACE = "uniteddeployment-system"
MEMBER = "member-1"

ROLLOUT_PORTS = ("--metrics-port=0", "--probe-port=0")


class Installation:
    """A host and a member of its own, a shell as the documentation has it, and the pods of the controller."""

    def __init__(self, fleet: Fleet, folder: Path, forks: Preloaded) -> None:
        self.fleet = fleet
        self.folder = folder
        self.here = Site(fleet, "default", folder)
        (folder / "config").symlink_to(CONFIG)
        programs = folder / "bin"
        programs.mkdir()
        (programs / "kubectl").symlink_to(kubectl())
        forks.launcher(programs / "ud")
        self._path = os.pathsep.join([str(programs), os.environ["PATH"]])
        self._pods = itertools.count()

    @property
    def api(self) -> Api:
        return self.fleet.host.api

    @property
    def member(self) -> ControlPlane:
        return self.fleet.members[MEMBER]

    def sh(self, script: str) -> str:
        """What it prints. Raises AssertionError when a command fails."""
        # kubectl caches what a host serves, and here CRDs come and go.
        environment = {**self.here.environment, "PATH": self._path, "KUBECACHEDIR": str(self.folder / "kube-cache")}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=environment,
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

    def install(self) -> None:
        """Install as documented, unless an earlier test has left it so: the manifests take a second of CPU time."""
        if not self.api.exists("deploy", NAMESPACE, "uniteddeployment"):
            self.documented("Install")

    def installed(self) -> None:
        """With a member that is registered."""
        self.install()
        if not self.here.exists("udc", MEMBER):
            self.here.register_members()

    def give_token(self) -> None:
        """Stand in for the controller that fills Secrets with tokens, where there is none."""
        account = "uniteddeployment-member"
        self.sh(f"kubectl apply -k config/member --context {MEMBER}")
        if not self.member.api.get("secret", NAMESPACE, account).get("data"):
            authority = self.member.config["clusters"][0]["cluster"]["certificate-authority-data"]
            token = self.member.token(NAMESPACE, account)
            data = {"stringData": {"token": token}, "data": {"ca.crt": authority}}
            self.member.api.merge("secret", NAMESPACE, account, data)

    def run_application(self) -> None:
        """Until it is ready."""
        self.here.apply(application())
        self.here.wait_settled()

    def workloads(self) -> list[str]:
        """The StatefulSets of the member."""
        return self.here.names("sts", MEMBER)

    @contextmanager
    def pod(
        self, kustomization: str = "config", name: str = "uniteddeployment", free_ports: Sequence[str] = pods.FREE_PORTS
    ) -> Iterator[Pod]:
        """A pod of a Deployment, with the rights that are installed."""
        (deployment,) = (one for one in deployments(kustomization) if one["metadata"]["name"] == name)
        folder = self.folder / f"pod-{next(self._pods)}"
        with pods.pod(self.fleet.host, deployment, folder, free_ports) as made:
            yield made


@functools.cache
def deployments(kustomization: str) -> list[dict[str, Any]]:
    """The Deployments in a folder of kustomize."""
    command = [kubectl(), "kustomize", str(ROOT / kustomization)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [yaml.safe_load(one) for one in shown.split("\n---\n") if "\nkind: Deployment\n" in one]


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Clusters of its own: a controller that is installed works on all namespaces."""
    with fleet_fixture.fleet(tmp_path_factory.mktemp("installation"), [MEMBER], bare=True) as found:
        found.needs_processes()
        found.needs_pods()
        yield found


@pytest.fixture
def host(clusters: Fleet, tmp_path: Path, forks: Preloaded) -> Installation:
    return Installation(clusters, tmp_path, forks)


def ready(pod: Pod) -> Callable[[], bool]:
    return lambda: pod.get("/readyz") == (200, "ok\n")


def application(image: str = "app:1") -> dict[str, Any]:
    return manifest(image=image, replicas=2, shares={MEMBER: None})


def asked(plane: ControlPlane, account: str) -> set[tuple[Right, bool]]:
    """What a service account asked for, and whether it was refused."""
    user = f"system:serviceaccount:{NAMESPACE}:{account}"
    return {(one.rule, one.status == 403) for one in plane.requests() if one.user == user and one.resource}


def test_every_sample_is_accepted(bare_site: Site) -> None:
    samples = sorted((CONFIG / "samples").glob("*.yaml"))
    documents = [one for sample in samples for one in yaml.safe_load_all(sample.read_text())]
    said = bare_site.kubectl("apply", "--dry-run=server", "-f", str(CONFIG / "samples"))
    assert said.count(" created (server dry run)\n") == len(documents), said


def test_the_documented_installation_works_with_the_rights_that_are_shipped(host: Installation) -> None:
    """Two replicas of the shipped Deployment; RBAC is enforced, and nothing that they ask for is refused."""
    host.documented("Install")
    with host.pod() as one, host.pod() as two:
        host.documented("Register a member")
        until(ready(one), "the first is ready")
        until(ready(two), "the second is ready")
        lease = host.api.get("lease", NAMESPACE, "uniteddeployment-controller")
        assert lease["spec"]["holderIdentity"] in {one.identity, two.identity}

        host.run_application()
        host.here.apply(application("app:2"))
        host.here.wait_settled()
        for configuration in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
            path = f"/apis/admissionregistration.k8s.io/v1/{configuration}/uniteddeployment"
            (webhook,) = host.fleet.host.read(path)["webhooks"]
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
        host.run_application()
        host.here.apply(yaml.safe_load((CONFIG / "samples" / "rollout.yaml").read_text()))
        host.here.wait("uro", "web", "Ready")
        host.here.merge("ud", "web", {"spec": {"template": application("app:2")["spec"]["template"]}})
        host.here.wait_phase("Paused", "uro", "web")
        may = "kubectl auth can-i patch unitedrollouts --as ann"
        host.sh("kubectl create clusterrolebinding ann --clusterrole uniteddeployment-rollout-commands --user ann")
        host.sh(f"{may} --subresource=status; ! {may}")
        assert rollouts.get("/readyz") == (200, "ok\n")
        assert rollouts.get("/metrics")[0] == 404, "probes have a port of their own"
        assert rollouts.get("/metrics", "metrics")[0] == 0, "metrics stay on loopback"
        assert 'uniteddeployment_rollout_phase{name="web"' in rollouts.get("/metrics", "metrics", host="127.0.0.1")[1]
        host.api.delete("clusterrolebinding", None, "ann")
        host.here.delete("uro", "web")
        assert rollouts.process.stop() == 0
        assert "Traceback" not in rollouts.process.log.read_text()
    requests = asked(host.fleet.host, "uniteddeployment-rollout")
    assert requests
    assert not {right for right, refused in requests if refused}


def test_metrics_are_at_the_address_of_the_pod_when_that_is_asked_for(host: Installation) -> None:
    host.install()  # the same objects, but for the arguments of the pods
    ports = {"uniteddeployment": pods.FREE_PORTS, "uniteddeployment-rollout": ROLLOUT_PORTS}
    for name, free_ports in ports.items():
        with host.pod("config/metrics", name, free_ports) as pod:
            until(ready(pod), "it is ready")
            status, text = pod.get("/metrics", "metrics", host=IP)
            assert status == 200
            assert "workqueue_depth" in text


def test_without_the_right_to_the_lease_a_pod_says_so_and_is_not_ready(host: Installation) -> None:
    """It never leads: a rollout stops, and the log has the way out."""
    host.install()
    with host.pod() as first:  # it makes the certificate of the webhooks
        until(ready(first), "it is ready")
    rules = host.api.get("role", NAMESPACE, "uniteddeployment")["rules"]
    others = [rule for rule in rules if "leases" not in rule["resources"]]
    host.api.merge("role", NAMESPACE, "uniteddeployment", {"rules": others})
    with host.pod() as pod:
        until(lambda: "forbidden" in pod.get("/readyz")[1], "the reason")
        status, text = pod.get("/readyz")
        assert status == 503
        assert f"the Lease {NAMESPACE}/uniteddeployment-controller cannot be used" in text
        assert f"allow get, create and patch of leases in the namespace {NAMESPACE}" in text
        warning = pod.process.wait_for(r"(?m)^.*cannot lead.*$")[0]
        assert '"level": "warning"' in warning
        assert pod.get("/healthz")[0] == 200, "a restart would not help"
        host.api.merge("role", NAMESPACE, "uniteddeployment", {"rules": rules})
        until(ready(pod), "it has the right again")


def test_pods_of_each_deployment_keep_to_the_restricted_standard(host: Installation) -> None:
    """On a server with Pod Security admission this asks the server."""
    host.install()
    assert deployments("config")
    for deployment in deployments("config"):
        spec = deployment["spec"]["template"]["spec"]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try"}, "spec": spec}
        host.api.request("POST", f"{PODS.path(NAMESPACE)}?dryRun=All", pod)
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


def test_the_policy_adds_the_finalizer_to_new_applications(host: Installation) -> None:
    """The API server itself does, so that the controller need not; an application can be given up as always."""
    host.installed()
    served = host.fleet.host.read("/apis/admissionregistration.k8s.io/v1").get("resources", ())
    if not any(one["name"] == "mutatingadmissionpolicies" for one in served):
        pytest.skip("the host serves no MutatingAdmissionPolicy, as Kubernetes does from 1.36 on")
    host.documented("Finalizers")
    try:
        until(lambda: tried(host) == [names.FINALIZER], "the policy is in effect")
        assert tried(host, "example.com/other") == ["example.com/other", names.FINALIZER]
        assert tried(host, names.FINALIZER) == [names.FINALIZER]
        before = len(host.fleet.host.requests())
        with host.pod() as pod:
            until(ready(pod), "it is ready")
            document = guarded()
            host.here.apply(document)
            host.here.wait_settled("guarded")
            document["spec"]["replicas"] = 3
            host.here.apply(document)
            host.here.wait_settled("guarded")
            assert host.here.get("ud", "guarded")["metadata"]["finalizers"] == [names.FINALIZER], "an apply leaves it"
            sent = [one for one in host.fleet.host.requests()[before:] if one.name == "guarded"]
            account = f"system:serviceaccount:{NAMESPACE}:uniteddeployment"
            assert {(one.verb, one.subresource) for one in sent if one.user == account} == {("patch", "status")}
            host.here.delete("ud", "guarded")
        assert "guarded-member-1" in host.workloads(), "its deletion policy says so"
    finally:
        host.sh("kubectl delete -k config/policy")
        host.member.api.delete("sts", "default", "guarded-member-1")


def guarded(*finalizers: str) -> dict[str, Any]:
    """An application with these finalizers, whose workloads stay when it is deleted."""
    document = application()
    document["metadata"] |= {"name": "guarded", **({"finalizers": list(finalizers)} if finalizers else {})}
    document["spec"]["deletionPolicy"] = "Orphan"
    return document


def tried(host: Installation, *finalizers: str) -> list[str]:
    """The finalizers that an application would be created with; none while the policy's kind is too new (503)."""
    try:
        made = host.api.request("POST", f"{UNITED_DEPLOYMENTS.path('default')}?dryRun=All", guarded(*finalizers))
    except ApiError as error:
        if error.code != 503:
            raise
        return []
    return list(made["metadata"].get("finalizers", ()))


def abandon(host: Installation) -> None:
    """An application runs, and the controller is gone."""
    host.installed()
    with host.pod() as pod:
        until(ready(pod), "it is ready")
        host.run_application()


def test_without_the_controller_an_application_waits_for_it_to_come_back(host: Installation) -> None:
    """As the documentation says of the wrong order."""
    abandon(host)
    host.api.delete("ud", "default", "web")
    assert "deletionTimestamp" in host.here.get("ud", "web")["metadata"]
    assert host.workloads(), "workloads go on running"
    with host.pod():
        host.here.wait_deleted("ud", "web")
    assert not host.workloads()


def test_uninstalling_in_the_documented_order_leaves_nothing(host: Installation) -> None:
    host.install()
    host.give_token()
    for cluster in host.here.objects("udc"):  # no controller is left to remove the finalizer
        host.here.merge("udc", cluster["metadata"]["name"], {"metadata": {"finalizers": None}})
    host.sh("kubectl delete secret,udc member-1 --ignore-not-found")
    with host.pod() as pod:
        host.documented("Register a member with kubectl")  # it waits until the member is connected
        until(ready(pod), "it is ready")
        host.run_application()
        host.sh(scripts("operations.md", "Uninstall")[0])
    assert not host.workloads()
    apis = (host.api, host.member.api)
    for api in apis:
        found = [one for name in ("crd", "clusterrole", "clusterrolebinding") for one in api.get(name)["items"]]
        assert not [one["metadata"]["name"] for one in found if "uniteddeployment" in one["metadata"]["name"]]
    until(lambda: not any(api.exists("namespace", None, NAMESPACE) for api in apis), "no namespaces")


def test_crds_that_were_deleted_too_early_go_when_the_applications_are_given_up(host: Installation) -> None:
    """As the documentation says of the wrong order."""
    abandon(host)
    host.sh("kubectl delete -k config/crd --wait=false")
    until(lambda: "deletionTimestamp" in host.here.get("ud", "web")["metadata"], "the deletion of the application")
    assert "deletionTimestamp" in host.here.get("udc", MEMBER)["metadata"]
    assert host.workloads(), "workloads go on running"
    host.sh(scripts("operations.md", "Uninstall")[1])
    until(lambda: not host.api.exists("crd", None, "uniteddeployments.uniteddeployment.io"), "the CRDs go")
    assert not host.workloads()
