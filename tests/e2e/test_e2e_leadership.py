"""Two controller processes and one Lease: the leader is stopped for longer than its Lease lasts, and goes on."""

import signal
import subprocess
import time
from typing import Any

import yaml

from tests.support.applications import application
from tests.support.fleet_fixture import HOST
from tests.support.kubectl import kubectl
from tests.support.preloaded import Forked
from tests.support.site import COMMAND_SECONDS, Controller, Site

QUIET_SECONDS = 1.5
APPLICATIONS = [f"web-{number}" for number in range(8)]


def manifests(image: str) -> str:
    documents = []
    for name in APPLICATIONS:
        document = application(image=image, replicas=3)
        document["metadata"]["name"] = name
        documents.append(document)
    return yaml.safe_dump_all(documents)


def wait_settled(site: Site, generation: int) -> None:
    """Until all applications are seen as they are, and ready."""

    def settled(application: Any) -> bool:
        status = application.get("status", {})
        conditions = {one["type"]: one["status"] for one in status.get("conditions", ())}
        return (
            status.get("observedGeneration") == generation
            and conditions.get("Ready") == "True"
            and conditions.get("Reconciling") == "False"
        )

    site.until(lambda: all(settled(one) for one in site.objects("ud")), f"generation {generation} is settled")


def stop_in_the_middle(site: Site, controller: subprocess.Popen[bytes] | Forked, image: str) -> None:
    """Apply a new version of all applications, and stop the controller when it has seen some of them."""
    file = site.folder / "next.yaml"
    file.write_text(manifests(image))
    command = [kubectl(), "apply", "-f", str(file)]
    with subprocess.Popen(command, env=site.environment, stdout=subprocess.PIPE, text=True) as applying:
        assert applying.stdout is not None
        for _ in range(len(APPLICATIONS) // 2):
            assert applying.stdout.readline()
        controller.send_signal(signal.SIGSTOP)
        applying.communicate(timeout=COMMAND_SECONDS)


def versions(site: Site, first: Controller) -> dict[str, str]:
    """What was written last of everything that a controller writes, in all clusters; of Events only the first one's."""
    found: dict[str, str] = {}
    places: dict[str, tuple[str, ...]] = {HOST: ("ud", "controllerrevisions", "events")}
    places |= dict.fromkeys(site.fleet.members, ("sts", "controllerrevisions"))
    for context, kinds in places.items():
        for kind in kinds:
            for one in site.objects(kind, context):
                if kind != "events" or one["reportingInstance"] == first.identity:
                    found[f"{context}/{kind}/{one['metadata']['name']}"] = one["metadata"]["resourceVersion"]
    return found


def at_rest(site: Site, first: Controller) -> dict[str, str]:
    """The versions when nobody writes any more: they are the same for longer than any write is put off."""
    seen = versions(site, first)
    since = time.monotonic()

    def quiet() -> bool:
        nonlocal seen, since
        now = versions(site, first)
        if now != seen:
            seen, since = now, time.monotonic()
        return time.monotonic() - since > QUIET_SECONDS

    site.until(quiet, "nobody writes any more")
    return seen


def test_a_leader_that_was_stopped_past_its_lease_writes_nothing_when_it_goes_on(site: Site) -> None:
    """What it was about to write belongs to an old version by now (I1)."""
    site.fleet.needs_pods()
    with site.controller("--lease-seconds", "5") as first, site.controller("--lease-seconds", "5") as second:
        site.kubectl("apply", "-f", "-", stdin=manifests("app:1"))
        wait_settled(site, 1)
        stop_in_the_middle(site, first.process.popen, "app:2")
        try:
            site.until(lambda: site.holder() == second.identity, "the other one leads")
            site.kubectl("apply", "-f", "-", stdin=manifests("app:3"))
            wait_settled(site, 3)
            before = at_rest(site, first)
        finally:
            first.process.popen.send_signal(signal.SIGCONT)
        assert first.process.popen.wait(COMMAND_SECONDS) == 1
        assert "lost leadership" in first.process.log.read_text()
        assert versions(site, first) == before
