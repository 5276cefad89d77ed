"""``ud get``: applications with their subsets."""
