"""Fixed shares as numbers of pods, also where they do not fit the total.

Percentages are rounded half up and what is left goes to the subsets without a share, as in OpenKruise. (So the rest can
lose a pod when the total rises: 25 %, 25 % and the rest of 1 are 0, 0, 1, and of 2 they are 1, 1, 0.) Where that does
not add up, because somebody scaled the total, say, the shares are weights, and nobody gets more than the share it asked
for: as close as it can be, and a problem to report.
"""

from collections.abc import Sequence

from uniteddeployment.planning.replicas.slots import Cell, fill
from uniteddeployment_api.int_or_percent import percent_of, scaled

Share = int | str | None


def resolve_shares(total: int, shares: Sequence[Share], current: Sequence[int]) -> tuple[list[int | None], str]:
    """Pods for each fixed share (None where there is none), and what does not fit, in words."""
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
