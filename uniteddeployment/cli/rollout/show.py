"""``ud rollout get`` and ``ud rollout history``."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from uniteddeployment.cli.connect import Target, connected
from uniteddeployment.cli.output.age import age
from uniteddeployment.cli.output.documents import check_output, dump_all
from uniteddeployment.cli.output.table import Column, Row, table
from uniteddeployment.cli.output.terminal import Screen, say
from uniteddeployment.cli.rollout.objects import document, read
from uniteddeployment.controller import logs
from uniteddeployment_rollout.loop.objects import UNITED_ROLLOUTS, StoredRollout

_COLUMNS = (
    Column("NAME"),
    Column("TARGET", drop=2),
    Column("PHASE"),
    Column("STEP"),
    Column("PODS", right=True, drop=1),
    Column("UPDATED", right=True),
    Column("READY", right=True),
    Column("AGE", drop=3),
    Column("MESSAGE", spill=True),
)
_HISTORY = (
    Column("RUN"),
    Column("FROM", drop=1),
    Column("TO"),
    Column("OUTCOME"),
    Column("STEP", right=True, drop=2),
    Column("TOOK"),
    Column("ENDED", drop=3),
    Column("BY", drop=4),
    Column("REASON", spill=True),
)


def main(target: Target, names: Sequence[str], output: str) -> None:
    """Show some rollouts, or all of the target's scope."""
    check_output(output, ("wide", "json", "yaml"))
    logs.configure("console", "error")
    found = asyncio.run(_read(target, names))
    if output in ("json", "yaml"):
        dump_all([document(rollout) for rollout in found], output)
    elif not found:
        say("No rollouts found.", error=True)
    else:
        now, screen = datetime.now(UTC), Screen()
        columns = (Column("NAMESPACE"), *_COLUMNS) if target.all_namespaces else _COLUMNS
        rows = [row for rollout in found for row in _rows(rollout, now)]
        screen.show(table(columns, rows, None if output == "wide" else screen.width))


def history(target: Target, name: str) -> None:
    """Show the last runs, the newest first."""
    logs.configure("console", "error")
    (found,) = asyncio.run(_read(target, [name]))
    runs = found.status.get("history") or ()
    if not runs:
        say(f"{name} has no finished runs.", error=True)
        return
    screen = Screen()
    screen.show(table(_HISTORY, [_run(run, datetime.now(UTC)) for run in runs], screen.width))


async def _read(target: Target, names: Sequence[str]) -> list[StoredRollout]:
    async with connected(target) as client:
        if names:
            return [await read(client, target.namespace, name) for name in names]
        found = await client.list_all(UNITED_ROLLOUTS, StoredRollout, namespace=target.scope)
        return sorted(found, key=lambda rollout: rollout.key)


def _rows(rollout: StoredRollout, now: datetime) -> list[Row]:
    """The rollout, and during a run its subsets."""
    meta, status = rollout.metadata, rollout.status
    step = f"{status['step']}/{status['steps']}" if status.get("step") else ""
    rows = [
        Row(
            {
                "NAMESPACE": meta.namespace,
                "NAME": meta.name,
                "TARGET": rollout.target[1],
                "PHASE": status.get("phase", "Unknown"),
                "STEP": step,
                "PODS": str(status.get("replicas", 0)),
                "UPDATED": str(status.get("updatedReplicas", 0)),
                "READY": str(status.get("updatedReadyReplicas", 0)),
                "AGE": age(meta.creation_timestamp, now),
                "MESSAGE": status.get("message", ""),
            },
            indent="  ",
        )
    ]
    return rows + [
        Row(
            {
                "NAMESPACE": "",
                "NAME": f"  {subset['name']}",
                "TARGET": subset.get("cluster", "").rpartition("/")[2],
                "PHASE": subset.get("state", ""),
                "STEP": f"of {subset.get('targetReplicas', 0)}",
                "PODS": str(subset.get("replicas", 0)),
                "UPDATED": str(subset.get("updatedReplicas", 0)),
                "READY": str(subset.get("updatedReadyReplicas", 0)),
                "AGE": "",
                "MESSAGE": subset.get("reason", ""),
            },
            indent="    ",
        )
        for subset in status.get("subsets") or ()
    ]


def _run(run: dict[str, Any], now: datetime) -> Row:
    ended = datetime.fromisoformat(run["finishTime"])
    return Row(
        {
            "RUN": run["runID"],
            "FROM": run.get("stableRevision", ""),
            "TO": run.get("updateRevision", ""),
            "OUTCOME": run["outcome"],
            "STEP": str(run.get("step", "")),
            "TOOK": age(run["startTime"], ended),
            "ENDED": f"{age(run['finishTime'], now)} ago",
            "BY": run.get("by", ""),
            "REASON": run.get("reason", "") or run.get("cause", ""),
        },
        indent="  ",
    )
