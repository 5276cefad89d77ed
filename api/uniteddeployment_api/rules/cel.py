"""Building blocks of CEL expressions, and the constraints on the expressions of all rules.

An API server evaluates every rule on every write of an object, including writes that change only the status or the
finalizers. Each field access copies the list of sibling fields, so a rule costs 50 to 100 microseconds. Therefore:

* Only rules about common mistakes, and about changes that cannot be undone, have an expression. The webhook and the
  controller check the other rules.
* A rule is attached close to the fields that it reads, and starts with a cheap test that most objects pass.
* One rule covers the four templates.
* A field that is read more than once is bound to a name: ``[self.field].all(name, ...)``.

Other constraints:

* CEL estimates the cost of an int-or-string as that of a string of three megabytes. Inside a list, functions that read
  the whole string (``matches``, ``replace``, ``==``) exceed the cost budget; ``charAt`` does not. The schema's pattern
  limits the possible values.
* The rule about the sum of shares must not block ``/scale``, because autoscalers write the total there. It is checked
  on creation and when the topology changes. The controller places pods for any other total as closely as possible.
* The API server checks a default without the defaults of the fields inside it, so rules use ``has`` for fields with
  defaults too.
"""

from typing import Final

SUBSETS: Final = "self.topology.subsets"
"""The subsets, relative to the spec."""
KEPT: Final = "oldSelf.hasValue() && oldSelf.value().topology == self.topology"
"""The topology is unchanged, relative to the spec."""


SHARES: Final = f"{SUBSETS}.filter(s, has(s.replicas)).map(s, s.replicas)"
"""The fixed shares of the subsets, relative to the spec."""


def hundredths(share: str) -> str:
    """A fixed share in hundredths of a pod; ``all`` is the total."""
    return f"(type({share}) == int ? int({share}) * 100 : {percent(share)} * all)"


def rounded(share: str) -> str:
    """A fixed share in pods, with percentages rounded half up; ``all`` is the total."""
    return f"(type({share}) == int ? int({share}) : ({percent(share)} * all + 50) / 100)"


def total(of: str) -> str:
    """Sum of an expression over the list ``shares``. The expression refers to an item as ``share``."""
    return f"shares.map(share, {of}).sum()"


def number(field: str, absent: int) -> str:
    """Value of a field that is a whole number; ``absent`` if the field is a percentage or not set."""
    return f"(has({field}) && type({field}) == int ? int({field}) : {absent})"


def percent(text: str) -> str:
    """Number in a percentage that matches the pattern of the schema."""
    return (
        f"({text}.size() == 2 ? int({text}.charAt(0)) : "
        f"{text}.size() == 3 ? int({text}.charAt(0)) * 10 + int({text}.charAt(1)) : 100)"
    )
