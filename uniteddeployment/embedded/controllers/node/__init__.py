"""Controllers of nodes: health, taint-based eviction and orphaned pods."""
