"""``ud rollout plan``: the pods of each cluster at each step, before anything starts."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uniteddeployment.cli.connect import Target, connected, read_application
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.output.documents import check_output, dump
from uniteddeployment.cli.output.labels import line
from uniteddeployment.cli.output.table import Column, Row, table
from uniteddeployment.cli.output.terminal import Line, Lines, Screen
from uniteddeployment.cli.rollout import files
from uniteddeployment.cli.rollout.files import Subset
from uniteddeployment.cli.rollout.objects import read
from uniteddeployment.cli.rollout.tree import step_name
from uniteddeployment.controller import logs
from uniteddeployment.kube.client import Client
from uniteddeployment_api.errors import InvalidObject
from uniteddeployment_api.v1alpha1.rollout import RolloutStep, UnitedRollout
from uniteddeployment_api.validation.rollout import validate_united_rollout
from uniteddeployment_rollout.loop.objects import CLUSTERS, StoredCluster, StoredTarget, target_of
from uniteddeployment_rollout.steps import goal, steps_of


@dataclass(frozen=True, slots=True)
class Preview:
    """The steps of a rollout on the subsets of its target. Raises InvalidObject for steps that do not fit them."""

    name: str
    rollout: UnitedRollout
    subsets: tuple[Subset, ...]

    def __post_init__(self) -> None:
        if errors := validate_united_rollout(self.rollout, self.labels):
            raise InvalidObject(errors)

    @property
    def sizes(self) -> dict[str, int]:
        return {subset.name: subset.replicas for subset in self.subsets}

    @property
    def labels(self) -> dict[str, Mapping[str, str]]:
        return {subset.name: subset.labels or {} for subset in self.subsets}

    def goals(self) -> list[Mapping[str, int]]:
        """Updated pods by subset, at each step."""
        numbers = range(1, len(steps_of(self.rollout.spec)) + 1)
        return [goal(self.rollout.spec, number, self.sizes, labels=self.labels).updated for number in numbers]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        goals = zip(steps_of(self.rollout.spec), self.goals(), strict=True)
        return {
            "name": self.name,
            "target": self.rollout.spec.target_ref.name,
            "replicas": self.sizes,
            "steps": [
                {
                    "step": number,
                    "updatedReplicas": sum(updated.values()),
                    "updated": dict(updated),
                    "partitions": {name: size - updated[name] for name, size in self.sizes.items()},
                    "then": then(step),
                }
                for number, (step, updated) in enumerate(goals, start=1)
            ],
        }

    def lines(self, width: int | None) -> Lines:
        """A row for each subset and a column for each step, and below them what each step waits for."""
        goals = self.goals()
        numbers = [f"STEP {number}" for number in range(1, len(goals) + 1)]
        columns = [Column("SUBSET"), Column("CLUSTER", drop=1), Column("PODS", right=True)]
        columns += [Column(number, right=True) for number in numbers]
        rows = [
            Row(
                {
                    "SUBSET": subset.name,
                    "CLUSTER": subset.cluster.rpartition("/")[2] or "(host)",
                    "PODS": str(subset.replicas),
                    **{number: str(updated[subset.name]) for number, updated in zip(numbers, goals, strict=True)},
                }
            )
            for subset in self.subsets
        ]
        total = sum(self.sizes.values())
        sums = {number: _share(sum(updated.values()), total) for number, updated in zip(numbers, goals, strict=True)}
        rows.append(Row({"SUBSET": "all", "PODS": str(total), **sums}))
        return [*table(columns, rows, width), line(""), *self._steps()]

    def _steps(self) -> Iterator[Line]:
        for number, step in enumerate(steps_of(self.rollout.spec), start=1):
            name = step_name(step.model_dump(by_alias=True, exclude_none=True))
            yield line(f"step {number}: {name}{''.join(f', then {part}' for part in then(step))}")


def main(target: Target, names: Sequence[str], manifests: Sequence[str], output: str) -> None:
    """Print the plan of each rollout. Raises CommandError, InvalidObject."""
    check_output(output, ("json", "yaml"))
    if bool(names) == bool(manifests):
        raise CommandError("name UnitedRollouts of the cluster, or give a file with -f", USAGE)
    logs.configure("console", "error")
    previews = asyncio.run(_from_host(target, names) if names else _from_files(target, manifests))
    if output:
        dump(previews[0].as_dict() if len(previews) == 1 else [preview.as_dict() for preview in previews], output)
        return
    screen = Screen()
    for preview in previews:
        if len(previews) > 1:
            screen.show([line(f"{preview.name}:")])
        screen.show(preview.lines(screen.width))


async def _from_host(target: Target, names: Sequence[str]) -> list[Preview]:
    previews = []
    async with connected(target) as client:
        for name in names:
            stored = await read(client, target.namespace, name)
            subsets = await _subsets(client, target.namespace, stored.target[1])
            labels = await _labels(client) if stored.selects_clusters else {}
            previews.append(Preview(name, stored.model(), files.labelled(subsets, labels)))
    return previews


async def _from_files(target: Target, manifests: Sequence[str]) -> list[Preview]:
    """The rollouts of files. Targets and Clusters that the files do not contain are read from the cluster."""
    contents = files.read(manifests)
    previews = []
    for rollout in contents.valid():
        subsets = contents.subsets(rollout.spec.target_ref.name)
        selects = any(step.wave is not None and step.wave.cluster_selector for step in rollout.spec.steps)
        if subsets is None or (selects and not all(subset.labels is not None for subset in subsets)):
            async with connected(target) as client:
                if subsets is None:
                    namespace = rollout.metadata.namespace or target.namespace
                    subsets = await _subsets(client, namespace, rollout.spec.target_ref.name)
                subsets = files.labelled(subsets, await _labels(client) if selects else {})
        previews.append(Preview(rollout.metadata.name, rollout, subsets))
    return previews


async def _subsets(client: Client, namespace: str, application: str) -> tuple[Subset, ...]:
    """The subsets of an application, as its status shows them. Raises CommandError if it shows none."""
    stored = await read_application(client, namespace, application, StoredTarget)
    subsets = tuple(Subset(one.name, one.cluster, one.replicas) for one in target_of(stored).subsets)
    if not subsets:
        raise CommandError(f"UnitedDeployment {application} has no status yet; is the controller running?")
    return subsets


async def _labels(client: Client) -> dict[str, Mapping[str, str]]:
    """The labels of all Cluster objects."""
    clusters = await client.list_all(CLUSTERS, StoredCluster)
    return {f"{cluster.metadata.namespace}/{cluster.metadata.name}": cluster.metadata.labels for cluster in clusters}


def then(step: RolloutStep) -> list[str]:
    """What a step waits for after its pods are ready."""
    parts = [f"bake {step.bake}"] if step.bake else []
    parts += [f"gate {gate.name}{' (dry run)' if gate.dry_run else ''}" for gate in step.gates]
    if step.pause is not None:
        parts.append(f"pause {step.pause.duration}" if step.pause.duration else "wait for approval")
    return parts


def _share(pods: int, total: int) -> str:
    return f"{pods} ({100 * pods // total}%)" if total else str(pods)
