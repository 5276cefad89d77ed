"""Gates that read a condition or a field of an object on the host."""

from typing import Any

import msgspec
from cachetools import TTLCache
from msgspec import Struct

from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import Resource
from uniteddeployment_api import gate_fields, gate_texts
from uniteddeployment_api.v1alpha1.gates import ObjectCondition, ObjectMeasurement
from uniteddeployment_rollout.gates.measuring import CannotMeasure, Subject
from uniteddeployment_rollout.gates.probe import Measured, Probe

_KNOWN_SECONDS = 300
_LONGEST = 64


class _ApiResource(Struct, frozen=True):
    name: str = ""
    kind: str = ""
    namespaced: bool = False


class _ApiResources(Struct, frozen=True):
    """What an API server serves of one group and version."""

    resources: tuple[_ApiResource, ...] = ()


class Objects:
    """Measures gates with objects in the namespace of the rollout."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._resources: TTLCache[tuple[str, str], Resource] = TTLCache(maxsize=256, ttl=_KNOWN_SECONDS)

    async def measure(self, subject: Subject, probe: Probe) -> Measured:
        """Take one measurement. Raises CannotMeasure and KubeError."""
        measurement = probe.gate.measurement.object_ if probe.gate.measurement is not None else None
        if measurement is None:
            raise CannotMeasure("the gate has no object", permanent=True)
        resource = await self._resource(measurement)
        name = gate_texts.filled(measurement.name, {**probe.variables, **(probe.gate.args or {})})
        what = f"{measurement.kind} {name}"
        try:
            found = await self._client.get(resource, name, dict[str, Any], namespace=subject.namespace)
        except ValueError:
            raise CannotMeasure(f"{measurement.kind}: the name is not valid", permanent=True) from None
        except errors.NotFound:
            raise CannotMeasure(f"{what} does not exist") from None
        except errors.Forbidden:
            raise CannotMeasure(f"the rollout controller may not read {what}; see docs/gates.md") from None
        return measured(measurement, found, what)

    async def discard(self, subject: Subject, probe: Probe) -> None:
        """Do nothing: reading creates nothing."""

    async def _resource(self, measurement: ObjectMeasurement) -> Resource:
        """Find the resource of a kind. Raises CannotMeasure and KubeError."""
        key = (measurement.api_version, measurement.kind)
        if key in self._resources:
            return self._resources[key]
        group, _, version = measurement.api_version.rpartition("/")
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            answer = await self._client.send(Request("GET", path, (), {"accept": "application/json"}, verb="get"))
            served = msgspec.json.decode(answer.body, type=_ApiResources).resources
        except errors.NotFound:
            raise CannotMeasure(f"the API server does not serve {measurement.api_version}") from None
        except msgspec.MsgspecError:
            raise CannotMeasure(f"the API server does not say what it serves of {measurement.api_version}") from None
        for entry in served:
            if entry.kind == measurement.kind and "/" not in entry.name and entry.name:
                if not entry.namespaced:
                    raise CannotMeasure(f"{measurement.kind} is not a namespaced kind", permanent=True)
                self._resources[key] = Resource(group, version, entry.name, entry.kind)
                return self._resources[key]
        raise CannotMeasure(f"the API server does not serve {measurement.kind} in {measurement.api_version}")


def measured(measurement: ObjectMeasurement, found: dict[str, Any], what: str) -> Measured:
    """Return the result for an object."""
    if measurement.condition is not None:
        return _condition(measurement.condition, found, what)
    path = measurement.json_path
    try:
        value = _text(gate_fields.value(found, gate_fields.steps(path)))
    except KeyError:
        return Measured("Failure", "none", f"{what} has no field {path}")
    if measurement.value is None or value == measurement.value:
        return Measured("Success", value[:_LONGEST])
    return Measured("Failure", value[:_LONGEST], f"{path} of {what} is {value[:_LONGEST]}, not {measurement.value}")


def _condition(wanted: ObjectCondition, found: dict[str, Any], what: str) -> Measured:
    try:
        conditions = gate_fields.value(found, ("status", "conditions"))
    except KeyError:
        conditions = ()
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, dict) and condition.get("type") == wanted.type:
            status = _text(condition.get("status"))[:_LONGEST]
            if status == wanted.status:
                return Measured("Success", status)
            return Measured("Failure", status, f"the condition {wanted.type} of {what} is {status}")
    return Measured("Failure", "none", f"{what} has no condition {wanted.type}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
