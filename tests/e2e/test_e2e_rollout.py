"""A rollout with nothing but kubectl: create, release, approve, abort, undo, delete."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes import ud
from tests.support.site import Site
from tests.support.waiting import WAIT_SECONDS

SAMPLES = Path(__file__).parents[2] / "config" / "samples"
ROLLOUT = """\
apiVersion: uniteddeployment.io/v1alpha1
kind: UnitedRollout
metadata: {name: web}
spec:
  targetRef: {name: web}
  maxUnavailable: 50%
  rollbackWindow: 1
  steps:
    - {replicas: 1, pause: {}}
    - {replicas: 50%, bake: 1s}
    - {replicas: 100%}
"""


@contextmanager
def rollout_controller(site: Site) -> Iterator[None]:
    """``ud rollout controller run`` for the namespace of the test."""
    arguments = ["--namespace", site.namespace, "--no-leader-elect", "--log-format", "json"]
    log = site.folder / "rollout.log"
    with ud("rollout", "controller", "run", *arguments, log=log, env=site.environment) as process:
        process.wait_for("started")
        yield


def release(site: Site, image: str) -> None:
    path = "/spec/template/statefulSetTemplate/spec/template/spec/containers/0/image"
    site.kubectl(
        "patch", "ud", "web", "--type=json", "-p", json.dumps([{"op": "replace", "path": path, "value": image}])
    )


def field(site: Site, path: str) -> str:
    return site.kubectl("get", "uro", "web", "-o", f"jsonpath={{.status.{path}}}")


def command(site: Site, id_: str, verb: str, **more: object) -> str:
    """Give a command with one patch of the status; return its result."""
    commands = {id_: {"verb": verb, "by": "ann", **more}}
    patch = json.dumps({"status": {"commands": commands}})
    site.kubectl("patch", "uro", "web", "--subresource=status", "--type=merge", "-p", patch)
    result = f'jsonpath={{.status.answers[?(@.id=="{id_}")].result}}'
    return site.kubectl("wait", f"--for={result}", f"--timeout={WAIT_SECONDS:g}s", "uro/web", "-o", result)


def all_run(image: str) -> dict[str, dict[str, int]]:
    return {"member-1": {image: 4}, "member-2": {image: 2}, "member-3": {image: 2}}


def test_kubectl_alone_tells_the_life_of_a_rollout(site: Site) -> None:
    site.fleet.needs_pods()
    with site.controller(), rollout_controller(site):
        site.kubectl("apply", "-f", str(SAMPLES / "web.yaml"))
        site.wait("ud", "web", "Ready")
        site.kubectl("apply", "-f", "-", stdin=ROLLOUT)
        site.wait("uro", "web", "Ready")
        first = field(site, "stableRevision")

        release(site, "app:2")
        site.wait_phase("Paused", "uro", "web")
        assert site.all_images() == {
            "member-1": {"app:1": 3, "app:2": 1},
            "member-2": {"app:1": 2},
            "member-3": {"app:1": 2},
        }
        run = field(site, "runID")
        table = site.kubectl("get", "uro").splitlines()[1].split()
        assert table[:7] == ["web", "web", "Paused", "1", "3", "8", "1"]
        assert command(site, "1", "approve", runID=run, step=1) == "Done"
        assert command(site, "2", "approve", runID=run, step=1) == "Refused"
        site.wait_phase("Healthy", "uro", "web")
        assert site.all_images() == all_run("app:2")

        release(site, "app:3")
        site.wait_phase("Paused", "uro", "web")
        assert command(site, "3", "abort", runID=run) == "Refused", "that run is over"
        assert command(site, "4", "abort", runID=field(site, "runID")) == "Done"
        site.wait_phase("Healthy", "uro", "web")
        assert site.all_images() == all_run("app:2")

        assert command(site, "5", "undo") == "Done"
        site.until(lambda: site.get("uro", "web")["status"].get("stableRevision") == first, "the first is stable again")
        assert site.all_images() == all_run("app:1")
        assert field(site, "history[*].outcome") == "Completed RolledBack Completed"

        reasons = site.kubectl("get", "events", "-o", "jsonpath={.items[*].reason}").split()
        wanted = {"RolloutStarted", "RolloutPaused", "StepCompleted", "Command", "CommandRefused", "RolledBack"}
        assert wanted <= set(reasons)
        site.kubectl("delete", "uro", "web")
        assert site.get("ud", "web")["spec"]["updateStrategy"]["manualUpdate"] == {"partition": "100%"}
