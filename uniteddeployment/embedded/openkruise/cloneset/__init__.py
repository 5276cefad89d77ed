"""The CloneSet controller."""
