"""Carrying out a plan: concurrent over clusters, in order within one, each failure kept to where it happened (I10).

The answer of each write goes into the caches at once, so that the next look already sees it (I9).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from uniteddeployment.controller.failures import failure, is_final
from uniteddeployment.controller.host import Host
from uniteddeployment.controller.host_writes import HostWriter
from uniteddeployment.controller.member_writes import MemberWriter, Written
from uniteddeployment.controller.observe import Memory
from uniteddeployment.controller.takeover import immutable
from uniteddeployment.fleet.registry import Fleet
from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.planning.observed import Refusal
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.recreate import applied
from uniteddeployment.planning.steps import Apply, Delete, Event, HostStep, MemberStep
from uniteddeployment.planning.subject import Subject


@dataclass(slots=True)
class Outcome:
    """How a plan went. ``failed`` says that it has to be tried again."""

    failed: bool = False
    done: list[MemberStep] = field(default_factory=list)
    """The steps that changed something."""
    untold: list[MemberStep] = field(default_factory=list)
    """Those of them that no Event speaks of."""
    host_error: str = ""
    events: list[Event] = field(default_factory=list)


class Actor:
    """Writes what a plan says."""

    def __init__(self, client: Client, host: Host, fleet: Fleet) -> None:
        self._fleet = fleet
        self._hosts = HostWriter(client, host)
        self._members = MemberWriter()

    async def carry_out(self, subject: Subject, plan: Plan, memory: Memory) -> Outcome:
        """Everything that the plan asks for. Failures in members end up in ``memory``, with their subset."""
        outcome = Outcome()
        try:
            for step in plan.before:
                await self._hosts.write(subject, step)
            async with asyncio.TaskGroup() as tasks:
                for cluster, steps in plan.members.items():
                    tasks.create_task(self._cluster(subject, cluster, steps, memory, outcome))
                for step in plan.host:
                    tasks.create_task(self._guarded_host_step(subject, step, outcome))
            if not outcome.failed:
                for step in plan.after:
                    await self._hosts.write(subject, step)
        except errors.KubeError as error:
            outcome.failed = True
            outcome.host_error = str(error)
        return outcome

    async def _cluster(
        self, subject: Subject, cluster: str, steps: Sequence[MemberStep], memory: Memory, outcome: Outcome
    ) -> None:
        member = self._fleet.member(cluster)
        if member is None:
            outcome.failed = True
            return
        broken: set[str] = set()
        for step in steps:
            if step.subset in broken:
                continue  # a later write may rely on the earlier one
            try:
                written = await self._members.write(subject, member, step, memory)
            except errors.KubeError as error:
                broken.add(step.subset)
                outcome.failed = True
                now = asyncio.get_running_loop().time()
                before = memory.failures.get(step.subset)
                memory.failures[step.subset] = failure(before, step, error, subject.generation, now)
                _note_refusal(step, error, memory)
                if isinstance(error, errors.Unreachable | errors.Unauthorized):
                    member.suspect()
            else:
                _note_success(step, written, memory, outcome)

    async def _guarded_host_step(self, subject: Subject, step: HostStep, outcome: Outcome) -> None:
        """A failure on the host must not cancel what goes on in members."""
        try:
            await self._hosts.write(subject, step)
        except errors.KubeError as error:
            outcome.failed = True
            outcome.host_error = str(error)


def _note_success(step: MemberStep, written: Written, memory: Memory, outcome: Outcome) -> None:
    memory.failures.pop(step.subset, None)
    memory.refused.pop((step.cluster, step.kind, step.name), None)
    if written.changed:
        outcome.done.append(step)
        if not written.events:
            outcome.untold.append(step)
    outcome.events += written.events


def _note_refusal(step: MemberStep, error: errors.KubeError, memory: Memory) -> None:
    """Remember a change that cannot be made to what is there, for one that may be recreated."""
    noted = (step.cluster, step.kind, step.name)
    if isinstance(step, Apply) and not step.create and immutable(error):
        memory.refused[noted] = Refusal(applied(step.body))
    elif isinstance(step, Delete) and step.successor is not None and is_final(error):
        memory.refused[noted] = Refusal(applied(step.successor), final=True)
