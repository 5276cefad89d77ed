"""``ud rollout``: rollouts of new pod templates, and their controller."""
