"""What checks look at, and how they say what is wrong."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.rules import rule
from uniteddeployment_api.v1alpha1.uniteddeployment import Subset, UnitedDeployment

SUBSETS: Final = "spec.topology.subsets"


@dataclass(frozen=True, slots=True)
class Seen:
    """An object and, for a change, what it was."""

    ud: UnitedDeployment
    old: UnitedDeployment | None

    @property
    def subsets(self) -> tuple[Subset, ...]:
        return self.ud.spec.topology.subsets

    @property
    def template(self) -> tuple[str, Mapping[str, Any]] | None:
        """Field and content of the workload's spec, if there is exactly one."""
        return chosen(self.ud)

    @property
    def only_scaled(self) -> bool:
        return self.old is not None and self.old.spec.topology == self.ud.spec.topology


Check = Callable[[Seen], Iterator[FieldError]]


def chosen(ud: UnitedDeployment) -> tuple[str, Mapping[str, Any]] | None:
    """The field of spec.template that is set, and the spec in it; None if there is not exactly one."""
    given = ud.spec.template.given
    if len(given) != 1:
        return None
    ((field, template),) = given.items()
    return field, template.spec


def spec_path(field: str) -> str:
    """Where the workload's spec is, for a field of spec.template."""
    return f"spec.template.{field}.spec"


def broken(name: str, path: str, detail: str = "") -> FieldError:
    """The error of a rule at a path, in the rule's words."""
    entry = rule(name)
    message = f"{entry.message} ({detail})" if detail else entry.message
    return FieldError(path, message, name, entry.feasibility)
