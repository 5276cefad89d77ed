"""``ud rollout get`` and ``ud rollout list``: rollouts, once or continuously."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from uniteddeployment.cli.errors import CommandError
from uniteddeployment.cli.listing import Document, Listing, Query
from uniteddeployment.cli.output.age import age
from uniteddeployment.cli.output.table import Cell, Column, Row, table
from uniteddeployment.cli.output.terminal import Lines, Screen
from uniteddeployment.cli.rollout.objects import message, phase
from uniteddeployment.cli.rollout.tree import PHASE_STYLES, View
from uniteddeployment.controller.served import check_served
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment_api import names
from uniteddeployment_rollout.loop.objects import UNITED_ROLLOUTS, StoredRollout

_NAMESPACE = Column("NAMESPACE", outer=True)
_COLUMNS = (
    Column("NAME"),
    Column("TARGET", drop=3),
    Column("PHASE"),
    Column("STEP"),
    Column("UPDATED", right=True),
    Column("READY", right=True, drop=1),
    Column("PODS", right=True, drop=2),
    Column("AGE", drop=4),
)
_WIDE = (Column("RUN"), Column("MESSAGE"))


async def _get(client: Client, namespace: str, name: str) -> Document:
    try:
        return await client.get(UNITED_ROLLOUTS, name, dict[str, Any], namespace=namespace)
    except NotFound as error:
        if "name" not in error.details:  # it is not the object that is missing
            await check_served(client, namespace)
        raise CommandError(f"{error.message} (namespace {namespace})") from None


def _view(screen: Screen, query: Query, *, wide: bool) -> View:
    return View(screen.glyphs, screen.width, wide, query.target.all_namespaces)


def _draw_trees(screen: Screen, query: Query, shown: Sequence[StoredRollout], /, *, wide: bool) -> Lines:
    return _view(screen, query, wide=wide).lines(shown)


def _draw_rows(screen: Screen, query: Query, shown: Sequence[StoredRollout], /, *, wide: bool) -> Lines:
    return rows(_view(screen, query, wide=wide), shown)


def rows(view: View, rollouts: Sequence[StoredRollout]) -> Lines:
    """A table with one row for each rollout. What needs attention is explained below its row."""
    now = view.now or datetime.now(UTC)
    columns = ((_NAMESPACE,) if view.namespaces else ()) + _COLUMNS + (_WIDE if view.wide else ())
    return table(columns, [_row(view, rollout, now) for rollout in rollouts], None if view.wide else view.width)


def _row(view: View, rollout: StoredRollout, now: datetime) -> Row:
    meta, status, word = rollout.metadata, rollout.status, phase(rollout)
    style = PHASE_STYLES.get(word, "")
    cells: dict[str, Cell | str] = {
        "NAMESPACE": meta.namespace,
        "NAME": Cell(f"{view.icon(word)} {meta.name}", style),
        "TARGET": rollout.target[1],
        "PHASE": Cell(word, style),
        "STEP": f"{status['step']}/{status.get('steps', 0)}" if status.get("step") else "",
        "UPDATED": str(status.get("updatedReplicas", 0)),
        "READY": str(status.get("updatedReadyReplicas", 0)),
        "PODS": str(status.get("replicas", 0)),
        "AGE": age(meta.creation_timestamp, now),
        "RUN": str(status.get("runID", "")),
        "MESSAGE": message(rollout),
    }
    explained = not view.wide and word not in ("Healthy", "Pending")
    return Row(cells, (message(rollout),) if explained else (), "    ")


TREES = Listing(
    kind=names.UNITED_ROLLOUT_KIND,
    resource=UNITED_ROLLOUTS,
    cached=StoredRollout,
    get=_get,
    of_document=lambda document: msgspec.convert(document, StoredRollout),
    of_cached=lambda rollout: rollout,
    draw=_draw_trees,
)
TABLE = replace(TREES, draw=_draw_rows)
