"""Failures of writes: the message for status, and whether somebody has to act.

Every failed write is tried again, with growing pauses. The difference is how long it may fail before the subset is
Stalled: a refused object stays refused until somebody acts, while a busy server recovers.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from uniteddeployment.controller.member_namespaces import NamespaceRequired
from uniteddeployment.controller.takeover import NotAdoptable, NotOurs, NotReplaceable
from uniteddeployment.kube import errors
from uniteddeployment.planning.observed import cluster_label
from uniteddeployment.planning.steps import MemberStep

LONGEST_MESSAGE = 500
"""Characters of a member's message that go into status and Events."""

AT_ONCE = 0.0
UNEXPLAINED_SECONDS = 5.0
TRANSIENT_SECONDS = 60.0

PATIENCE: Mapping[int, float] = {
    400: AT_ONCE,  # the object cannot be decoded, or admission refuses it
    401: AT_ONCE,  # the credentials
    403: AT_ONCE,  # missing rights, a quota, or admission
    405: AT_ONCE,
    406: AT_ONCE,
    413: AT_ONCE,  # the object is too large
    415: AT_ONCE,
    422: AT_ONCE,  # the object is not valid
}
"""HTTP status -> seconds that writes may fail with it before the subset is Stalled. All others, such as 409, 429 and
5xx, are transient, and so is no answer at all."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the last write of a subset failed. It is discarded when a write succeeds."""

    message: str
    """For people; it contains the member's message."""
    generation: int
    """The generation of the UnitedDeployment that was written for. The failure says nothing about another one."""
    since: float
    """The time of the first failure in a row, in the loop's time."""
    stalled: bool
    """Whether somebody has to act."""


def failure(before: Failure | None, step: MemberStep, error: errors.KubeError, generation: int, now: float) -> Failure:
    """The failure of a step. ``before`` is the failure of the subset's last write, if that failed as well."""
    if before is not None and before.generation != generation:
        before = None
    since = before.since if before is not None else now
    # A subset stays Stalled until a write succeeds, whatever the reason of the next failure.
    stalled = (before is not None and before.stalled) or now - since >= patience(error)
    return Failure(_message(step, error), generation, since, stalled)


def patience(error: errors.KubeError) -> float:
    """Seconds that writes may fail with this error before somebody has to act."""
    if isinstance(error, NamespaceRequired | NotAdoptable | NotOurs | NotReplaceable):
        return AT_ONCE
    if not isinstance(error, errors.ApiError) or _is_terminating(error):
        return TRANSIENT_SECONDS
    if error.status == 500 and not error.reason:
        # An unexpected error of the server. It is the answer to an apply that does not fit the schema, and also the
        # answer while etcd has no leader: only time shows which.
        return UNEXPLAINED_SECONDS
    return PATIENCE.get(error.status, TRANSIENT_SECONDS)


def is_final(error: errors.KubeError) -> bool:
    """Whether the same write will fail until somebody acts."""
    return patience(error) == AT_ONCE


def _is_terminating(error: errors.ApiError) -> bool:
    """Whether the namespace is being deleted. It can be created again after that."""
    return any(cause.reason == "NamespaceTerminating" for cause in error.causes)


def _message(step: MemberStep, error: errors.KubeError) -> str:
    place = cluster_label(step.cluster)
    text = _cut(str(error))
    if isinstance(error, NotOurs):
        return (
            f"{step.kind} {step.name} exists in {place}: {text}, and is left alone. "
            f"Rename the subset or remove the {step.kind}"
        )
    return f"{step.kind} {step.name} in {place}: {text}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 3]}..."
