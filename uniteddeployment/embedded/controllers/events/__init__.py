"""Events: recording them, and removing them when they expire."""
