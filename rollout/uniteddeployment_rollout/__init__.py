"""A rollout controller on top of UnitedDeployments, as a client of the API alone."""

from uniteddeployment_rollout.advance import advance
from uniteddeployment_rollout.decision import Decision, TargetWrite
from uniteddeployment_rollout.partitions import partitions, shares
from uniteddeployment_rollout.target import Target, TargetSubset

__all__ = ["Decision", "Target", "TargetSubset", "TargetWrite", "advance", "partitions", "shares"]
