"""``ud history`` and ``ud undo``: the revisions of an application, and the way back to one."""
