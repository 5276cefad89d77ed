"""An application as people see it: a tree of its subsets. Pure: from objects to lines."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.table import Table
from rich.text import Text

OK, BUSY, BAD, UNKNOWN, HELD = "✔", "◌", "✖", "?", "॥"
_STYLES = {OK: "green", BUSY: "bright_blue", BAD: "red", UNKNOWN: "yellow", HELD: "cyan"}


def condition(obj: Mapping[str, Any], type_: str) -> Mapping[str, Any]:
    """A condition of an object, or nothing."""
    found: Sequence[Mapping[str, Any]] = (obj.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one.get("type") == type_), {})


def state(obj: Mapping[str, Any]) -> tuple[str, str]:
    """The icon and the word for how an application is."""
    ready, stalled = condition(obj, "Ready"), condition(obj, "Stalled")
    if stalled.get("status") == "True":
        return BAD, "Stalled"
    if ready.get("status") == "Unknown":
        return UNKNOWN, "Unknown"
    if ready.get("status") == "True":
        held = any(_held(entry) for entry in _entries(obj))
        return (HELD, "Held") if held else (OK, "Ready")
    return BUSY, "Progressing"


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
    icon, word = state(obj)
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
        Text(word, style=_STYLES[icon]),
        age(meta.get("creationTimestamp"), now),
    ]
    message = condition(obj, "Ready").get("message", "")
    result.add_row(*row, *(["", message] if wide else []))
    for index, entry in enumerate(entries):
        branch = "└─" if index == len(entries) - 1 else "├─"
        icon = _subset_icon(entry)
        row = [
            Text(f"  {branch} {icon} {entry['name']}", style=_STYLES[icon]),
            entry.get("cluster", "").rpartition("/")[2] or "(host)",
            str(entry.get("replicas", 0)),
            str(entry.get("readyReplicas", 0)),
            str(entry.get("updatedReplicas", 0)),
            str(entry.get("partition", 0)),
            entry.get("revision", ""),
            _subset_word(icon),
            age(entry.get("lastObservedTime"), now),
        ]
        result.add_row(*row, *([entry.get("workload", ""), entry.get("reason", "")] if wide else []))


def _entries(obj: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return (obj.get("status") or {}).get("subsetStatuses") or ()


def _revision(status: Mapping[str, Any]) -> str:
    current = status.get("currentRevision", "").rpartition("-")[2]
    updated = status.get("updatedRevision", "").rpartition("-")[2]
    return updated if current in ("", updated) else f"{current} → {updated}"


def _held(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("partition")) and int(entry.get("updatedReplicas", 0)) < int(entry.get("replicas", 0))


def _subset_icon(entry: Mapping[str, Any]) -> str:
    if entry.get("lastObservedTime"):
        return UNKNOWN
    wanted = entry.get("replicas", 0)
    updated = wanted - entry.get("partition", 0)
    if entry.get("readyReplicas", 0) >= wanted and entry.get("updatedReadyReplicas", 0) >= updated:
        return HELD if _held(entry) else OK
    return BUSY


def _subset_word(icon: str) -> Text:
    words = {OK: "Ready", BUSY: "Progressing", UNKNOWN: "Unknown since", HELD: "Held"}
    return Text(words[icon], style=_STYLES[icon])


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
