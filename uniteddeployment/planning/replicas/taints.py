"""Taints of clusters and the tolerations for them, with the rules that Kubernetes has for nodes.

``NoSchedule``: nothing new. ``PreferNoSchedule``: nothing new as long as there is room elsewhere. ``NoExecute``:
nothing new, and what is there moves away, at once or when ``tolerationSeconds`` have passed since the taint was added.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from uniteddeployment.planning.observed import Taint
from uniteddeployment.planning.observed.clusters import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from uniteddeployment.planning.observed.values import since
from uniteddeployment_api import Toleration


@dataclass(frozen=True, slots=True)
class Verdict:
    """The consequences of the taints of a cluster for one subset."""

    may_grow: bool = True
    preferred: bool = True
    """False if it gets more only when no other subset can take it."""
    leaves: bool = False
    """Whether its replicas move to other subsets."""
    note: str = ""
    """The taint that has this consequence, for messages."""
    requeue_after: int | None = None
    """Seconds until ``leaves`` becomes true although nothing happens until then."""


TOLERATED = Verdict()


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return True if a toleration matches a taint.

    >>> gpu = Taint("gpu", "a100", "NoSchedule")
    >>> tolerates(Toleration(key="gpu", value="a100"), gpu), tolerates(Toleration(key="gpu", value="h100"), gpu)
    (True, False)

    Without a key, ``Exists`` matches every taint. Without an effect, every effect matches.

    >>> tolerates(Toleration(operator="Exists"), gpu), tolerates(Toleration(operator="Exists", effect="NoExecute"), gpu)
    (True, False)
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    return toleration.operator == "Exists" or (bool(toleration.key) and (toleration.value or "") == taint.value)


def judge(taints: Iterable[Taint], tolerations: Sequence[Toleration], now: str) -> Verdict:
    """Decide what the taints of a cluster mean for a subset with these tolerations.

    As in Kubernetes, the first toleration that matches a taint counts. The replicas that tolerate a ``NoExecute`` taint
    for a limited time stay until then, but no new ones are placed where they could not stay.

    >>> judge([Taint("maintenance", effect="NoExecute")], [], "2026-01-01T00:00:00Z").leaves
    True
    >>> patient = Toleration(key="maintenance", operator="Exists", effect="NoExecute", toleration_seconds=60)
    >>> added = Taint("maintenance", effect="NoExecute", time_added="2026-01-01T00:00:00Z")
    >>> judge([added], [patient], "2026-01-01T00:00:50Z").requeue_after
    10
    """
    verdict = TOLERATED
    for taint in taints:
        verdict = _stricter(verdict, _of_one(taint, tolerations, now))
    return verdict


def _of_one(taint: Taint, tolerations: Sequence[Toleration], now: str) -> Verdict:
    match = next((toleration for toleration in tolerations if tolerates(toleration, taint)), None)
    if taint.effect == NO_SCHEDULE:
        return TOLERATED if match else Verdict(may_grow=False, note=f"the taint {taint}")
    if taint.effect == PREFER_NO_SCHEDULE:
        return TOLERATED if match else Verdict(preferred=False, note=f"the taint {taint}")
    if taint.effect != NO_EXECUTE or (match is not None and match.toleration_seconds is None):
        return TOLERATED
    # Kubernetes treats zero and negative seconds alike.
    left = max(0, (match.toleration_seconds or 0) if match else 0)
    left -= since(taint.time_added, now) if left else 0
    if left <= 0:
        return Verdict(may_grow=False, leaves=True, note=f"the taint {taint}")
    # The note must not change from pass to pass, so it does not count down.
    return Verdict(may_grow=False, note=f"the taint {taint}, tolerated for a time", requeue_after=left)


def _stricter(one: Verdict, other: Verdict) -> Verdict:
    """Both verdicts, with the note of the one that demands more."""
    stronger = max(one, other, key=_severity)
    waits = [verdict.requeue_after for verdict in (one, other) if verdict.requeue_after is not None]
    return Verdict(
        may_grow=one.may_grow and other.may_grow,
        preferred=one.preferred and other.preferred,
        leaves=one.leaves or other.leaves,
        note=stronger.note,
        requeue_after=min(waits, default=None),
    )


def _severity(verdict: Verdict) -> tuple[bool, bool, bool]:
    return verdict.leaves, not verdict.may_grow, not verdict.preferred
