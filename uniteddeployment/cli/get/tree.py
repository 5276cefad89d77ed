"""Applications as trees of their subsets. Pure: objects in, lines out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from uniteddeployment.cli.application import current_state, message, observed, state, status_of
from uniteddeployment.cli.output.age import age
from uniteddeployment.cli.output.table import Cell, Column, Row, table
from uniteddeployment.cli.output.terminal import Glyphs, Lines
from uniteddeployment.planning.results import State
from uniteddeployment.planning.stored import StoredStatus, StoredSubset

_STYLES = {
    State.DELETING: "bright_blue",
    State.STALLED: "red",
    State.UNKNOWN: "yellow",
    State.PAUSED: "cyan",
    State.PROGRESSING: "bright_blue",
    State.HELD: "cyan",
    State.READY: "green",
}
_AS_REQUESTED = (State.READY, State.HELD, State.PAUSED)
"""States that need no explanation."""
_NAMESPACE = Column("NAMESPACE", outer=True)
_COLUMNS = (
    Column("NAME"),
    Column("CLUSTER", drop=4),
    Column("DESIRED", right=True),
    Column("READY", right=True),
    Column("UPDATED", right=True, drop=1),
    Column("PARTITION", right=True, drop=2),
    Column("REVISION", drop=5),
    Column("STATUS"),
    Column("AGE", drop=3),
)
_WIDE = (Column("WORKLOAD"), Column("MESSAGE"))


@dataclass(frozen=True, slots=True)
class View:
    """How applications are shown."""

    glyphs: Glyphs
    width: int | None = None
    wide: bool = False
    """Show each subset on one line, with its workload and message. Otherwise messages are printed below their rows."""
    namespaces: bool = False
    now: datetime | None = None

    def lines(self, objects: Sequence[Mapping[str, Any]]) -> Lines:
        """Applications with their subsets below them."""
        columns = ((_NAMESPACE,) if self.namespaces else ()) + _COLUMNS + (_WIDE if self.wide else ())
        now = self.now or datetime.now(UTC)
        rows = [row for obj in objects for row in self._application(obj, now)]
        return table(columns, rows, None if self.wide else self.width)

    def _application(self, obj: Mapping[str, Any], now: datetime) -> list[Row]:
        status, meta = status_of(obj), obj["metadata"]
        word, seen, entries = state(obj), observed(obj), status.subset_statuses or ()
        desired = (obj.get("spec") or {}).get("replicas")
        if desired is None:
            desired = sum(entry.replicas for entry in entries)
        text = message(obj)
        cells: dict[str, Cell | str] = {
            "NAMESPACE": meta.get("namespace", ""),
            "NAME": Cell(f"{self._icon(word)} {meta['name']}", _STYLES[word]),
            "DESIRED": str(desired),
            "READY": str(status.ready_replicas or 0),
            "UPDATED": str(status.updated_replicas or 0),
            "REVISION": self._revision(status),
            "STATUS": Cell(word, _STYLES[word]),
            "AGE": age(meta.get("creationTimestamp"), now),
            "MESSAGE": text,
        }
        states = [current_state(entry.state, seen=seen) for entry in entries]
        said_below = word in states and not status.unplaced_replicas and seen
        shown = text and word not in _AS_REQUESTED and not said_below and not self.wide
        rows = [Row(cells, (text,) if shown else (), "    ")]
        for index, (entry, word_) in enumerate(zip(entries, states, strict=True)):
            rows.append(self._subset(entry, word_, now, last=index == len(entries) - 1, seen=seen))
        return rows

    def _subset(self, entry: StoredSubset, word: State, now: datetime, *, last: bool, seen: bool) -> Row:
        glyphs = self.glyphs
        text = entry.reason
        if entry.possibly_running:
            pods = "1 pod" if entry.possibly_running == 1 else f"{entry.possibly_running} pods"
            text = f"{text} ({pods} may still run there)"
        cells: dict[str, Cell | str] = {
            "NAME": Cell(f"{glyphs.last if last else glyphs.branch} {self._icon(word)} {entry.name}", _STYLES[word]),
            "CLUSTER": entry.cluster.rpartition("/")[2] or "(host)",
            "DESIRED": glyphs.change(entry.replicas, entry.desired),
            "READY": str(entry.ready_replicas),
            "UPDATED": str(entry.updated_replicas),
            "PARTITION": str(entry.partition),
            "REVISION": entry.revision,
            "STATUS": Cell(word, _STYLES[word]),
            "AGE": age(entry.last_observed_time, now),
            "WORKLOAD": entry.workload,
            "MESSAGE": text,
        }
        moves = entry.desired_replicas is not None
        shown = text and seen and (moves or word not in _AS_REQUESTED) and not self.wide
        return Row(cells, (text,) if shown else (), f"{' ' if last else glyphs.stem}    ")

    def _icon(self, word: State) -> str:
        glyphs = self.glyphs
        icons = {
            State.READY: glyphs.good,
            State.HELD: glyphs.paused,
            State.PAUSED: glyphs.paused,
            State.STALLED: glyphs.bad,
            State.UNKNOWN: glyphs.unknown,
        }
        return icons.get(word, glyphs.busy)

    def _revision(self, status: StoredStatus) -> str:
        current = (status.current_revision or "").rpartition("-")[2]
        updated = (status.updated_revision or "").rpartition("-")[2]
        return updated if current in ("", updated) else f"{current} {self.glyphs.arrow} {updated}"
