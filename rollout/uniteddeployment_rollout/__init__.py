"""What a rollout controller on top of UnitedDeployments needs. It writes partitions and nothing else."""

from uniteddeployment_rollout.partitions import partitions

__all__ = ["partitions"]
