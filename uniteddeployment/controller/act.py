"""Carrying out a plan: concurrent over clusters, in order within one, each failure kept to where it happened (I10).

The answer of each write goes into the caches at once, so that the next look already sees it (I9).
"""

import asyncio
from collections.abc import Callable

from uniteddeployment.controller.failures import failure, is_final
from uniteddeployment.controller.flights import Flight, Flights, Outcome
from uniteddeployment.controller.host import Host
from uniteddeployment.controller.host_writes import HostWriter
from uniteddeployment.controller.member_writes import MemberWriter, Written
from uniteddeployment.controller.observe import Memory
from uniteddeployment.controller.takeover import immutable
from uniteddeployment.fleet.member import Member
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.planning.application import Subject
from uniteddeployment.planning.changes.recreate import applied
from uniteddeployment.planning.observed import Refusal
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.steps import Apply, Delete, DeletePod, HostStep, MemberStep


class Actor:
    """Writes what a plan says."""

    def __init__(self, client: Client, host: Host, fleet: Fleet, landed: Callable[[Flight], None]) -> None:
        self._fleet = fleet
        self._hosts = HostWriter(client, host)
        self._members = MemberWriter()
        self.flights = Flights(self._write_members, landed)

    async def carry_out(self, subject: Subject, plan: Plan, memory: Memory) -> Outcome:
        """Everything that the plan asks for. Failures in members end up in ``memory``, with their subset.

        What members do not answer within a grace is left in flight, and is not part of the outcome.
        """
        outcome = Outcome()
        try:
            for before in plan.before:
                await self._hosts.write(subject, before)
            members = {name: steps for name, steps in plan.members.items() if not self.flights.crowded(name)}
            outcome.failed = len(members) < len(plan.members)
            with self.flights.begun(subject, memory, members) as flights:
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
        """The steps of one cluster, in order."""
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
                broken.add(step.subset)  # a later write of the subset may rely on this one

    async def _write(self, flight: Flight, member: Member, step: MemberStep) -> bool:
        """One step; says whether it succeeded."""
        subject, memory = flight.subject, flight.memory
        try:
            written = await self._members.write(subject, member, step, memory)
        except errors.KubeError as error:
            flight.outcome.failed = True
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
        """A failure on the host must not cancel what goes on in members."""
        try:
            await self._hosts.write(subject, step)
        except errors.KubeError as error:
            outcome.failed = True
            outcome.host_error = str(error)


def _note_success(step: MemberStep, written: Written, memory: Memory, outcome: Outcome) -> None:
    memory.failures.pop(step.subset, None)
    if not isinstance(step, DeletePod):
        memory.refused.pop(step.ref.key, None)
    if written.changed:
        outcome.done.append(step)
        if not written.events:
            outcome.untold.append(step)
    outcome.events += written.events


def _note_refusal(step: MemberStep, error: errors.KubeError, memory: Memory) -> None:
    """Remember a change that cannot be made to what is there, for one that may be recreated."""
    if isinstance(step, Apply) and not step.create and immutable(error):
        memory.refused[step.ref.key] = Refusal(applied(step.body))
    elif isinstance(step, Delete) and step.successor is not None and is_final(error):
        memory.refused[step.ref.key] = Refusal(applied(step.successor), final=True)
