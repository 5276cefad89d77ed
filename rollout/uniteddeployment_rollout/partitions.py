"""One global number of updated pods, divided over subsets of different size.

Dividing each subset by itself and rounding up updates too many (four subsets of one pod: 25 % becomes 100 %), and the
method of the largest remainder can take an updated pod away when the number is raised, which a partition cannot do. A
divisor method does neither: every pod is a slot, the slots have an order that does not depend on the number, and the
first so many are updated (Sainte-Laguë for ``offset`` 0.5; see Balinski and Young, "Fair Representation").
"""

from collections.abc import Mapping
from fractions import Fraction

NEAREST = Fraction(1, 2)
"""As close to the same share in each subset as can be."""
FIRST_CANARY_EVERYWHERE = Fraction(1)
"""Each subset gets its first updated pod early."""
LARGEST_FIRST = Fraction(0)
"""Large subsets get updated pods before small ones."""


def partitions(sizes: Mapping[str, int], updated: int, offset: Fraction = NEAREST) -> dict[str, int]:
    """Subset -> partition, so that ``updated`` pods in all are updated. Subsets that tie are taken in their order.

    Raises ValueError when ``updated`` is negative or more than there are.
    """
    total = sum(sizes.values())
    if not 0 <= updated <= total:
        raise ValueError(f"{updated} of {total} pods cannot be updated")
    order = sorted(
        ((Fraction(pod) - offset) / size, index, name)
        for index, (name, size) in enumerate(sizes.items())
        for pod in range(1, size + 1)
    )
    result = dict(sizes)
    for _, _, name in order[:updated]:
        result[name] -= 1
    return result
