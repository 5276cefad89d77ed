"""``ud``, also ``kubectl ud``: the shell for people and programs."""
