"""docs/openkruise.md: its manifests are converted, and its commands run on a host with the kind of OpenKruise."""

import asyncio
import os
import re
from pathlib import Path

import yaml
from typer.testing import CliRunner

from tests.integration.cli.cli_kit import NAMESPACE, Site, lone_host
from tests.support.kubectl import kubectl
from tests.support.preloaded import Preloaded
from uniteddeployment.cli.program import app
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.kube.resource import CUSTOMRESOURCEDEFINITIONS, STATEFULSETS, Resource
from uniteddeployment_api import parse_united_deployment, validate_united_deployment

PAGE = (Path(__file__).parents[2] / "docs" / "openkruise.md").read_text()
OPENKRUISE = Resource("apps.kruise.io", "v1alpha1", "uniteddeployments", "UnitedDeployment")
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "uniteddeployments.apps.kruise.io"},
    "spec": {
        "group": "apps.kruise.io",
        "names": {"kind": "UnitedDeployment", "plural": "uniteddeployments", "shortNames": ["ud"]},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_every_manifest_of_the_page_is_converted() -> None:
    assert len(blocks("yaml")) == 2
    for manifest in blocks("yaml"):
        result = CliRunner().invoke(app, ["convert", "-f", "-"], input=manifest)
        assert result.exit_code == 0, result.stderr
        document = yaml.safe_load(result.stdout)
        assert validate_united_deployment(parse_united_deployment(document)) == ()
    assert "patch.spec.replicas: removed" in result.stderr
    assert "scheduleStrategy.adaptive.unschedulableLastSeconds: removed" in result.stderr
    assert "partitions[gone]: removed" in result.stderr


async def old_application(here: Site) -> None:
    """Create an application of OpenKruise with its StatefulSet."""
    made = await here.host.create(
        OPENKRUISE,
        {"apiVersion": "apps.kruise.io/v1alpha1", "kind": "UnitedDeployment", "metadata": {"name": "db"}},
        dict,
        namespace=NAMESPACE,
    )
    labels = {"app": "db", "apps.kruise.io/subset-name": "zone-a"}
    owner = {
        "apiVersion": "apps.kruise.io/v1alpha1",
        "kind": "UnitedDeployment",
        "name": "db",
        "uid": made["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    workload = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db-zone-a-x7k2p", "labels": labels, "ownerReferences": [owner]},
        "spec": {
            "replicas": 2,
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": {**labels, "apps.kruise.io/controller-revision-hash": "db-6b5f"}},
                "spec": {"containers": [{"name": "db", "image": "db:1"}]},
            },
        },
    }
    await here.run("host", STATEFULSETS, workload)


async def test_the_commands_that_migrate_an_application_work(tmp_path: Path, forks: Preloaded) -> None:
    """I13: the manifests and commands of the page, in order."""
    async with lone_host(tmp_path) as here:
        await here.host.create(CUSTOMRESOURCEDEFINITIONS, DEFINITION, dict)
        await here.until(lambda: served(here), "OpenKruise's kind is served")
        (tmp_path / "kruise.yaml").write_text(blocks("yaml")[0])
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "kubectl").symlink_to(kubectl())
        forks.launcher(tmp_path / "bin" / "ud")
        await sh(here, tmp_path, "kubectl apply -f kruise.yaml")
        await old_application(here)
        refused = await here.ud("adopt", "sts/db-zone-a-x7k2p", "--name", "db-zone-a")
        assert "it is controlled by UnitedDeployment db" in refused.stderr
        before = {pod["metadata"]["uid"] for pod in here.pods("host")}
        assert len(before) == 2
        for script in blocks("sh"):
            await sh(here, tmp_path, script)
        await here.wait_settled("web")
        await here.wait_settled("db-zone-a")
        pods = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in here.pods("host")}
        assert before <= pods.keys(), "no pod of the stateful application was restarted"
        assert sum(name.startswith("web-") for name in pods.values()) == 6
        assert here.fleet.host.cluster.access.list("uniteddeployments.apps.kruise.io", NAMESPACE) == []


def served(here: Site) -> bool:
    try:
        here.fleet.host.cluster.access.list("uniteddeployments.apps.kruise.io", NAMESPACE)
    except StatusError:
        return False
    return True


async def sh(here: Site, folder: Path, script: str) -> None:
    """Run a script as a reader of the page would."""
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    process = await asyncio.create_subprocess_exec(
        *("bash", "-euo", "pipefail", "-c", script),
        cwd=folder,
        env={**os.environ, "PATH": path, "KUBECONFIG": str(here.fleet.kubeconfig), "HOME": str(folder)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, f"{script}\n{said.decode()}"
