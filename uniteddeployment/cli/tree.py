"""An application as people see it: a tree of its subsets. Pure: from objects to lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from uniteddeployment.cli.layout import Cell, Column, Row, table
from uniteddeployment.cli.terminal import Glyphs, Lines
from uniteddeployment.planning.results import State
from uniteddeployment.planning.status import READY
from uniteddeployment.planning.stored import StoredStatus, StoredSubset, read_status

_STYLES = {
    State.DELETING: "bright_blue",
    State.STALLED: "red",
    State.UNKNOWN: "yellow",
    State.PAUSED: "cyan",
    State.PROGRESSING: "bright_blue",
    State.HELD: "cyan",
    State.READY: "green",
}
_QUIET = (State.READY, State.HELD, State.PAUSED)
"""States that need no explanation."""
_NAMESPACE = Column("NAMESPACE")
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


def status_of(obj: Mapping[str, Any]) -> StoredStatus:
    """The status of an object."""
    return read_status(obj.get("status"))


def observed(obj: Mapping[str, Any]) -> bool:
    """Return True if the status describes the present generation of the spec."""
    status = status_of(obj)
    seen, ready = status.observed_generation, status.condition(READY)
    described = seen if ready is None or ready.observed_generation is None else ready.observed_generation
    return bool(seen == obj["metadata"].get("generation") == described)


def state(obj: Mapping[str, Any]) -> State:
    """How an application is: Progressing as long as the controller has not seen its spec as it is now."""
    if obj["metadata"].get("deletionTimestamp"):
        return State.DELETING
    ready = status_of(obj).condition(READY)
    return _current(ready.reason if ready is not None else "", seen=observed(obj))


def _current(word: str, *, seen: bool) -> State:
    """The stored word. One that is about another spec says nothing about this one."""
    return State(word) if seen and word in set(State) else State.PROGRESSING


@dataclass(frozen=True, slots=True)
class View:
    """How much of applications is shown, and when."""

    glyphs: Glyphs
    width: int | None = None
    wide: bool = False
    """One line for each subset with all there is to say of it; otherwise what needs an explanation has it below."""
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
        told = message(obj)
        cells: dict[str, Cell | str] = {
            "NAMESPACE": meta.get("namespace", ""),
            "NAME": Cell(f"{self._icon(word)} {meta['name']}", _STYLES[word]),
            "DESIRED": str(desired),
            "READY": str(status.ready_replicas or 0),
            "UPDATED": str(status.updated_replicas or 0),
            "REVISION": self._revision(status),
            "STATUS": Cell(word, _STYLES[word]),
            "AGE": age(meta.get("creationTimestamp"), now),
            "MESSAGE": told,
        }
        states = [_current(entry.state, seen=seen) for entry in entries]
        told_below = word in states and not status.unplaced_replicas and seen
        shown = told and word not in _QUIET and not told_below and not self.wide
        rows = [Row(cells, (told,) if shown else (), "    ")]
        for index, (entry, word_) in enumerate(zip(entries, states, strict=True)):
            rows.append(self._subset(entry, word_, now, last=index == len(entries) - 1, seen=seen))
        return rows

    def _subset(self, entry: StoredSubset, word: State, now: datetime, *, last: bool, seen: bool) -> Row:
        glyphs = self.glyphs
        told = entry.reason
        cells: dict[str, Cell | str] = {
            "NAME": Cell(f"{glyphs.last if last else glyphs.branch} {self._icon(word)} {entry.name}", _STYLES[word]),
            "CLUSTER": entry.cluster.rpartition("/")[2] or "(host)",
            "DESIRED": str(entry.replicas),
            "READY": str(entry.ready_replicas),
            "UPDATED": str(entry.updated_replicas),
            "PARTITION": str(entry.partition),
            "REVISION": entry.revision,
            "STATUS": Cell(word, _STYLES[word]),
            "AGE": age(entry.last_observed_time, now),
            "WORKLOAD": entry.workload,
            "MESSAGE": told,
        }
        shown = told and seen and word not in _QUIET and not self.wide
        return Row(cells, (told,) if shown else (), f"{' ' if last else glyphs.stem}    ")

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


def message(obj: Mapping[str, Any]) -> str:
    """What there is to say of the whole application."""
    status, generation = status_of(obj), obj["metadata"].get("generation")
    seen = status.observed_generation
    if not observed(obj) and not obj["metadata"].get("deletionTimestamp"):
        known = f"generation {seen}" if seen else "no generation"
        return f"the controller has not seen generation {generation} of the spec yet (it has seen {known})"
    ready = status.condition(READY)
    return ready.message if ready is not None else ""


def age(stamp: str | None, now: datetime) -> str:
    """How long ago, as kubectl shows it: two units at the most."""
    if not stamp:
        return ""
    try:
        begun = datetime.fromisoformat(stamp)
    except ValueError:
        return "<invalid>"
    if begun.tzinfo is None:
        begun = begun.replace(tzinfo=UTC)
    seconds = max(0, int((now - begun).total_seconds()))
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 10 and seconds % 60:
        return f"{minutes}m{seconds % 60}s"
    if hours < 3:
        return f"{minutes}m"
    if days < 2:
        return f"{hours}h"
    return f"{days}d"
