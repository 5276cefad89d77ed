"""Changes of others to a workload of ours: which fields, and who wrote them.

Only fields that we apply count. Defaults of the server are no drift.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

Path = tuple[str | int, ...]
_KEYS = ("name", "containerPort", "mountPath", "devicePath", "topologyKey", "ip")
"""The keys by which items of lists are matched; other lists are compared as a whole."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that differs from what we applied. ``manager`` wrote it last, as far as managedFields show."""

    path: str
    manager: str

    def __str__(self) -> str:
        return f"{self.path} (by {self.manager})" if self.manager else self.path


def differences(body: Mapping[str, Any], live: Mapping[str, Any], *, ours: str) -> tuple[Difference, ...]:
    """Every applied field of ``body`` that differs in ``live``. ``ours`` is our field manager."""
    paths = list(_differing(body.get("spec", {}), live.get("spec", {}), ("spec",)))
    for field in ("labels", "annotations"):
        wanted = body["metadata"].get(field) or {}
        paths += _differing(wanted, live.get("metadata", {}).get(field) or {}, ("metadata", field))
    return tuple(Difference(text(path), _manager(live, path, ours)) for path in paths)


def keeping(body: Mapping[str, Any], live: Mapping[str, Any], paths: Sequence[str]) -> dict[str, Any]:
    """``body`` with the values of ``live`` at these dotted paths, so that applying it changes nothing there."""
    result = dict(body)
    for path in paths:
        result = _kept(result, live, path.split("."))
    return result


def text(path: Path) -> str:
    """A path in the usual notation: ``spec.template.spec.containers[0].image``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _kept(target: Mapping[str, Any], live: Any, steps: Sequence[str]) -> dict[str, Any]:
    result = dict(target)
    head, *rest = steps
    if not isinstance(live, Mapping) or head not in live:
        if not rest:
            result.pop(head, None)
        return result
    if not rest:
        result[head] = live[head]
    elif isinstance(result.get(head), Mapping):
        result[head] = _kept(result[head], live[head], rest)
    return result


def _differing(wanted: Any, found: Any, path: Path) -> Iterator[Path]:
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for key, value in wanted.items():
            yield from _differing(value, found.get(key), (*path, key))
    elif isinstance(wanted, list) and isinstance(found, list):
        yield from _differing_items(wanted, found, path)
    elif wanted != found and not (found is None and wanted in ({}, [], "", 0, False)):
        yield path


def _differing_items(wanted: list[Any], found: list[Any], path: Path) -> Iterator[Path]:
    maps = bool(wanted) and all(isinstance(one, Mapping) for one in wanted)
    key = next((key for key in _KEYS if maps and all(key in one for one in wanted)), None)
    if key is None:
        if len(wanted) != len(found):
            yield path
            return
        for index, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from _differing(one, other, (*path, index))
        return
    by_key = {one.get(key): (index, one) for index, one in enumerate(found) if isinstance(one, Mapping)}
    for index, one in enumerate(wanted):
        place, other = by_key.get(one[key], (index, None))
        yield from _differing(one, other, (*path, place))


def _manager(live: Mapping[str, Any], path: Path, ours: str) -> str:
    """The field manager, other than ours, that owns the field; if there are several, the last one."""
    entries = [
        entry
        for entry in live.get("metadata", {}).get("managedFields") or ()
        if entry.get("manager") != ours and _owns(entry.get("fieldsV1") or {}, live, path)
    ]
    latest = max(entries, key=lambda entry: str(entry.get("time", "")), default=None)
    return str(latest["manager"]) if latest else ""


def _owns(fields: Mapping[str, Any], live: Any, path: Path) -> bool:
    """Whether a FieldsV1 tree contains the path, or a prefix of it (as for atomic values)."""
    if not path:
        return True
    head, rest = path[0], path[1:]
    inner = live[head] if isinstance(head, int) and isinstance(live, list) and head < len(live) else None
    if isinstance(head, int):
        names = [name for name in fields if name.startswith("k:")]
        if not names:
            return "." in fields or not fields
        chosen = next((name for name in names if _names_item(name, inner)), None)
    else:
        chosen = f"f:{head}" if f"f:{head}" in fields else None
        inner = live.get(head) if isinstance(live, Mapping) else None
    if chosen is None:
        return False
    return not fields[chosen] or _owns(fields[chosen], inner, rest)


def _names_item(name: str, item: Any) -> bool:
    """Whether an entry of a FieldsV1 tree, such as ``k:{"containerPort":80,"protocol":"TCP"}``, names an item."""
    try:
        keys = msgspec.json.decode(name.removeprefix("k:"), type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return False
    return isinstance(item, Mapping) and all(item.get(key) == value for key, value in keys.items())
