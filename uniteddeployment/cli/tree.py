"""An application as people see it: a tree of its subsets. Pure: from objects to lines."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from uniteddeployment.planning.state import State

OK, BUSY, BAD, UNKNOWN, HELD = "✔", "◌", "✖", "?", "⏸"
_STYLES = {OK: "green", BUSY: "bright_blue", BAD: "red", UNKNOWN: "yellow", HELD: "cyan"}
_ICONS = {
    State.DELETING: BUSY,
    State.STALLED: BAD,
    State.UNKNOWN: UNKNOWN,
    State.PAUSED: HELD,
    State.PROGRESSING: BUSY,
    State.HELD: HELD,
    State.READY: OK,
}


def condition(obj: Mapping[str, Any], type_: str) -> Mapping[str, Any]:
    """A condition of an object, or nothing."""
    found: Sequence[Mapping[str, Any]] = (obj.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one.get("type") == type_), {})


def observed(obj: Mapping[str, Any]) -> bool:
    """Whether the status is about the spec as it is now."""
    generation = obj["metadata"].get("generation")
    seen = (obj.get("status") or {}).get("observedGeneration")
    return bool(seen == generation == condition(obj, "Ready").get("observedGeneration", seen))


def state(obj: Mapping[str, Any]) -> State:
    """How an application is: Progressing as long as the controller has not seen its spec as it is now."""
    if obj["metadata"].get("deletionTimestamp"):
        return State.DELETING
    return _current(condition(obj, "Ready").get("reason"), seen=observed(obj))


def _subset_state(entry: Mapping[str, Any], *, seen: bool) -> State:
    return _current(entry.get("state"), seen=seen)


def _current(word: str | None, *, seen: bool) -> State:
    """The stored word. One that is about another spec says nothing about this one."""
    return State(word) if seen and word in set(State) else State.PROGRESSING


def table(objects: Sequence[Mapping[str, Any]], *, wide: bool = False, now: datetime | None = None) -> Table:
    """Applications with their subsets below them."""
    now = now or datetime.now(UTC)
    columns = ["NAME", "CLUSTER", "DESIRED", "READY", "UPDATED", "PARTITION", "REVISION", "STATUS", "AGE"]
    result = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    numbers = {"DESIRED", "READY", "UPDATED", "PARTITION"}
    for column in columns + (["WORKLOAD", "MESSAGE"] if wide else []):
        result.add_column(column, justify="right" if column in numbers else "left", no_wrap=column != "MESSAGE")
    for obj in objects:
        _add_application(result, obj, wide=wide, now=now)
    return result


def _add_application(result: Table, obj: Mapping[str, Any], *, wide: bool, now: datetime) -> None:
    status = obj.get("status") or {}
    now_in, seen = state(obj), observed(obj)
    icon = _ICONS[now_in]
    meta = obj["metadata"]
    entries = _entries(obj)
    desired = (obj.get("spec") or {}).get("replicas")
    if desired is None:
        desired = sum(entry.get("replicas", 0) for entry in entries)
    row: list[Text | str] = [
        Text(f"{icon} {meta['name']}", style=_STYLES[icon]),
        "",
        str(desired),
        str(status.get("readyReplicas", 0)),
        str(status.get("updatedReplicas", 0)),
        "",
        _revision(status),
        Text(now_in, style=_STYLES[icon]),
        age(meta.get("creationTimestamp"), now),
    ]
    message = condition(obj, "Ready").get("message", "")
    result.add_row(*row, *(["", message] if wide else []))
    for index, entry in enumerate(entries):
        branch = "└─" if index == len(entries) - 1 else "├─"
        subset_state = _subset_state(entry, seen=seen)
        icon = _ICONS[subset_state]
        row = [
            Text(f"  {branch} {icon} {entry['name']}", style=_STYLES[icon]),
            entry.get("cluster", "").rpartition("/")[2] or "(host)",
            str(entry.get("replicas", 0)),
            str(entry.get("readyReplicas", 0)),
            str(entry.get("updatedReplicas", 0)),
            str(entry.get("partition", 0)),
            entry.get("revision", ""),
            Text(subset_state, style=_STYLES[icon]),
            age(entry.get("lastObservedTime"), now),
        ]
        result.add_row(*row, *([entry.get("workload", ""), entry.get("reason", "")] if wide else []))


def _entries(obj: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return (obj.get("status") or {}).get("subsetStatuses") or ()


def _revision(status: Mapping[str, Any]) -> str:
    current = status.get("currentRevision", "").rpartition("-")[2]
    updated = status.get("updatedRevision", "").rpartition("-")[2]
    return updated if current in ("", updated) else f"{current} → {updated}"


def age(stamp: str | None, now: datetime) -> str:
    """How long ago, as kubectl shows it: two units at the most."""
    if not stamp:
        return ""
    seconds = max(0, int((now - datetime.fromisoformat(stamp)).total_seconds()))
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
