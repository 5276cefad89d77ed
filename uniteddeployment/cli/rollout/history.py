"""``ud rollout history``: the last runs of rollouts."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from uniteddeployment.cli.connect import Target, connected
from uniteddeployment.cli.output.age import age
from uniteddeployment.cli.output.documents import check_output, dump
from uniteddeployment.cli.output.table import Cell, Column, Row, table
from uniteddeployment.cli.output.terminal import Lines, Screen, say
from uniteddeployment.cli.rollout.objects import read
from uniteddeployment.controller import logs
from uniteddeployment_rollout.loop.objects import StoredRollout

_COLUMNS = (
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
_STYLES = {"Completed": "green", "RolledBack": "red", "Superseded": "yellow"}


def main(target: Target, names: Sequence[str], output: str) -> None:
    """Show the last runs of each rollout, the newest first."""
    check_output(output, ("json", "yaml"))
    logs.configure("console", "error")
    rollouts = asyncio.run(_read(target, names))
    if output:
        runs = {rollout.metadata.name: list(rollout.status.get("history") or ()) for rollout in rollouts}
        dump(runs[rollouts[0].metadata.name] if len(rollouts) == 1 else runs, output)
        return
    for rollout in rollouts:
        if len(rollouts) > 1:
            say(f"{rollout.metadata.name}:")
        runs_ = rollout.status.get("history") or ()
        if runs_:
            screen = Screen()
            screen.show(lines(runs_, screen.width, datetime.now(UTC)))
        else:
            say(f"{rollout.metadata.name} has no finished runs.", error=True)


async def _read(target: Target, names: Sequence[str]) -> list[StoredRollout]:
    async with connected(target) as client:
        return [await read(client, target.namespace, name) for name in names]


def lines(runs: Sequence[Mapping[str, Any]], width: int | None, now: datetime) -> Lines:
    """A table of runs."""
    return table(_COLUMNS, [_row(run, now) for run in runs], width)


def _row(run: Mapping[str, Any], now: datetime) -> Row:
    ended, outcome = datetime.fromisoformat(run["finishTime"]), run["outcome"]
    return Row(
        {
            "RUN": run["runID"],
            "FROM": run.get("stableRevision", ""),
            "TO": run.get("updateRevision", ""),
            "OUTCOME": Cell(outcome, _STYLES.get(outcome, "")),
            "STEP": str(run.get("step", "")),
            "TOOK": age(run["startTime"], ended),
            "ENDED": f"{age(run['finishTime'], now)} ago",
            "BY": run.get("by", ""),
            "REASON": run.get("reason", "") or run.get("cause", ""),
        },
        indent="  ",
    )
