"""Every limit is documented with its present value."""

import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import uniteddeployment.controller
import uniteddeployment.fleet
import uniteddeployment.kube
from tests.unit.limits_table import ROWS, on_page, table, value
from uniteddeployment_api import limits

PACKAGES = (uniteddeployment.kube, uniteddeployment.fleet, uniteddeployment.controller)
LIMIT = re.compile(r"(MAX|MOST|LONGEST|FAILED)_[A-Z_]+|[A-Z_]+_(BYTES|SECONDS|INTERVAL|CAP_SECONDS)")

INTERNAL = {
    "WARNING_SECONDS", "STEADY_SECONDS", "SHORTEST_REQUEUE_SECONDS", "LARGE_BYTES", "LONGEST_PAUSE", "LONGEST_UID",
    "LONGEST_VERSION", "MOST_NODES", "MOST_NAMESPACES", "MOST_LAST_CONTACTS", "MAX_DEPTH",
    "RETRY_CAP_SECONDS", "LONGEST_GAP", "LONGEST_SLEEP", "LONGEST_WAIT", "MOST_NAMED",
    "LONGEST_RETRY", "MOST_CHECKS", "MOST_OUTAGES",
}  # fmt: skip
"""Names of constants that nobody can notice from outside, or that bound what is shown only."""


def test_the_page_has_the_values_of_the_constants() -> None:
    """``python -m tests.unit.limits_table`` updates it."""
    assert on_page() == table()


def _limits(module: ModuleType) -> set[str]:
    """The public limits that a module defines itself."""
    assert module.__file__ is not None
    source = Path(module.__file__).read_text(encoding="utf-8")
    names = {name for name in vars(module) if LIMIT.fullmatch(name) and not name.startswith("_")} - INTERNAL
    defined = {name for name in names if re.search(rf"^([A-Z_]+, )*{name}\b[^\n]* = ", source, re.MULTILINE)}
    return {f"{module.__name__}:{name}" for name in defined}


def test_the_page_has_every_limit() -> None:
    """I16: every input has a size, a time and an error of its own, and users can look them up."""
    modules = [
        importlib.import_module(found.name)
        for package in PACKAGES
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    defined = {name for module in (*modules, limits) for name in _limits(module)}
    listed = {constant for _, constant in ROWS}
    assert defined - listed == set()
    assert all(value(constant) for constant in listed)
