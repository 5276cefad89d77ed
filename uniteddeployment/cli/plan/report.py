"""A preview as text for people and as JSON for programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from uniteddeployment.cli.output.table import Column, Row, table
from uniteddeployment.cli.output.terminal import Screen, say
from uniteddeployment.cli.plan.steps import title, verb
from uniteddeployment.planning.observed import HOST, cluster_label
from uniteddeployment.planning.plan import Plan
from uniteddeployment.planning.stored import NO_STATUS, to_document
from uniteddeployment_api import names

_COLUMNS = (
    Column("SUBSET"),
    Column("CLUSTER", drop=2),
    Column("REPLICAS", right=True),
    Column("PARTITION", right=True, drop=1),
    Column("REASON", spill=True),
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """A part of a plan that cannot be carried out, and why."""

    subset: str
    """Empty if it concerns the whole application."""
    message: str


@dataclass(frozen=True, slots=True)
class Preview:
    """The plan for one object, with its troubles; or the errors of an invalid object."""

    namespace: str
    name: str
    plan: Plan | None = None
    troubles: tuple[Trouble, ...] = ()
    errors: tuple[str, ...] = ()
    deletion_policy: str = ""
    lost: tuple[str, ...] = ()
    """The clusters that are assumed to be lost."""

    @property
    def title(self) -> str:
        return f"{names.UNITED_DEPLOYMENT_KIND} {self.name} (namespace {self.namespace})"


def as_dict(preview: Preview) -> dict[str, Any]:
    """For programs."""
    common: dict[str, Any] = {"name": preview.name, "namespace": preview.namespace}
    result = preview.plan
    if result is None:
        return common | {"errors": list(preview.errors)}
    return common | {
        "deletionPolicy": preview.deletion_policy,
        "without": list(preview.lost),
        "subsets": [
            {
                "name": row.name,
                "cluster": row.cluster,
                "reach": str(row.reach),
                "state": str(row.state),
                "replicas": row.replicas,
                "desiredReplicas": row.desired,
                "possiblyRunning": row.possibly_running,
                "partition": row.partition,
                "revision": row.revision,
                "reason": row.reason,
                "message": row.message,
            }
            for row in result.results
        ],
        "steps": [
            {"cluster": step.cluster, "do": verb(step), "kind": step.kind, "name": step.name, "why": step.why}
            for steps in result.members.values()
            for step in steps
        ],
        "host": [{"do": verb(step), "why": step.why} for step in (*result.before, *result.host, *result.after)],
        "troubles": [{"subset": trouble.subset, "message": trouble.message} for trouble in preview.troubles],
        "conditions": to_document(result.status or NO_STATUS).get("conditions", []),
    }


def show(previews: Sequence[Preview]) -> None:
    """Print all previews that have a plan."""
    screen = Screen()
    planned = [(preview, preview.plan) for preview in previews if preview.plan is not None]
    for index, (preview, result) in enumerate(planned):
        if index:
            say("")
        _show_one(screen, preview, result)


def _show_one(screen: Screen, preview: Preview, result: Plan) -> None:
    say(preview.title)
    if preview.lost:
        say(f"If {_listed(preview.lost)} were lost for longer than the grace period:")
    troubles: dict[str, list[str]] = {}
    for trouble in preview.troubles:
        troubles.setdefault(trouble.subset, []).append(f"{screen.glyphs.bad} {trouble.message}")
    rows = [
        Row(
            {
                "SUBSET": row.name,
                "CLUSTER": cluster_label(row.cluster),
                "REPLICAS": screen.glyphs.change(row.replicas, row.desired),
                "PARTITION": str(row.partition),
                "REASON": row.reason,
            },
            troubles.get(row.name, ()),
            "  ",
        )
        for row in result.results
    ]
    screen.show(table(_COLUMNS, rows, screen.width))
    for message in troubles.get("", ()):
        say(message)
    if preview.deletion_policy == names.ORPHAN_POLICY:
        say("")
        say("If it is deleted, its workloads stay (spec.deletionPolicy: Orphan).")
    say("")
    if result.writes:
        _show_steps(result)
    else:
        say("Nothing to do." if not troubles else "Nothing can be done.")


def _listed(clusters: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(clusters[:-1]), clusters[-1])))


def _show_steps(result: Plan) -> None:
    say("Steps")
    for host_step in (*result.before, *result.host, *result.after):
        say(f"  {cluster_label(HOST)}: {title(host_step)}: {host_step.why}")
    for steps in result.members.values():
        for step in steps:
            say(f"  {cluster_label(step.cluster)}: {title(step)}: {step.why}")
