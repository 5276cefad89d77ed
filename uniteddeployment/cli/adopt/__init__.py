"""``ud adopt``: UnitedDeployments that take over workloads that already run."""
