"""What is declared of a kind of workload: where the API serves it, and how its objects are held and named.

A declaration is plain data, so that the planner, the watches of the fleet and the controller's writes agree on a kind
without knowing each other. How its subsets are planned is in :mod:`uniteddeployment.planning.kinds`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of workload."""

    name: str
    """What we call it. Unique, which the ``kind`` of its objects need not be."""
    template: str
    """The field of ``spec.template`` that asks for it."""
    group: str
    version: str
    plural: str
    kind: str
    """The ``kind`` of its objects."""
    per_revision: bool = False
    """Whether a subset has one object for each revision; otherwise it has one that knows revisions itself."""
    partition: tuple[str, ...] = ()
    """Where in ``spec.updateStrategy`` its partition is: how many pods stay at the old revision."""
    update_type: str = ""
    """``spec.updateStrategy.type`` when the template gives none."""
    prioritised: bool = False
    """Whether ``spec.updateStrategy.priorityStrategy`` says which of the old pods are updated first."""
    suffix: str = ""
    """Ends the names of its objects, where they would meet those of another kind in the names of their pods."""
    provider: str = ""
    """What has to be installed in a cluster for it to be served there; empty for what every cluster serves."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"
