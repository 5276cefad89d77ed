"""Gates that run a Job in the namespace of the rollout, on the host or in the clusters of subsets.

The name of a Job follows from the measurement, so a process that starts again finds the Job and creates no other one.
The rollout owns its Jobs on the host, so they are deleted with it. All Jobs are deleted some time after their end.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from msgspec import Struct, field

from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.requests import Propagation
from uniteddeployment.kube.resource import Resource
from uniteddeployment_api import gate_texts, names
from uniteddeployment_api.duration import seconds
from uniteddeployment_api.v1alpha1.gates import JobMeasurement
from uniteddeployment_rollout.gates.measuring import CannotMeasure, Members, Subject
from uniteddeployment_rollout.gates.probe import Measured, Probe

JOBS = Resource("batch", "v1", "jobs", "Job")
LABEL_ROLLOUT = f"{names.GROUP}/rollout"
LABEL_GATE = f"{names.GROUP}/gate"
ANNOTATION_MEASUREMENT = f"{names.GROUP}/measurement"
"""On Jobs: the uid of the rollout and the identity of the measurement."""
KEPT_SECONDS = 24 * 3600
"""How long a finished Job is kept, unless its spec says otherwise."""
_FIRST_POLL, _LAST_POLL = 1.0, 15.0
_NAME_LIMIT = 63
_LONGEST = 160


class _Metadata(Struct, rename="camel", frozen=True):
    uid: str = ""
    annotations: dict[str, str] = {}


class _Condition(Struct, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class _Status(Struct, frozen=True):
    conditions: tuple[_Condition, ...] = ()


class _Job(Struct, frozen=True):
    """The parts of a Job that are read."""

    metadata: _Metadata = field(default_factory=_Metadata)
    status: _Status = field(default_factory=_Status)

    def condition(self, type_: str) -> _Condition | None:
        return next((each for each in self.status.conditions if each.type == type_ and each.status == "True"), None)


class Jobs:
    """Measures gates with Jobs."""

    def __init__(self, host: Client, members: Members | None = None) -> None:
        self._host = host
        self._members = members

    async def measure(self, subject: Subject, probe: Probe) -> Measured:
        """Run the Job, or find the one that runs, and wait for its end. Raises RequestFailed and KubeError."""
        measurement = probe.gate.measurement.job if probe.gate.measurement is not None else None
        if measurement is None:
            raise CannotMeasure("the gate has no Job", permanent=True)
        async with self._client(subject, probe) as client:
            run = _Run(client, subject, job_name(subject, probe))
            job = await run.start(probe, measurement)
            try:
                async with asyncio.timeout(seconds(measurement.timeout)):
                    return await run.end(job)
            except TimeoutError:
                await run.delete()
                raise CannotMeasure(f"Job {run.name} did not end within {measurement.timeout}") from None

    async def discard(self, subject: Subject, probe: Probe) -> None:
        """Delete the Job of a measurement. Raises RequestFailed and KubeError."""
        async with self._client(subject, probe) as client:
            await _Run(client, subject, job_name(subject, probe)).delete()

    @contextlib.asynccontextmanager
    async def _client(self, subject: Subject, probe: Probe) -> AsyncIterator[Client]:
        """The client of the cluster that the Job runs in."""
        measurement = probe.gate.measurement.job if probe.gate.measurement is not None else None
        if measurement is None or measurement.run_in == "Host" or not probe.cluster:
            yield self._host
            return
        if self._members is None:
            raise CannotMeasure("this rollout controller has no access to members", permanent=True)
        async with self._members.client(probe.cluster, subject.namespace) as client:
            yield client


@dataclass(frozen=True, slots=True)
class _Run:
    """One Job in one cluster."""

    client: Client
    subject: Subject
    name: str

    async def start(self, probe: Probe, measurement: JobMeasurement) -> _Job:
        """Create the Job, or find it. Raises CannotMeasure and KubeError."""
        document = manifest(self.subject, probe, measurement)
        try:
            return await self.client.create(JOBS, document, _Job, namespace=self.subject.namespace)
        except errors.AlreadyExists:
            job = await self._get()
        except errors.Forbidden:
            raise CannotMeasure(
                f"it is not allowed to create Jobs in the namespace {self.subject.namespace}; see docs/gates.md"
            ) from None
        except errors.Invalid as error:
            raise CannotMeasure(f"the Job is not valid: {_short(error.message)}", permanent=True) from None
        if job.metadata.annotations.get(ANNOTATION_MEASUREMENT) != _identity(self.subject, probe):
            raise CannotMeasure(f"another Job has the name {self.name}")
        return job

    async def end(self, job: _Job) -> Measured:
        """Wait for the end of the Job. Raises CannotMeasure and KubeError."""
        pause = _FIRST_POLL
        while True:
            if job.condition("Complete") is not None:
                return Measured("Success", "Complete", f"Job {self.name} is complete")
            if (failed := job.condition("Failed")) is not None:
                return Measured(
                    "Failure", _short(failed.reason or "Failed"), f"Job {self.name}: {_short(failed.message)}"
                )
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LAST_POLL)
            try:
                job = await self._get()
            except errors.NotFound:
                raise CannotMeasure(f"Job {self.name} was deleted before it ended") from None

    async def delete(self) -> None:
        """Delete the Job and its pods. Raises KubeError."""
        namespace = self.subject.namespace
        with contextlib.suppress(errors.NotFound):
            await self.client.delete(JOBS, self.name, namespace=namespace, propagation=Propagation.BACKGROUND)

    async def _get(self) -> _Job:
        return await self.client.get(JOBS, self.name, _Job, namespace=self.subject.namespace)


def job_name(subject: Subject, probe: Probe) -> str:
    """Return the name of the Job of a measurement: rollout, gate, and a hash of the whole identity."""
    digest = hashlib.sha256(_identity(subject, probe).encode()).hexdigest()[:10]
    head = f"{subject.name}-{probe.id.gate}".replace(".", "-")
    return f"{head[: _NAME_LIMIT - len(digest) - 1].rstrip('-')}-{digest}"


def manifest(subject: Subject, probe: Probe, measurement: JobMeasurement) -> dict[str, Any]:
    """Return the Job. It ends at the latest when nobody waits for it any more, and is not tried again by default."""
    spec = {
        "backoffLimit": 0,
        "activeDeadlineSeconds": seconds(measurement.timeout),
        "ttlSecondsAfterFinished": KEPT_SECONDS,
        **measurement.spec,
    }
    in_member = measurement.run_in == "Member" and bool(probe.cluster)
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": job_name(subject, probe),
            "namespace": subject.namespace,
            "labels": {LABEL_ROLLOUT: names.label_value(subject.name), LABEL_GATE: probe.id.gate},
            "annotations": {ANNOTATION_MEASUREMENT: _identity(subject, probe)},
            **({} if in_member else {"ownerReferences": [_owner(subject)]}),
        },
        "spec": gate_texts.filled_all(spec, {**probe.variables, **(probe.gate.args or {})}),
    }


def _owner(subject: Subject) -> dict[str, Any]:
    """The owner reference to a rollout. References do not cross clusters."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.UNITED_ROLLOUT_KIND,
        "name": subject.name,
        "uid": subject.uid,
        "controller": True,
    }


def _identity(subject: Subject, probe: Probe) -> str:
    return f"{subject.uid}/{probe.id.text}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
