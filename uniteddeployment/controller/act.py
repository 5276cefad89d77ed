"""Carries out a plan: clusters concurrently, the steps of one cluster in order. A failure stays with its subset (I10).

The answer to each write goes into the caches at once, so that the next plan is made from it (I9).
"""

import asyncio
from collections.abc import Callable

from uniteddeployment.controller.failures import failure, is_final
from uniteddeployment.controller.flights import Flight, Flights, Outcome
from uniteddeployment.controller.host import Host
from uniteddeployment.controller.host_writes import HostWriter
from uniteddeployment.controller.member_namespaces import NamespaceCreator
from uniteddeployment.controller.member_writes import MemberWriter, Written
from uniteddeployment.controller.observe import Memory
from uniteddeployment.controller.takeover import immutable
from uniteddeployment.fleet.member import Member
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.changes.recreate import applied
from uniteddeployment.planning.observed import Drift, Refusal
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.results import LONGEST_MESSAGE
from uniteddeployment.planning.steps import Apply, Delete, DeletePod, HostStep, MemberStep
from uniteddeployment.text import shortened


class Actor:
    """Carries out the steps of plans. ``on_late`` is called with writes that finish after their pass."""

    def __init__(
        self,
        client: Client,
        host: Host,
        fleet: Fleet,
        on_late: Callable[[Flight], None],
        namespaces: NamespaceCreator,
    ) -> None:
        self._fleet = fleet
        self._hosts = HostWriter(client, host)
        self._members = MemberWriter(fleet, namespaces)
        self.flights = Flights(self._write_members, on_late)

    async def carry_out(self, subject: Subject, plan: Plan, memory: Memory) -> Outcome:
        """Carry out all steps of a plan. Failures in members are noted in ``memory``, by subset.

        Writes that are not answered within a short grace stay in flight, and are not part of the outcome.
        """
        outcome = Outcome()
        try:
            for before in plan.before:
                await self._hosts.write(subject, before)
            members = {name: steps for name, steps in plan.members.items() if not self.flights.is_full(name)}
            outcome.failed = len(members) < len(plan.members)
            with self.flights.started(subject, memory, members) as flights:
                async with asyncio.TaskGroup() as tasks:
                    for step in plan.host:
                        tasks.create_task(self._guarded_host_step(subject, step, outcome))
                for flight in await self.flights.wait(flights):
                    outcome.add(flight.outcome)
            if not outcome.failed and not self.flights.of((subject.namespace, subject.name)):
                for after in plan.after:
                    await self._hosts.write(subject, after)
        except errors.KubeError as error:
            outcome.failed = True
            outcome.host_error = str(error)
        return outcome

    async def _write_members(self, flight: Flight) -> None:
        """Carry out the steps of one cluster, in order."""
        member = self._fleet.member(flight.cluster)
        if member is None:
            flight.outcome.failed = True
            return
        broken: set[str] = set()
        for position, step in enumerate(flight.steps):
            flight.position = position
            if flight.obsolete:
                return
            if step.subset not in broken and not await self._write(flight, member, step):
                broken.add(step.subset)  # later writes of the subset may depend on this one

    async def _write(self, flight: Flight, member: Member, step: MemberStep) -> bool:
        """Carry out one step; return whether it succeeded."""
        subject, memory = flight.subject, flight.memory
        try:
            written = await self._members.write(subject, member, step, memory)
        except errors.KubeError as error:
            flight.outcome.failed = True
            flight.outcome.broken.append(step)
            now = asyncio.get_running_loop().time()
            before = memory.failures.get(step.subset)
            memory.failures[step.subset] = failure(before, step, error, subject.generation, now)
            _note_refusal(step, error, memory)
            if isinstance(error, errors.Unreachable | errors.Unauthorized):
                member.probe_soon()
            return False
        _note_success(step, written, memory, flight.outcome)
        return True

    async def _guarded_host_step(self, subject: Subject, step: HostStep, outcome: Outcome) -> None:
        """Carry out a step on the host. Its failure must not cancel the writes in members."""
        try:
            await self._hosts.write(subject, step)
        except errors.KubeError as error:
            outcome.failed = True
            outcome.host_error = str(error)


def _note_success(step: MemberStep, written: Written, memory: Memory, outcome: Outcome) -> None:
    memory.failures.pop(step.subset, None)
    if written.drift:
        memory.drifts[step.subset] = Drift(memory.observed_at, shortened(written.drift, LONGEST_MESSAGE))
    if not isinstance(step, DeletePod):
        memory.refused.pop(step.ref.key, None)
    if written.changed:
        outcome.done.append(step)
        if not written.events:
            outcome.unmentioned.append(step)
    outcome.events += written.events


def _note_refusal(step: MemberStep, error: errors.KubeError, memory: Memory) -> None:
    """Note a change that the API server refuses for existing objects: the workload may have to be recreated."""
    if isinstance(step, Apply) and not step.create and immutable(error, step.kind):
        memory.refused[step.ref.key] = Refusal(applied(step.body))
    elif isinstance(step, Delete) and step.successor is not None and is_final(error):
        memory.refused[step.ref.key] = Refusal(applied(step.successor), final=True)
