"""The number of pods of each subset: the division itself, and its inputs.

:func:`allocate` depends on its request alone. :mod:`~uniteddeployment.planning.replicas.slots` describes the order that
makes it monotone, fair and stable.
"""

from uniteddeployment.planning.replicas.allocate import allocate
from uniteddeployment.planning.replicas.model import (
    FREE,
    NEVER,
    Allocation,
    AllocationRequest,
    Disruption,
    Mode,
    SubsetAllocation,
    SubsetRequest,
    bounded,
)

__all__ = [
    "FREE",
    "NEVER",
    "Allocation",
    "AllocationRequest",
    "Disruption",
    "Mode",
    "SubsetAllocation",
    "SubsetRequest",
    "allocate",
    "bounded",
]
