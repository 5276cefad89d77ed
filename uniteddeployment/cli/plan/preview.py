"""``ud plan``: previews what the controller would do for the UnitedDeployments of manifests."""

import asyncio
from collections.abc import Sequence

from uniteddeployment.cli import snapshot
from uniteddeployment.cli.connect import Target
from uniteddeployment.cli.errors import BLOCKED, USAGE, CommandError, fail_with
from uniteddeployment.cli.output.documents import check_output, dump
from uniteddeployment.cli.plan import dry_run, report, wanted
from uniteddeployment.cli.plan.planner import plan_live, plan_offline
from uniteddeployment.cli.plan.report import Preview, Trouble
from uniteddeployment.cli.plan.wanted import Wanted
from uniteddeployment.cli.snapshot import Snapshot
from uniteddeployment.controller import logs
from uniteddeployment.controller.objects import parse
from uniteddeployment.planning.observed import Reach
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.status import STALLED
from uniteddeployment.planning.stored import NO_STATUS
from uniteddeployment_api import FieldError


def main(files: Sequence[str], target: Target, output: str, *, required: str, recursive: bool, live: bool) -> None:
    """Print the plan of each UnitedDeployment in the files.

    ``required`` is the namespace that was asked for; objects of another one are refused. Raises CommandError at the end
    if an object is invalid or a part of a plan cannot be carried out.
    """
    check_output(output, ("text", "json"))
    logs.configure("console", "error")
    objects = wanted.read(files, target.namespace, required=required, recursive=recursive)
    previews = asyncio.run(_live(target, objects)) if live else [_offline(application) for application in objects]
    if output == "json":
        dump([report.as_dict(preview) for preview in previews], output)
    else:
        report.show(previews)
    _conclude(previews)


def _offline(wanted_: Wanted) -> Preview:
    errors = wanted_.invalid()
    return _refused(wanted_, errors) if errors else _preview(wanted_, plan_offline(wanted_.stored))


async def _live(target: Target, objects: Sequence[Wanted]) -> list[Preview]:
    """Plan against the clusters as they are now, with one snapshot for each namespace."""
    planned: dict[int, Preview] = {}
    for namespace in dict.fromkeys(application.namespace for application in objects if not application.errors):
        async with snapshot.taken(target, namespace) as seen:
            for index, application in enumerate(objects):
                if not application.errors and application.namespace == namespace:
                    planned[index] = await _on(seen, application)
    return [
        planned.get(index) or _refused(application, application.errors) for index, application in enumerate(objects)
    ]


async def _on(seen: Snapshot, application: Wanted) -> Preview:
    existing = seen.host.get(application.stored.key)
    app = parse(existing)[0] if existing is not None else None
    if errors := application.invalid(app.model if app is not None else None):
        return _refused(application, errors)
    result = await plan_live(seen, application.stored)
    return _preview(application, result, await dry_run.refusals(seen.fleet, application.namespace, result))


def _refused(application: Wanted, errors: Sequence[FieldError]) -> Preview:
    return Preview(application.namespace, application.name, errors=tuple(str(error) for error in errors))


def _preview(application: Wanted, result: Plan, refusals: dict[str, str] | None = None) -> Preview:
    policy = application.model.spec.deletion_policy if application.model is not None else ""
    return Preview(
        application.namespace, application.name, result, _troubles(result, refusals or {}), deletion_policy=policy
    )


def _troubles(result: Plan, refusals: dict[str, str]) -> tuple[Trouble, ...]:
    troubles = [
        Trouble(subset.name, subset.message)
        for subset in result.results
        if subset.stalled or subset.reach is not Reach.READY
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
