"""``ud rollout plan`` and ``ud rollout lint``: what the steps of a rollout mean, before anything starts."""

import asyncio
from collections.abc import Sequence

from uniteddeployment.cli import manifests
from uniteddeployment.cli.connect import Target, connected, read_application
from uniteddeployment.cli.errors import USAGE, CommandError, fail_with
from uniteddeployment.cli.output.table import Column, Row, table
from uniteddeployment.cli.output.terminal import Screen, say
from uniteddeployment.cli.rollout.objects import read
from uniteddeployment.controller import logs
from uniteddeployment_api import names
from uniteddeployment_api.errors import InvalidObject
from uniteddeployment_api.v1alpha1.rollout import RolloutStep, UnitedRolloutSpec
from uniteddeployment_api.validation.rollout import parse_united_rollout, validate_united_rollout
from uniteddeployment_rollout.loop.objects import CLUSTERS, StoredCluster, StoredTarget, target_of
from uniteddeployment_rollout.steps import goal, steps_of
from uniteddeployment_rollout.target import Target as Application


def main(target: Target, name: str) -> None:
    """Print a table of updated pods by subset and step. Raises InvalidObject."""
    logs.configure("console", "error")
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


def _then(step: RolloutStep) -> str:
    """What comes after the pods of a step are ready."""
    parts = [f"bake {step.bake}"] if step.bake else []
    if step.pause is not None:
        parts.append(f"pause {step.pause.duration}" if step.pause.duration else "wait for approval")
    return ", ".join(parts)
