"""The cells of tables.

Contract: ``kinds.json`` names a cell either by a path (``.status.phase``, optionally with the text for an empty value:
``.spec.nodeName|<none>``) or by the name of a function in one of these modules. Functions are pure and never raise,
because objects written by hand may lack anything.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.cells import cluster, network, pods, storage, workloads

Cell = Callable[[Obj, datetime], Any]

_NAMED: dict[str, Cell] = {
    **cluster.CELLS,
    **network.CELLS,
    **pods.CELLS,
    **storage.CELLS,
    **workloads.CELLS,
}


def cell(named: str) -> Cell:
    """The function of a cell in ``kinds.json``."""
    if not named.startswith("."):
        return _NAMED[named]
    path, _, otherwise = named.partition("|")
    return _path_cell(path.split(".")[1:], int(otherwise) if otherwise.isdigit() else otherwise)


def _path_cell(steps: list[str], otherwise: str | int) -> Cell:
    def at_path(obj: Obj, _now: datetime) -> Any:
        value: Any = obj
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None or value == "":
            return otherwise
        # A numeric column shows numbers; a column with a text for empty values shows only text.
        return str(value) if isinstance(value, int) and isinstance(otherwise, str) else value

    return at_path
