"""``ud get``, ``ud plan`` and ``ud crds`` on a live fleet."""

import json
import os
import signal
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.support.applications import application
from tests.support.kubectl import kubectl
from tests.support.preloaded import Preloaded
from tests.support.processes import ud
from tests.support.site import Site

ROOT = Path(__file__).parents[2]
CRDS = ROOT / "config" / "crd" / "crds.yaml"
PROGRAMS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]


def test_crds_are_printed_as_they_are_in_config(shared_site: Site) -> None:
    done = shared_site.ud("crds")
    assert done.returncode == 0
    assert done.stdout == CRDS.read_text()


@pytest.fixture
def path(tmp_path: Path, forks: Preloaded) -> str:
    """A PATH with the programs that an installation brings."""
    for name, entry in PROGRAMS.items():
        forks.launcher(tmp_path / name, entry)
    return os.pathsep.join([str(tmp_path), os.environ["PATH"]])


def test_shells_and_kubectl_complete_the_names_of_applications(bare_site: Site, path: str) -> None:
    for name in ("web", "web-2", "api"):
        bare_site.apply({**application(), "metadata": {"name": name}})
    script = """source <(ud completion bash)
    COMP_WORDS=(ud get ud/we); COMP_CWORD=2; _ud_completion ud; echo "${COMPREPLY[@]}"
    COMP_WORDS=(ud undo ''); COMP_CWORD=2; _ud_completion ud; echo "${COMPREPLY[@]}"
    COMP_WORDS=(ud get web w); COMP_CWORD=3; _ud_completion ud; echo "${COMPREPLY[@]}"
    """
    done = bare_site.run(["bash", "-c", script], PATH=path)
    assert (done.stdout.splitlines(), done.stderr) == (["ud/web ud/web-2", "api web web-2", "web-2"], "")
    for typed, candidates in (
        (["get", "web-"], ["web-2"]),
        (["hist"], ["history"]),
        (["plan", "--nam"], ["--namespace"]),
    ):
        done = bare_site.run([kubectl(), "__complete", "ud", *typed], PATH=path)
        assert done.stdout.splitlines() == [*candidates, ":4"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_told_to_end_cleans_up(bare_site: Site, number: signal.Signals) -> None:
    """SIGTERM, which CI sends, takes the same way as Ctrl-C, on which a registration deletes what it has created."""
    bare_site.apply({**application(), "metadata": {"name": "web"}})
    log = bare_site.folder / "log"
    with ud("get", "-w", "-n", bare_site.namespace, log=log, env=bare_site.environment) as watching:
        watching.wait_for("web")
        assert watching.stop(number) == 130


def test_get_shows_the_tree_and_plan_what_would_be_done(site: Site) -> None:
    """Planning writes nothing (I3)."""
    site.fleet.needs_pods()
    file = site.folder / "web.yaml"
    file.write_text(yaml.safe_dump({**application(), "metadata": {"name": "web", "namespace": site.namespace}}))
    empty = site.ud("get", "-n", site.namespace)
    assert (empty.returncode, empty.stdout) == (0, "")
    assert "No UnitedDeployments" in empty.stderr

    planned = site.ud("plan", "-f", str(file))
    assert planned.returncode == 0, planned.stderr
    for said in ("member-1", "web-member-3", "Steps"):
        assert said in planned.stdout
    steps = json.loads(site.ud("plan", "-f", str(file), "-o", "json").stdout)[0]["steps"]
    assert [(step["cluster"].rpartition("/")[2], step["kind"]) for step in steps if step["kind"] != "Namespace"] == [
        (member, "StatefulSet") for member in site.fleet.members
    ]
    assert all(step["why"] for step in steps)
    assert not site.objects("ud"), "planning does nothing"

    with (
        site.controller("--no-leader-elect"),
        ud("get", "-w", "-n", site.namespace, log=site.folder / "watch.log", env=site.environment) as watching,
    ):
        site.apply(application())
        site.wait_settled()
        watching.wait_for(r"web\s.*Ready")
        assert watching.stop(2) == 130
        assert "Traceback" not in watching.log.read_text()

        table = site.ud("get", "-n", site.namespace).stdout
        assert next(line.split()[1] for line in table.splitlines()[1:]) == "web"
        for member in site.fleet.members:
            assert any(member in line and "Ready" in line for line in table.splitlines())
        assert "web-member-1" in site.ud("get", "web", "-n", site.namespace, "-o", "wide").stdout
        shown = json.loads(site.ud("get", "web", "-n", site.namespace, "-o", "json").stdout)
        assert shown["status"]["readyReplicas"] == 8
        listed = yaml.safe_load(site.ud("get", "-A", "-o", "yaml").stdout)
        assert site.namespace in [one["metadata"]["namespace"] for one in listed["items"]]

        assert "Nothing to do." in site.ud("plan", "-f", str(file)).stdout
