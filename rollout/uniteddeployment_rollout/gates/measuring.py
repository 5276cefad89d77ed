"""The interface of the modules that measure, and their one error."""

from dataclasses import dataclass
from typing import Protocol

from uniteddeployment_rollout.gates.probe import Measured, Probe


class CannotMeasure(Exception):  # noqa: N818  # an outcome of a measurement, which the status reports
    """It was not possible to measure. The message goes into the status, so it must not contain a secret.

    ``permanent`` means that the gate itself is wrong, so that it does not help to wait.
    """

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


@dataclass(frozen=True, slots=True)
class Subject:
    """The rollout that a measurement is for."""

    namespace: str
    name: str
    uid: str


class Provider(Protocol):
    """Measures gates of one kind."""

    async def measure(self, subject: Subject, probe: Probe) -> Measured:
        """Take one measurement. Raises CannotMeasure and KubeError."""
        ...

    async def discard(self, subject: Subject, probe: Probe) -> None:
        """Remove what a measurement has created, because nobody will use its result. Raises KubeError."""
        ...
