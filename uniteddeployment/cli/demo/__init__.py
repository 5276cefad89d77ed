"""``ud demo``, ``ud playground`` and ``ud embedded``: embedded clusters to try things out."""
