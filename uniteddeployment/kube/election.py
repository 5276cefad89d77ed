"""Leader election on a Lease: at most one process works at a time (I1).

The holder renews the Lease. Every other candidate waits until the Lease has not changed for its whole duration,
measured by the candidate's own monotonic clock, so no two machines need to agree on the time. Each write names the
version that was read, so of two candidates that write at the same time one fails. A holder that could not renew within
the deadline stops its work before another candidate may begin.

A process that is frozen (SIGSTOP, a paused virtual machine, a suspended laptop) cannot stop its work in time: it
resumes in the middle of it. So ``Elector.check`` is called right before every write is sent.
"""

import asyncio
import contextlib
import math
import random
from collections.abc import Awaitable, Callable
from datetime import datetime

import msgspec
import structlog

from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.limiter import Priority
from uniteddeployment.kube.meta import ObjectMeta, micro_time, utc_now
from uniteddeployment.kube.resource import LEASES

WARNING_SECONDS = 60.0
"""The time until the same warning is logged again."""
_JITTER = 0.2
_SHORTEST = 0.001
_log = structlog.get_logger(__name__)


class LostLeadership(Exception):  # noqa: N818  # an outcome, not an error of the program
    """The Lease could not be renewed in time, or somebody else has it. The work was cancelled."""


class LeaseSpec(msgspec.Struct, rename="camel"):
    """The holder of the Lease, its duration and times, and how often the holder changed."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(msgspec.Struct):
    """coordination.k8s.io/v1 Lease."""

    metadata: ObjectMeta
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)


class Elector:
    """One candidate. ``identity`` must be unique among all of them.

    ``clock`` returns seconds. It should run while the machine is suspended, as ``kube.clock.since_boot`` does. The
    default is the clock of the event loop.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        lease_duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        chance: Callable[[], float] = random.random,
        wall: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] | None = None,
    ) -> None:
        if not lease_duration > renew_deadline > retry_period * (1 + _JITTER) > 0:
            raise ValueError("the lease duration must exceed the renew deadline, and that the retry period with jitter")
        self.is_leader = False
        self.leader = ""
        self._lease = f"{namespace}/{name}"
        self.problem = f"the Lease {self._lease} has not been read yet"
        """Why this candidate cannot take part, and how to solve that; empty while the Lease can be used."""
        self._warnings = _Warnings()
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._duration = lease_duration
        self._deadline = renew_deadline
        self._period = retry_period
        self._chance = chance
        self._wall = wall
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._seen: Lease | None = None
        self._seen_at = 0.0
        self._held_since = 0.0
        self._answered_at = 0.0

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the leadership, run ``work`` until it ends, and release the Lease.

        Raises ``LostLeadership`` after cancelling ``work`` if the Lease is lost, and whatever ``work`` raises.
        """
        self._answered_at = self._clock()
        await self._acquire()
        working = asyncio.ensure_future(_call(work))
        renewing = asyncio.ensure_future(self._renew())
        try:
            await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (working, renewing):
                task.cancel()
            await asyncio.gather(working, renewing, return_exceptions=True)
            await self._release()
        if not working.cancelled():
            working.result()
            return
        renewing.result()
        raise LostLeadership(f"the Lease {self._lease} was lost{f' to {self.leader}' if self.leader else ''}")

    def check(self) -> None:
        """Raises ``NotLeading`` unless the Lease was renewed so recently that no other process can hold it.

        The limit is the renew deadline. The rest of the lease duration is the time that a write has to arrive.
        """
        if not self.is_leader:
            raise errors.NotLeading(f"nothing was sent: this process does not hold the Lease {self._lease}")
        age = self._clock() - self._held_since
        if age >= self._deadline:
            raise errors.NotLeading(
                f"nothing was sent: the Lease {self._lease} was last renewed {age:.1f} s ago, and another process may "
                "hold it by now"
            )

    async def _acquire(self) -> None:
        while True:
            if await self._try_within(self._deadline):
                break
            await asyncio.sleep(self._period * (1.0 + _JITTER * self._chance()))
        self.is_leader = True
        _log.info("leading", lease=self._lease, identity=self._identity)

    async def _renew(self) -> None:
        """Renew the Lease; return when the leadership is lost."""
        while True:
            await asyncio.sleep(max(0.0, min(self._period, self._left())))
            left = self._left()
            if left > 0 and await self._try_within(left):
                continue
            if self._left() <= 0 or self._taken():
                self.is_leader = False
                _log.warning("lost the leadership", lease=self._lease, leader=self.leader)
                return

    def _left(self) -> float:
        """Seconds that are left to renew; 0 if they are below the resolution of the clock."""
        left = self._held_since + self._deadline - self._clock()
        return left if left >= _SHORTEST else 0.0

    async def _try_within(self, seconds: float) -> bool:
        """Try once to get or keep the Lease; return whether it is held. No answer in time is a failure."""
        begun = self._clock()
        try:
            async with asyncio.timeout(seconds):
                held = await self._attempt()
        except TimeoutError:
            self._failed(errors.Unreachable(self._client.name, f"no answer within {seconds:.3g} s"))
            return False
        except errors.Conflict:
            held = False  # another candidate wrote first, so the server answers
        except errors.KubeError as error:
            self._failed(error)
            return False
        self._answered()
        if held:
            # Others measure from when they see the renewal, which is later than its start.
            self._held_since = begun
        return held and self._left() > 0

    def _answered(self) -> None:
        self._answered_at = self._clock()
        if self._warnings.given:
            _log.info("the lease can be used again", lease=self._lease)
        self._warnings = _Warnings()
        self.problem = ""

    def _failed(self, error: errors.KubeError) -> None:
        """Note why the Lease cannot be used: at once if it was refused, else when failures last longer than a Lease."""
        now = self._clock()
        if not _refused(error) and now < self._answered_at + self._duration:
            _log.debug("no lease", lease=self._lease, why=str(error))
            return
        self.problem = f"the Lease {self._lease} cannot be used: {error}{_way_out(error, self._namespace)}"
        if self._warnings.due(type(error).__name__, now):
            _log.warning("cannot lead", problem=self.problem)

    async def _attempt(self) -> bool:
        if self.is_leader and self._seen is not None:
            # Usually nothing has changed since the last renewal, so a write at that version succeeds. Else read first.
            with contextlib.suppress(errors.Conflict, errors.NotFound):
                self._see(await self._write(self._seen, self._claim(self._seen.spec)))
                return True
        try:
            lease = await self._get()
        except errors.NotFound:
            self._see(await self._create())
            return True
        self._see(lease)
        if self._taken():
            return False
        self._see(await self._write(lease, self._claim(lease.spec)))
        return True

    def _see(self, lease: Lease) -> None:
        if self._seen is None or self._seen.metadata.resource_version != lease.metadata.resource_version:
            self._seen_at = self._clock()
        self._seen = lease
        self.leader = lease.spec.holder_identity or ""

    def _taken(self) -> bool:
        """Whether another process holds the Lease and it has not expired."""
        if self._seen is None or not self.leader or self.leader == self._identity:
            return False
        duration = self._seen.spec.lease_duration_seconds or self._duration
        return self._clock() < self._seen_at + duration

    def _claim(self, now: LeaseSpec) -> dict[str, object]:
        moment = micro_time(self._wall())
        claim: dict[str, object] = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": math.ceil(self._duration),
            "renewTime": moment,
        }
        if now.holder_identity != self._identity:
            claim |= {"acquireTime": moment, "leaseTransitions": (now.lease_transitions or 0) + 1}
        return claim

    async def _get(self) -> Lease:
        return await self._client.get(LEASES, self._name, Lease, namespace=self._namespace, priority=Priority.VITAL)

    async def _create(self) -> Lease:
        claim = self._claim(LeaseSpec(lease_transitions=-1))
        body = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": claim,
        }
        return await self._client.create(LEASES, body, Lease, namespace=self._namespace, priority=Priority.VITAL)

    async def _write(self, lease: Lease, spec: dict[str, object]) -> Lease:
        patch = {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}
        return await self._client.merge_patch(
            LEASES, self._name, patch, Lease, namespace=self._namespace, priority=Priority.VITAL
        )

    async def _release(self) -> None:
        """Release the Lease, so that the next holder need not wait until it expires."""
        held, self.is_leader = self.is_leader, False
        if not held or self._seen is None:
            return
        try:
            async with asyncio.timeout(self._period):
                await self._write_released(self._seen)
        except (TimeoutError, errors.KubeError) as error:
            _log.info("lease not released", lease=self._lease, why=str(error))

    async def _write_released(self, seen: Lease) -> None:
        released: dict[str, object] = {"holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            await self._write(seen, released)
        except errors.Conflict:
            # The renewal that was just cancelled may have arrived.
            lease = await self._get()
            if lease.spec.holder_identity == self._identity:
                await self._write(lease, released)


class _Warnings:
    """The kind and the time of the last warning: a warning of the same kind is repeated after a minute."""

    def __init__(self) -> None:
        self.given = ""
        self._at = 0.0

    def due(self, kind: str, now: float) -> bool:
        """Whether to log a warning of this kind now."""
        if kind == self.given and now < self._at + WARNING_SECONDS:
            return False
        self.given, self._at = kind, now
        return True


def _refused(error: errors.KubeError) -> bool:
    """Whether a retry will not help: the server answered, and it was neither busy nor failing."""
    return isinstance(error, errors.ApiError) and not isinstance(error, errors.TooManyRequests | errors.ServerError)


def _way_out(error: errors.KubeError, namespace: str) -> str:
    match error:
        case errors.Forbidden():
            return f"; allow get, create and patch of leases in the namespace {namespace}, or use another namespace"
        case errors.NotFound():
            return f"; create the namespace {namespace}, or use another one"
        case _:
            return ""


async def _call(work: Callable[[], Awaitable[None]]) -> None:
    await work()
