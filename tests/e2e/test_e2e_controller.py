"""The controller as a process: probes, signals, leadership, crashes, and silence when there is nothing to do."""

import itertools
import signal
from functools import partial

from tests.support.applications import DEPLOYMENT, application
from tests.support.site import Controller, Site

COMPLETE = {"member-1": 4, "member-2": 2, "member-3": 2}


def updated(site: Site, image: str = "app:2") -> dict[str, int]:
    return {member: site.images(member).get(image, 0) for member in site.fleet.members}


def passes(controller: Controller) -> float:
    """How many passes over a key are finished."""
    lines = controller.get("/metrics")[1].splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if "workqueue_work_duration_seconds_count" in line)


def a_look_that_changes_nothing(site: Site, controller: Controller, number: int) -> int:
    """How many requests the controller makes for a pass in which there is nothing to do."""
    before, requests = passes(controller), controller.requests()
    site.merge("ud", "web", {"metadata": {"annotations": {"note": str(number)}}})
    site.until(lambda: passes(controller) > before, "a pass over the application")
    return (controller.requests() - requests).total()


def test_probes_and_metrics_tell_how_it_is_and_sigterm_ends_it_well(site: Site) -> None:
    with site.controller() as controller:
        assert controller.get("/healthz") == (200, "ok\n")
        site.until(lambda: controller.get("/readyz") == (200, "ok\n"), "readiness: it leads and its caches are in sync")
        metrics = controller.get("/metrics")[1]
        for name in ("workqueue_depth", "workqueue_adds_total", "rest_client_requests_total", "uniteddeployment_steps"):
            assert name in metrics
        assert controller.process.stop(signal.SIGTERM) == 0
    assert "Traceback" not in controller.process.log.read_text()
    lease = site.get("lease", "uniteddeployment-controller")
    assert not lease["spec"].get("holderIdentity"), "the lease is given back, so that the next one begins at once"


def test_sigterm_waits_for_the_write_that_is_under_way(site: Site) -> None:
    """What was begun is finished (I9)."""
    site.fleet.needs_processes()
    with site.controller() as controller:
        site.wait_phase("Running", "udc", *site.fleet.members)
        member = site.fleet.members["member-2"]
        member.stop_answering()
        try:
            site.apply(application())
            site.until(lambda: site.names("sts", "member-1"), "the others' writes")
            controller.process.popen.send_signal(signal.SIGTERM)
        finally:
            member.answer_again()
        assert controller.process.stop() == 0
    assert site.names("sts", "member-2") == ["web-member-2"]


def test_one_of_two_works_and_the_other_takes_over_when_it_is_killed(site: Site) -> None:
    """One process at a time (I1)."""
    with site.controller("--lease-seconds", "5") as first, site.controller("--lease-seconds", "5") as second:
        assert site.holder() == first.identity
        assert second.get("/readyz") == (200, "ok\n"), "standing by is being ready"
        assert second.requests()["host", "list", "uniteddeployments"] <= 1, "who stands by looks at nothing"
        first.process.popen.kill()
        site.until(lambda: site.holder() == second.identity, "the other one leads")
        site.apply(application())
        for member in site.fleet.members:
            site.until(partial(site.exists, "sts", f"web-{member}", member), f"the workload of {member}")


def test_nothing_to_do_means_no_requests(site: Site) -> None:
    """A settled application costs nothing, however often it is looked at (I3)."""
    site.fleet.needs_pods()
    with site.controller("--no-leader-elect") as controller:
        site.apply(application())
        site.wait_settled()
        # Events about the last change may still be on their way.
        numbers = itertools.count()
        cost = partial(a_look_that_changes_nothing, site, controller)
        site.until(lambda: [cost(next(numbers)) for _ in range(3)] == [0, 0, 0], "three passes without a request")


def test_killed_in_mid_rollout_and_started_again_it_goes_on(site: Site) -> None:
    """No pod too many is updated, no second workload is made, and the rollout comes to its end (I6, I9).

    Simulations kill it at each write, for each kind; here it is a process.
    """
    site.fleet.needs_pods()
    with site.controller("--no-leader-elect") as controller:
        site.apply(application())
        site.wait_settled()
        site.apply(application(image="app:2", member_1=2, member_2=1, member_3=1))
        site.until(lambda: any(updated(site).values()), "the first updated pod")
        controller.process.popen.kill()
        controller.process.popen.wait()
    dead = updated(site)
    assert all(dead[member] <= size // 2 for member, size in COMPLETE.items()), dead
    with site.controller("--no-leader-elect"):
        site.wait_settled()
        assert updated(site) == {"member-1": 2, "member-2": 1, "member-3": 1}
        site.apply(application(image="app:2"))
        site.wait_settled()
        assert site.all_images() == {member: {"app:2": size} for member, size in COMPLETE.items()}
        for member in site.fleet.members:
            assert len(site.names("sts", member)) == 1


def test_deleting_takes_everything_along(site: Site) -> None:
    """The finalizer clears the members, owner references the host."""
    site.fleet.needs_pods()
    with site.controller("--no-leader-elect"):
        site.apply(application(DEPLOYMENT))
        site.wait_settled()
        site.delete("ud", "web")
        for member in site.fleet.members:
            assert not site.names("sts", member) + site.names("deploy", member)
        site.until(lambda: not any(site.names("pods", member) for member in site.fleet.members), "no pods")
        site.until(lambda: not site.names("controllerrevisions"), "no revisions")
