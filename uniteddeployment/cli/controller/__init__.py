"""``ud controller``: the controller as a process."""
