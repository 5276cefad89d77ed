"""Pieces of CEL that several rules are made of, and what shaped the expressions of all rules.

An API server evaluates every rule on every write of an object, also when only its status or its finalizers change.
Each access to a field copies the list of the fields beside it, so a rule costs 50 to 100 microseconds. Therefore:

* Only what many users get wrong, and what cannot be repaired once it is stored, has an expression. The webhook and the
  controller check the other rules.
* A rule stands where its fields are, and begins with the cheapest test that lets most objects pass.
* One rule covers the four templates.

Other hazards:

* An int-or-string is costed as if it were a string of three megabytes, so nothing that reads all of it (``matches``,
  ``replace``, ``==``) fits into the budget inside a list.
* Rules about the sum of shares would stand in the way of ``/scale``: an autoscaler has to be able to move the total.
* A default is checked without the defaults inside it, so a rule asks with ``has`` also for what has a default.
"""

from typing import Final

SUBSETS: Final = "self.topology.subsets"
"""At the spec."""


def number(field: str, absent: int) -> str:
    """A field that is a whole number; ``absent`` if it is a percentage or not there."""
    return f"(has({field}) && type({field}) == int ? int({field}) : {absent})"


def immutable(field: str) -> str:
    """A field is as it was, or was and is not there."""
    return f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
