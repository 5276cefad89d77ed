"""``ud plan``: previews what the controller would do for the UnitedDeployments of manifests."""

import asyncio
from collections.abc import Collection, Sequence

from uniteddeployment.cli import snapshot
from uniteddeployment.cli.clusters.inputs import nearest
from uniteddeployment.cli.connect import Target
from uniteddeployment.cli.errors import BLOCKED, USAGE, CommandError, fail_with
from uniteddeployment.cli.output.documents import check_output, dump
from uniteddeployment.cli.plan import dry_run, report, wanted, without
from uniteddeployment.cli.plan.planner import plan_live, plan_offline, plan_stored
from uniteddeployment.cli.plan.report import Preview, Trouble
from uniteddeployment.cli.plan.wanted import Wanted
from uniteddeployment.cli.snapshot import Snapshot
from uniteddeployment.controller import logs
from uniteddeployment.controller.host import Key
from uniteddeployment.controller.objects import parse
from uniteddeployment.planning.observed import Reach
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.status import STALLED
from uniteddeployment.planning.stored import NO_STATUS
from uniteddeployment_api import FieldError


def stored(target: Target, names: Sequence[str], lost: Sequence[str], output: str) -> None:
    """Print the plan of UnitedDeployments of the host, by default of all in the namespace, after the loss of clusters.

    Raises CommandError at the end if a part of a plan cannot be carried out.
    """
    check_output(output, ("text", "json"))
    logs.configure("console", "error")
    previews = asyncio.run(_stored(target, names, lost))
    _print(previews, output)
    _conclude(previews)


def main(
    files: Sequence[str],
    target: Target,
    output: str,
    *,
    required: str,
    recursive: bool,
    live: bool,
    lost: Sequence[str] = (),
) -> None:
    """Print the plan of each UnitedDeployment in the files, after the loss of some clusters.

    ``required`` is the namespace that was asked for; objects of another one are refused. Raises CommandError at the end
    if an object is invalid or a part of a plan cannot be carried out.
    """
    check_output(output, ("text", "json"))
    logs.configure("console", "error")
    objects = wanted.read(files, target.namespace, required=required, recursive=recursive)
    previews = asyncio.run(_live(target, objects, lost)) if live else [_offline(application) for application in objects]
    _print(previews, output)
    _conclude(previews)


def _print(previews: Sequence[Preview], output: str) -> None:
    if output == "json":
        dump([report.as_dict(preview) for preview in previews], output)
    else:
        report.show(previews)


async def _stored(target: Target, names: Sequence[str], lost: Sequence[str]) -> list[Preview]:
    async with snapshot.taken(target, target.namespace) as seen:
        clusters = without.chosen(lost, seen.fleet.clusters(), target.namespace)
        known = {found.metadata.name: found.key for found in seen.host.all()}
        missing = [name for name in names if name not in known]
        if missing:
            raise CommandError(
                f"there is no UnitedDeployment {missing[0]} in namespace {target.namespace}"
                f"{nearest(missing[0], list(known))}"
            )
        return [await _of_host(seen, known[name], clusters) for name in names or sorted(known)]


async def _of_host(seen: Snapshot, key: Key, lost: Collection[str]) -> Preview:
    existing = seen.host.get(key)
    if existing is None:
        raise CommandError(f"the UnitedDeployment {key[1]} was deleted")
    app, errors = parse(existing)
    if app is None:
        return Preview(*key, errors=tuple(str(error) for error in errors))
    result = await plan_stored(seen, existing, lost=lost)
    refusals = await dry_run.refusals(seen.fleet, key[0], result)
    return _of_plan(key, result, refusals, app.model.spec.deletion_policy, lost)


def _offline(wanted_: Wanted) -> Preview:
    errors = wanted_.invalid()
    return _refused(wanted_, errors) if errors else _preview(wanted_, plan_offline(wanted_.stored))


async def _live(target: Target, objects: Sequence[Wanted], lost: Sequence[str]) -> list[Preview]:
    """Plan against the clusters as they are now, with one snapshot for each namespace."""
    planned: dict[int, Preview] = {}
    for namespace in dict.fromkeys(application.namespace for application in objects if not application.errors):
        async with snapshot.taken(target, namespace) as seen:
            clusters = without.chosen(lost, seen.fleet.clusters(), namespace)
            for index, application in enumerate(objects):
                if not application.errors and application.namespace == namespace:
                    planned[index] = await _on(seen, application, clusters)
    return [
        planned.get(index) or _refused(application, application.errors) for index, application in enumerate(objects)
    ]


async def _on(seen: Snapshot, application: Wanted, lost: Collection[str]) -> Preview:
    existing = seen.host.get(application.stored.key)
    app = parse(existing)[0] if existing is not None else None
    if errors := application.invalid(app.model if app is not None else None):
        return _refused(application, errors)
    result = await plan_live(seen, application.stored, lost=lost)
    return _preview(application, result, await dry_run.refusals(seen.fleet, application.namespace, result), lost)


def _refused(application: Wanted, errors: Sequence[FieldError]) -> Preview:
    return Preview(application.namespace, application.name, errors=tuple(str(error) for error in errors))


def _preview(
    application: Wanted, result: Plan, refusals: dict[str, str] | None = None, lost: Collection[str] = ()
) -> Preview:
    policy = application.model.spec.deletion_policy if application.model is not None else ""
    return _of_plan((application.namespace, application.name), result, refusals or {}, policy, lost)


def _of_plan(key: Key, result: Plan, refusals: dict[str, str], policy: str, lost: Collection[str]) -> Preview:
    return Preview(*key, result, _troubles(result, refusals, lost), deletion_policy=policy, lost=tuple(sorted(lost)))


def _troubles(result: Plan, refusals: dict[str, str], lost: Collection[str]) -> tuple[Trouble, ...]:
    troubles = [
        Trouble(subset.name, subset.message)
        for subset in result.results
        if subset.stalled or (subset.reach is not Reach.READY and subset.cluster not in lost)
    ]
    known = {trouble.subset for trouble in troubles}
    troubles += [Trouble(subset, message) for subset, message in refusals.items() if subset not in known]
    if not any(subset.stalled for subset in result.results):
        stalled = (result.status or NO_STATUS).condition(STALLED)
        if stalled is not None and stalled.status == "True":
            troubles.append(Trouble("", stalled.message))
    if result.missing:
        troubles.append(Trouble("", f"the revision {', '.join(sorted(result.missing))} cannot be read"))
    return tuple(troubles)


def _conclude(previews: Sequence[Preview]) -> None:
    """Raise CommandError with the exit code, unless everything can be carried out."""
    invalid = [f"{preview.title} is invalid: {error}" for preview in previews for error in preview.errors]
    if invalid:
        fail_with(invalid, USAGE)
    troubles = sum(len(preview.troubles) for preview in previews)
    if troubles:
        parts = "1 part of the plan" if troubles == 1 else f"{troubles} parts of the plan"
        raise CommandError(f"{parts} cannot be carried out", BLOCKED)
