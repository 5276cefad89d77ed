"""``ud wait``: block until applications are in a state."""
