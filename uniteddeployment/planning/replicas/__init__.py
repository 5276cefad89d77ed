"""One way to divide replicas, for every mode: :func:`allocate`.

Pure: the answer depends on the request alone. See :mod:`~uniteddeployment.planning.allocation.slots` for the order that
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
