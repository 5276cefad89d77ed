"""The input of validation checks, and the errors that they yield."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.rules import rule
from uniteddeployment_api.v1alpha1.uniteddeployment import Subset, UnitedDeployment

SUBSETS: Final = "spec.topology.subsets"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object under validation and, for an update, its previous version."""

    ud: UnitedDeployment
    old: UnitedDeployment | None

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """Subsets of the object."""
        return self.ud.spec.topology.subsets

    @property
    def template(self) -> tuple[str, Mapping[str, Any]] | None:
        """See :func:`single_template`."""
        return single_template(self.ud)

    @property
    def only_scaled(self) -> bool:
        """Whether this is an update that leaves the topology unchanged."""
        return self.old is not None and self.old.spec.topology == self.ud.spec.topology


Check = Callable[[Candidate], Iterator[FieldError]]


def single_template(ud: UnitedDeployment) -> tuple[str, Mapping[str, Any]] | None:
    """Return the field of spec.template that is set, and its workload spec; None unless exactly one is set."""
    given = ud.spec.template.given
    if len(given) != 1:
        return None
    ((field, template),) = given.items()
    return field, template.spec


def spec_path(field: str) -> str:
    """Return the path of the workload spec in a field of spec.template."""
    return f"spec.template.{field}.spec"


def violation(name: str, path: str, detail: str = "") -> FieldError:
    """Return the error for a violated rule at a path, with the message of the rule."""
    entry = rule(name)
    message = f"{entry.message} ({detail})" if detail else entry.message
    return FieldError(path, message, name, entry.feasibility)
