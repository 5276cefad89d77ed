"""The rule that says whose a workload is.

Owner references do not cross clusters, so each workload has the owner's key and uid in two annotations.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from uniteddeployment_api import names


@dataclass(frozen=True, slots=True)
class Owner:
    """A UnitedDeployment, as its workloads name it."""

    key: str
    """``namespace/name``"""
    uid: str
    former_uid: str = ""
    """The uid of the UnitedDeployment of the same key that was lost with its host (spec.topology.adopt); empty if
    there was none."""

    def owns(self, annotations: Mapping[str, str]) -> bool:
        """Return True if a workload with these annotations belongs to this UnitedDeployment.

        It does if it has our uid, or if the UnitedDeployment that was lost had applied it (:meth:`lost`).
        """
        return annotations.get(names.ANNOTATION_OWNER_UID) == self.uid or self.lost(annotations)

    def lost(self, annotations: Mapping[str, str]) -> bool:
        """Return True if a workload with these annotations belongs to the UnitedDeployment that was lost.

        The former uid is not enough, since users may write any uid into a spec: the key must be ours too.
        """
        return (
            bool(self.former_uid)
            and annotations.get(names.ANNOTATION_OWNER_UID) == self.former_uid
            and annotations.get(names.ANNOTATION_OWNER) == self.key
        )

    def other(self, annotations: Mapping[str, str]) -> str:
        """Name the UnitedDeployment that a workload belongs to; empty if it is this one, or if there is none."""
        uid = annotations.get(names.ANNOTATION_OWNER_UID)
        if not uid or self.owns(annotations):
            return ""
        return f"the UnitedDeployment {annotations.get(names.ANNOTATION_OWNER, 'unknown')} (uid {uid})"
