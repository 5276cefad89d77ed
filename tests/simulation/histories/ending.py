"""What has to be true at the end of every story, when no member has faults any more."""

import asyncio
from collections import Counter
from collections.abc import Callable

from tests.simulation.histories.breach import Breaches
from tests.simulation.histories.desired import Desired
from tests.simulation.histories.ledger import Ledger
from tests.simulation.histories.objects import Health
from tests.simulation.histories.requested import Generation
from tests.simulation.histories.status_rules import place_range, ready
from tests.simulation.histories.story import Quota, Story
from tests.simulation.histories.tampering import change_cluster, limit
from tests.simulation.histories.troubles import Troubles
from tests.support.world import CLUSTERS, UDS
from uniteddeployment.embedded.controllers.kubelet.nodes import node_object
from uniteddeployment_api import names

QUIET_SECONDS = 130.0
"""A failed write is tried again within 60 s, so a controller that does not write for this long has finished."""
MARKED_SECONDS = 310.0
"""A subset that had no room for a pod takes pods again after five minutes, and its status says so then."""
PATIENCE_SECONDS = 1800.0
"""Everything has come to rest by then."""
PATH = f"{names.API_PATH}/namespaces/default/{names.UNITED_DEPLOYMENT_PLURAL}/web"


def running(health: Health) -> bool:
    """Whether a member is Running."""
    return health.phase == "Running"


class Ending:
    """The end of a story."""

    def __init__(self, story: Story, desired: Desired, ledger: Ledger, breaches: Breaches, troubles: Troubles) -> None:
        self._story = story
        self._desired = desired
        self._ledger = ledger
        self._breaches = breaches
        self._troubles = troubles
        self._world = ledger.world
        self._circumstances = troubles.circumstances

    async def play(self, *, orphan: bool) -> None:
        """Remove all faults and check, finish the rollout and check again, then delete the application.

        Stories about members check what is left of their faults, and spare the rollout.
        """
        self._remove_faults()
        if self._story.members:
            await self._until(lambda: all(map(running, self._ledger.health.values())), "the recovery of the members")
        await self._have_an_application()
        await self._wait_for_quiet("I3")
        self._check_what_runs()
        await self._restart()
        if not self._story.members:
            self._desired.finish()
            self._world.apply(self._desired.document())
            await self._wait_for_quiet("I9")
            self._check_what_runs()
            self._check_the_rollout()
        await self._delete(orphan=orphan)

    def _remove_faults(self) -> None:
        self._troubles.recover(None)
        for name, member in self._world.members.items():
            member.faults.clear()
            limit(self._world, name, None)
            if self._world.host.access.get(CLUSTERS, "default", name) is not None:
                change_cluster(self._world, name, taints=[], unschedulable=False)
            if self._story.capacity:  # an autoscaler has added a node
                node = node_object(f"{name}-large", zone="z1", cpu="64", memory="256Gi", ready_after=0.0)
                member.access.create("nodes", node, manager="kubelet")
        self._circumstances.clear_faults()
        if self._world.life is None:
            self._world.start_controller()
        assert self._world.life is not None
        self._world.life.spare()

    async def _have_an_application(self) -> None:
        """There is one that is not paused. One that is being deleted goes first."""
        await self._until(lambda: not self._ledger.deleting, "the deletion that the story asked for")
        if self._world.ud() is None:
            self._desired.finish()  # a creation has to be valid in all its parts
        if self._desired.paused or self._world.ud() is None:
            self._desired.paused = False
            self._world.apply(self._desired.document())

    async def _wait_for_quiet(self, rule: str) -> None:
        """Wait until the controller writes nothing any more."""
        deadline = self._world.loop.time() + PATIENCE_SECONDS
        seconds = MARKED_SECONDS if self._story.capacity else QUIET_SECONDS
        while not self._breaches.first:
            before = self._writes()
            await asyncio.sleep(seconds)
            more = self._writes() - before
            if not more:
                return
            if self._world.loop.time() > deadline:
                why = f"writes go on, {more} in {seconds:.0f} s: {self._ledger.reasons()}"
                self._breaches.report(rule, why)

    def _writes(self) -> int:
        assert self._world.life is not None
        return self._world.life.writes

    async def _restart(self) -> None:
        """A fresh plan of what is at rest has no step (I3)."""
        await self._world.stop_controller()
        self._world.start_controller()
        await asyncio.sleep(60)
        if self._writes():
            self._breaches.report("I3", f"{self._writes()} writes after a restart of what was at rest")

    # Checks

    def _check_what_runs(self) -> None:
        """The newest generation runs (I9), and status says whether it does (I8)."""
        if self._breaches.first:
            return
        ledger, newest = self._ledger, self._ledger.newest
        subsets = [self._check_subset(newest, name, request.member) for name, request in newest.subsets.items()]
        well = all(subsets)
        failing = any(image.startswith("fail") for counts in ledger.living.values() for image in +counts)
        if not well and not failing and not newest.image.startswith("fail") and not self._forgotten(newest):
            self._breaches.report("I9", f"it came to rest with {ledger.summary()}: {ledger.reasons()}")
        if (ready(ledger.status) == "True") != well:
            why = f"Ready is {ready(ledger.status)} with {ledger.summary()}: {ledger.reasons()}"
            self._breaches.report("I8", why)
        if well:
            self._check_leftovers(newest)
            self._check_the_division(newest)

    def _forgotten(self, newest: Generation) -> bool:
        """Whether somebody deleted the template that held pods need, and status says so."""
        current = self._ledger.status.get("currentRevision", "")
        lost = self._world.host.access.get("controllerrevisions.apps", "default", current) is None
        held = self._ledger.stable != newest.image
        message = f"the ControllerRevision {current} of the stable version is gone"
        return lost and held and message in self._ledger.reasons()

    def _check_subset(self, newest: Generation, name: str, member: str) -> bool:
        """Whether a subset is as requested. More updated pods than any partition allowed are a breach (I6)."""
        ledger, place = self._ledger, (member, name)
        request = newest.subsets[name]
        pods = ledger.pods_at(place)
        total, updated = pods.total(), pods[newest.image]
        wanted = total
        if ledger.stable and ledger.stable != newest.image:
            wanted = request.updated_of(total)
            allowed = max(
                one.subsets[name].updated
                for one in ledger.generations
                if name in one.subsets and one.image == newest.image
            )
            if updated > allowed and place not in self._circumstances.ever_tampered:
                why = f"{updated} pods of {newest.image}, never more than {allowed} were allowed"
                self._breaches.report("I6", f"{place} runs {why}")
        elif not ledger.stable:
            wanted = 0
        low, high = place_range(ledger, newest, name)
        return low <= total <= high and pods == ledger.ready_at(place) and updated >= wanted

    def _check_the_division(self, newest: Generation) -> None:
        """The replicas are divided as those of a new application would be, if nobody asked for others (I9).

        Where shares tie, what ran before decides. What could not be scheduled, and what was asked for while replicas
        were elsewhere, stays where it was placed.
        """
        ledger, story = self._ledger, self._story
        asked = {(one.total, tuple(one.subsets), tuple(one.shares.items())) for one in ledger.generations}
        if not story.members or story.capacity or len(asked) > 1 or self._was_full:
            return
        counts = [ledger.pods_at((request.member, name)).total() for name, request in newest.subsets.items()]
        if sorted(counts) != sorted(newest.fresh.values()):
            why = f"{ledger.summary()} came to rest; if it was new, it would be {dict(newest.fresh)}"
            self._breaches.report("I9", why)

    def _check_leftovers(self, newest: Generation) -> None:
        """No second workload, and nothing left over (I9)."""
        ledger = self._ledger
        seen: Counter[tuple[str, ...]] = Counter()
        for workload in ledger.workloads.values():
            if workload.owner not in ledger.known:
                continue
            wanted = workload.owner == ledger.uid and workload.resource == ledger.resource
            if not wanted or not newest.subset(workload.place):
                self._breaches.report("I9", f"{workload.name} is left in {workload.place[0]}")
            seen[(*workload.place, workload.image if ledger.per_revision else "")] += 1
        for key, count in seen.items():
            if count > 1:
                self._breaches.report("I9", f"there are {count} workloads of {key}")

    def _check_the_rollout(self) -> None:
        """The last edit requests one version everywhere (I9)."""
        if self._breaches.first:
            return
        status, image = self._ledger.status, self._desired.image
        running = {image for counts in self._ledger.living.values() for image in +counts}
        if running != {image} or ready(status) != "True":
            why = f"{image} was not rolled out: {self._ledger.summary()}: {self._ledger.reasons()}"
            self._breaches.report("I9", why)
        elif status["currentRevision"] != status["updatedRevision"]:
            self._breaches.report("I9", f"{image} runs everywhere and is not called current")

    async def _delete(self, *, orphan: bool) -> None:
        """A deletion takes everything, or with orphaning nothing but our marks (I9)."""
        before = set(self._ledger.pods)
        policy = "Orphan" if orphan else "Background"
        self._world.request(self._world.host, "DELETE", PATH, {"propagationPolicy": policy})
        await self._until(lambda: self._world.host.access.get(UDS, "default", "web") is None, "the deletion")
        await asyncio.sleep(60)
        lost = len(before - set(self._ledger.pods))
        if orphan and lost:
            self._breaches.report("orphan", f"{lost} pods did not outlive the deletion")
        if not orphan and self._ledger.pods:
            self._breaches.report("I9", f"pods outlived the deletion: {self._ledger.summary()}")
        if any(workload.owner in self._ledger.known for workload in self._ledger.workloads.values()):
            self._breaches.report("I9", "workloads with our marks outlived the deletion")

    @property
    def _was_full(self) -> bool:
        return any(isinstance(step.action, Quota) for step in self._story.steps)

    async def _until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = self._world.loop.time() + PATIENCE_SECONDS
        while not condition() and not self._breaches.first:
            if self._world.loop.time() > deadline:
                self._breaches.report("I9", f"{what} did not end: {self._ledger.reasons()}")
            await asyncio.sleep(1)
