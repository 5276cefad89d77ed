"""Building blocks for rollout controllers, which set the partitions of UnitedDeployments."""

from uniteddeployment_rollout.partitions import partitions

__all__ = ["partitions"]
