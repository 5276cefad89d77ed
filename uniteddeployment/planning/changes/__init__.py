"""Changes to workloads beyond updating them: taking them over, recreating them, removing them."""
