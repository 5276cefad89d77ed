"""Fixed shares as numbers of pods, also if they do not fit the total.

Percentages are rounded half up, and the subsets without a share get the rest, as in OpenKruise. (So the rest can lose a
pod when the total rises: 25 %, 25 % and the rest are 0, 0 and 1 of 1, and 1, 1 and 0 of 2.) If the shares do not add up
to the total, for example because an autoscaler has changed it, they count as weights, and no subset gets more than the
share that it asked for.
"""

from collections.abc import Sequence

from uniteddeployment.planning.replicas.slots import Cell, fill
from uniteddeployment_api.int_or_percent import percent_of, scaled

Share = int | str | None


def resolve_shares(total: int, shares: Sequence[Share], current: Sequence[int]) -> tuple[list[int | None], str]:
    """Return the pods of each fixed share (None where there is none), and what does not fit; empty if all fits.

    ``current`` is how many pods each subset runs; it decides ties.

    >>> resolve_shares(10, ["25%", "25%", None], [0, 0, 0])
    ([3, 3, None], '')

    Rounded, these shares would be 1 and 1 of 1. A subset that runs the pod already keeps it:

    >>> resolve_shares(1, ["50%", "50%"], [0, 1])
    ([0, 1], '')

    Shares of ten pods, when only six are wanted:

    >>> resolve_shares(6, [6, 4], [0, 0])
    ([4, 2], 'spec.topology.subsets: fixed shares add up to 10 of 6 replicas: each is cut in proportion')
    """
    wanted = [None if share is None else scaled(share, total) for share in shares]
    fixed = [index for index, number in enumerate(wanted) if number is not None]
    rounded = sum(wanted[index] or 0 for index in fixed)
    sums = f"spec.topology.subsets: fixed shares add up to {rounded} of {total} replicas"
    exact = {index: _hundredths(shares[index], total) for index in fixed}
    sum_exact = sum(exact.values())
    if rounded > total:
        problem = ""
        if sum_exact > total * 100:
            problem = f"{sums}: each is cut in proportion"
        lows = dict.fromkeys(fixed, 0)
        highs = {index: wanted[index] or 0 for index in fixed}
    elif rounded < total and len(fixed) == len(shares) and fixed:
        if sum_exact < total * 100:
            return wanted, f"{sums}: no subset takes the rest"
        problem = ""
        lows = {index: wanted[index] or 0 for index in fixed}
        highs = dict.fromkeys(fixed, total)
    else:
        return wanted, ""
    cells = [
        Cell(weight=exact[index], low=lows[index], high=highs[index], capacity=total, current=current[index])
        for index in fixed
    ]
    for index, number in zip(fixed, fill(total, cells, in_order=False), strict=True):
        wanted[index] = number
    return wanted, problem


def _hundredths(share: Share, total: int) -> int:
    if share is None:
        return 0
    return share * 100 if isinstance(share, int) else percent_of(share) * total
