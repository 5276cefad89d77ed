"""``ud rollout plan``: the pods of each cluster at each step, before anything starts."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from uniteddeployment.cli.connect import Target, connected, read_application
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.output.documents import check_output, dump
from uniteddeployment.cli.output.table import Column, Row, table
from uniteddeployment.cli.output.terminal import Lines, Screen, printable
from uniteddeployment.cli.rollout import files
from uniteddeployment.cli.rollout.objects import read
from uniteddeployment.cli.rollout.tree import step_name
from uniteddeployment.controller import logs
from uniteddeployment.kube.client import Client
from uniteddeployment_api.errors import InvalidObject
<<<<<<< HEAD
from uniteddeployment_api.v1alpha1.rollout import RolloutStep, UnitedRolloutSpec
from uniteddeployment_api.validation.rollout import parse_united_rollout, validate_united_rollout
from uniteddeployment_rollout.loop.objects import CLUSTERS, StoredCluster, StoredTarget, target_of
=======
from uniteddeployment_api.v1alpha1.rollout import RolloutStep, UnitedRollout
from uniteddeployment_api.validation.rollout import validate_united_rollout
from uniteddeployment_rollout.loop.objects import StoredTarget, target_of
>>>>>>> 086b21c (Show rollouts as trees and lists, with watch, and plan those of files)
from uniteddeployment_rollout.steps import goal, steps_of
from uniteddeployment_rollout.target import Target as Application


@dataclass(frozen=True, slots=True)
class Subset:
    """A subset of the target."""

    name: str
    cluster: str
    replicas: int


@dataclass(frozen=True, slots=True)
class Preview:
    """The steps of a rollout on the subsets of its target. Raises InvalidObject for steps that do not fit them."""

    name: str
    rollout: UnitedRollout
    subsets: tuple[Subset, ...]

    def __post_init__(self) -> None:
        if errors := validate_united_rollout(self.rollout, self.sizes):
            raise InvalidObject(errors)

    @property
    def sizes(self) -> dict[str, int]:
        return {subset.name: subset.replicas for subset in self.subsets}

    def goals(self) -> list[Mapping[str, int]]:
        """Updated pods by subset, at each step."""
        numbers = range(1, len(steps_of(self.rollout.spec)) + 1)
        return [goal(self.rollout.spec, number, self.sizes).updated for number in numbers]

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
        return [*table(columns, rows, width), Text(""), *self._steps()]

    def _steps(self) -> Iterator[Text]:
        for number, step in enumerate(steps_of(self.rollout.spec), start=1):
            name = step_name(step.model_dump(by_alias=True, exclude_none=True))
            yield Text(printable(f"step {number}: {name}{''.join(f', then {part}' for part in then(step))}"))


def main(target: Target, names: Sequence[str], manifests: Sequence[str], output: str) -> None:
    """Print the plan of each rollout. Raises CommandError, InvalidObject."""
    check_output(output, ("json", "yaml"))
    if bool(names) == bool(manifests):
        raise CommandError("name UnitedRollouts of the cluster, or give a file with -f", USAGE)
    logs.configure("console", "error")
<<<<<<< HEAD
    spec, application = asyncio.run(_read(target, name))
    columns = (
        Column("STEP"),
        *(Column(subset, right=True) for subset in application.sizes),
        Column("PODS"),
        Column("THEN"),
    )
    screen = Screen()
    screen.show(table(columns, _rows(spec, application), screen.width))


def lint(files: Sequence[str]) -> None:
    """Check all UnitedRollouts in files. Raises CommandError."""
    found = [manifest for manifest in manifests.read(files) if manifest.kind == names.UNITED_ROLLOUT_KIND]
    if not found:
        raise CommandError("no UnitedRollout found in the files", USAGE)
    problems = []
    for manifest in found:
        try:
            errors = validate_united_rollout(parse_united_rollout(manifest.document))
        except InvalidObject as error:
            errors = error.errors
        problems += [f"{manifest.title}: {error}" for error in errors]
        if not errors:
            say(f"{manifest.title}: valid")
    if problems:
        fail_with(problems, USAGE)


async def _read(target: Target, name: str) -> tuple[UnitedRolloutSpec, Application]:
    async with connected(target) as client:
        rollout = await read(client, target.namespace, name)
        application = await read_application(client, target.namespace, rollout.target[1], StoredTarget)
        clusters = await client.list_all(CLUSTERS, StoredCluster) if rollout.selects_clusters else []
    labels = {f"{cluster.metadata.namespace}/{cluster.metadata.name}": cluster.metadata.labels for cluster in clusters}
    model, found = rollout.model(), target_of(application, lambda cluster: labels.get(cluster, {}))
    if errors := validate_united_rollout(model, found.labels):
        raise InvalidObject(errors)
    return model.spec, found


def _rows(spec: UnitedRolloutSpec, application: Application) -> list[Row]:
    rows, sizes = [], application.sizes
    total = sum(sizes.values())
    for number, step in enumerate(steps_of(spec), start=1):
        wanted = goal(spec, number, sizes, labels=application.labels)
        cells = {subset: f"{wanted.updated[subset]}/{size}" for subset, size in sizes.items()}
        share = f"{wanted.total} of {total}" + (f" ({100 * wanted.total // total}%)" if total else "")
        rows.append(Row({"STEP": str(number), **cells, "PODS": share, "THEN": _then(step)}))
    return rows
=======
    previews = asyncio.run(_from_host(target, names) if names else _from_files(target, manifests))
    if output:
        dump(previews[0].as_dict() if len(previews) == 1 else [preview.as_dict() for preview in previews], output)
        return
    screen = Screen()
    for preview in previews:
        if len(previews) > 1:
            screen.show([Text(printable(f"{preview.name}:"))])
        screen.show(preview.lines(screen.width))


async def _from_host(target: Target, names: Sequence[str]) -> list[Preview]:
    previews = []
    async with connected(target) as client:
        for name in names:
            rollout = (await read(client, target.namespace, name)).model()
            subsets = await _subsets(client, target.namespace, rollout)
            previews.append(Preview(name, rollout, subsets))
    return previews


async def _from_files(target: Target, manifests: Sequence[str]) -> list[Preview]:
    """The rollouts of files. Their targets are read from the files, too, or else from the cluster."""
    read_ = files.read(manifests)
    previews = []
    for rollout in read_.valid():
        name, application = rollout.metadata.name, rollout.spec.target_ref.name
        known = read_.subsets(application)
        if known is None:
            async with connected(target) as client:
                subsets = await _subsets(client, rollout.metadata.namespace or target.namespace, rollout)
        else:
            subsets = tuple(Subset(*entry) for entry in known)
        previews.append(Preview(name, rollout, subsets))
    return previews
>>>>>>> 086b21c (Show rollouts as trees and lists, with watch, and plan those of files)


async def _subsets(client: Client, namespace: str, rollout: UnitedRollout) -> tuple[Subset, ...]:
    stored = await read_application(client, namespace, rollout.spec.target_ref.name, StoredTarget)
    subsets = tuple(Subset(one.name, one.cluster, one.replicas) for one in target_of(stored).subsets)
    if not subsets:
        raise CommandError(
            f"UnitedDeployment {stored.metadata.name} has no status yet; is the controller running?", USAGE
        )
    return subsets


def then(step: RolloutStep) -> list[str]:
    """What a step waits for after its pods are ready."""
    parts = [f"bake {step.bake}"] if step.bake else []
    if step.pause is not None:
        parts.append(f"pause {step.pause.duration}" if step.pause.duration else "wait for approval")
    return parts


def _share(pods: int, total: int) -> str:
    return f"{pods} ({100 * pods // total}%)" if total else str(pods)
