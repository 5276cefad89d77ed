"""Where a pod may run and where it runs best: pure functions over a picture of the cluster, no writes."""
