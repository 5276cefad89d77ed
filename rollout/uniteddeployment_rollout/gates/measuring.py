"""The interface of the modules that measure, and their one error."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from uniteddeployment.kube.client import Client
from uniteddeployment.kube.web import RequestFailed
from uniteddeployment_rollout.gates.probe import Measured, Probe


class CannotMeasure(RequestFailed):
    """It was not possible to measure. The message goes into the status, so it must not contain a secret.

    ``permanent`` means that the gate itself is wrong, so that it does not help to wait.
    """


@dataclass(frozen=True, slots=True)
class Subject:
    """The rollout that a measurement is for."""

    namespace: str
    name: str
    uid: str


class Members(Protocol):
    """Gives access to members, as far as the fleet's administrator allows it to a namespace."""

    def client(self, cluster: str, namespace: str) -> AbstractAsyncContextManager[Client]:
        """A client of a Cluster (``namespace/name``) for a namespace. Raises RequestFailed and KubeError."""
        ...


class Provider(Protocol):
    """Measures gates of one kind."""

    async def measure(self, subject: Subject, probe: Probe) -> Measured:
        """Take one measurement. Raises RequestFailed and KubeError."""
        ...

    async def discard(self, subject: Subject, probe: Probe) -> None:
        """Remove what a measurement has created, because nobody will use its result. Raises KubeError."""
        ...
