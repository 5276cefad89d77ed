"""What stands in the cells of tables.

Contract: a cell is named in ``kinds.json`` either by a path (``.status.phase``, with what to show if it is empty:
``.spec.nodeName|<none>``) or by the name of a function of one of these modules. Functions are pure and never raise: an
object that was written by hand may lack anything.
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
    """The function of a cell that ``kinds.json`` names."""
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
        # A column that shows numbers does so as numbers; one that shows text for nothing shows text for everything.
        return str(value) if isinstance(value, int) and isinstance(otherwise, str) else value

    return at_path
