"""A UnitedDeployment as commands show it, and its state. Pure."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from uniteddeployment.planning.observed import Metadata
from uniteddeployment.planning.results import State
from uniteddeployment.planning.status import READY
from uniteddeployment.planning.stored import StoredStatus, read_status
from uniteddeployment_api import names


class Shown(Struct, rename="camel", frozen=True):
    """The parts of a UnitedDeployment that commands show."""

    metadata: Metadata
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}

    def as_dict(self) -> dict[str, Any]:
        meta = self.metadata
        return {
            "apiVersion": names.API_VERSION,
            "kind": names.UNITED_DEPLOYMENT_KIND,
            "metadata": {
                "name": meta.name,
                "namespace": meta.namespace,
                "uid": meta.uid,
                "generation": meta.generation,
                "creationTimestamp": meta.creation_timestamp,
                **({"deletionTimestamp": meta.deletion_timestamp} if meta.deletion_timestamp else {}),
            },
            "spec": self.spec,
            "status": self.status,
        }


def status_of(obj: Mapping[str, Any]) -> StoredStatus:
    """The status of an object."""
    return read_status(obj.get("status"))


def observed(obj: Mapping[str, Any]) -> bool:
    """Return True if the status describes the current spec."""
    status = status_of(obj)
    seen, ready = status.observed_generation, status.condition(READY)
    described = seen if ready is None or ready.observed_generation is None else ready.observed_generation
    return bool(seen == obj["metadata"].get("generation") == described)


def state(obj: Mapping[str, Any]) -> State:
    """The state of an application. It is Progressing until the controller has observed the current spec."""
    if obj["metadata"].get("deletionTimestamp"):
        return State.DELETING
    ready = status_of(obj).condition(READY)
    return current_state(ready.reason if ready is not None else "", seen=observed(obj))


def current_state(word: str, *, seen: bool) -> State:
    """The state that the status contains, if the status describes the current spec."""
    return State(word) if seen and word in set(State) else State.PROGRESSING


def message(obj: Mapping[str, Any]) -> str:
    """The message about the whole application."""
    status, generation = status_of(obj), obj["metadata"].get("generation")
    seen = status.observed_generation
    if not observed(obj) and not obj["metadata"].get("deletionTimestamp"):
        known = f"generation {seen}" if seen else "no generation"
        return f"the controller has not observed generation {generation} of the spec yet (it has observed {known})"
    ready = status.condition(READY)
    return ready.message if ready is not None else ""
