"""The one word for how an application or a subset is: in conditions, in kubectl's columns and in ``ud get``."""

from collections.abc import Iterable
from enum import StrEnum


class State(StrEnum):
    """Ordered: an application is in the first state that applies to it or to one of its subsets."""

    DELETING = "Deleting"
    """Its workloads are being removed."""
    STALLED = "Stalled"
    """Somebody has to act; waiting does not help."""
    UNKNOWN = "Unknown"
    """A cluster does not answer, so nobody knows how it is there now."""
    PAUSED = "Paused"
    """``spec.paused`` is set: nothing is changed."""
    PROGRESSING = "Progressing"
    """Changes are being made, or pods are not ready yet."""
    HELD = "Held"
    """As asked for: partitions keep some pods at the old revision."""
    READY = "Ready"
    """As asked for: every pod is ready at the updated revision."""


def first(states: Iterable[State]) -> State:
    """The state of the whole from the states of its parts; of nothing, Ready."""
    order = list(State)
    return min(states, key=order.index, default=State.READY)


def of_subset(*, stalled: bool, reachable: bool, paused: bool, settled: bool, held: bool) -> State:
    """The state of one subset."""
    if stalled:
        return State.STALLED
    if not reachable:
        return State.UNKNOWN
    if paused:
        return State.PAUSED
    if not settled:
        return State.PROGRESSING
    return State.HELD if held else State.READY
