"""Pieces of CEL that several rules are made of, and what shaped the expressions of all rules.

An API server evaluates every rule on every write of an object, also when only its status or its finalizers change.
Each access to a field copies the list of the fields beside it, so a rule costs 50 to 100 microseconds. Therefore:

* Only what many users get wrong, and what cannot be repaired once it is stored, has an expression. The webhook and the
  controller check the other rules.
* A rule stands where its fields are, and begins with the cheapest test that lets most objects pass.
* One rule covers the four templates.

Other hazards:

* An int-or-string is costed as if it were a string of three megabytes, so nothing that reads all of it (``matches``,
  ``replace``, ``==``) fits into the budget inside a list; ``charAt`` does. The schema's pattern bounds what it can be.
* The rule about the sum of shares must not stand in the way of ``/scale``: an autoscaler has to be able to move the
  total. It is checked at creation and when the topology changes; another total is served as closely as it can be.
* A default is checked without the defaults inside it, so a rule asks with ``has`` also for what has a default.
"""

from typing import Final

SUBSETS: Final = "self.topology.subsets"
"""At the spec."""
KEPT: Final = "oldSelf.hasValue() && oldSelf.value().topology == self.topology"
"""At the spec: the topology is as it was."""


def hundredths(share: str) -> str:
    """A fixed share in hundredths of a pod, exactly; 0 if there is none."""
    return f"(has({share}) ? (type({share}) == int ? int({share}) * 100 : {_percent(share)} * self.replicas) : 0)"


def rounded(share: str) -> str:
    """A share in pods, percentages rounded half up; 0 if there is none."""
    return (
        f"(has({share}) ? (type({share}) == int ? int({share}) : ({_percent(share)} * self.replicas + 50) / 100) : 0)"
    )


def total(of: str) -> str:
    """The sum of an expression over the subsets, each of them ``s``."""
    return f"{SUBSETS}.map(s, {of}).sum()"


def number(field: str, absent: int) -> str:
    """A field that is a whole number; ``absent`` if it is a percentage or not there."""
    return f"(has({field}) && type({field}) == int ? int({field}) : {absent})"


def immutable(field: str) -> str:
    """A field is as it was, or was and is not there."""
    return f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"


def _percent(text: str) -> str:
    """The number of a percentage that matches the pattern of the schema."""
    return (
        f"({text}.size() == 2 ? int({text}.charAt(0)) : "
        f"{text}.size() == 3 ? int({text}.charAt(0)) * 10 + int({text}.charAt(1)) : 100)"
    )
