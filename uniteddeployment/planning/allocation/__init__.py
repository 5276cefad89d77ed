"""One way to divide replicas, for every mode: :func:`allocate`.

Pure: the answer depends on the request alone. See :mod:`~uniteddeployment.planning.allocation.slots` for the order that
makes it monotone, fair and stable.
"""

from uniteddeployment.planning.allocation.allocate import allocate
from uniteddeployment.planning.allocation.model import (
    FREE,
    NEVER,
    Allocation,
    AllocationRequest,
    Disruption,
    Mode,
    SubsetAllocation,
    SubsetDemand,
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
    "SubsetDemand",
    "allocate",
    "bounded",
]
