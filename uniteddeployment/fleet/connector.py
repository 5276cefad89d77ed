"""Keeps one Cluster connected: its credentials, which cluster answers, and the member while it is used.

Errors of one Cluster stay with it, including unexpected ones (I10, I16).
"""

import asyncio
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import structlog

from uniteddeployment.fleet import clusters
from uniteddeployment.fleet.entry import Entry, Problem
from uniteddeployment.fleet.health import INTERNAL_ERROR, INVALID_CREDENTIALS
from uniteddeployment.fleet.member import FIRST_PAUSE, LONGEST_PAUSE, Member
from uniteddeployment.fleet.member_token import MemberToken
from uniteddeployment.fleet.registrar import Registrar
from uniteddeployment.fleet.tokens import Subject, Tokens, TokenTrouble
from uniteddeployment.kube.backoff import Backoff
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection, CredentialsError
from uniteddeployment.kube.errors import KubeError
from uniteddeployment.planning.observed import Reach

_log = structlog.get_logger(__name__)

Connect = Callable[[Connection], Client]
"""Creates the client of a member; simulations create one without sockets."""

RETRY_SECONDS, LONGEST_RETRY_SECONDS = 15.0, 60.0
"""The shortest and the longest pause until the Secret of an unreachable cluster is read again."""
IDENTIFYING = "finding out which cluster answers"


class Connector:
    """Connects Clusters.

    ``new_member(entry, client)`` creates a member, ``set_state(entry, reach, detail)`` and ``reach_changed(member)``
    take new states, ``refused(entry, problem)`` is called each time that a Cluster cannot be used, and
    ``disconnected(member)`` when a member is no longer followed. ``tokens`` replaces the tokens of registered members,
    and reports trouble to ``token_changed``; None if nothing may be written.
    """

    def __init__(
        self,
        host: Client,
        connect: Connect,
        registrar: Registrar,
        *,
        new_member: Callable[[Entry, Client], Member],
        set_state: Callable[[Entry, Reach, str], None],
        reach_changed: Callable[[Member], None],
        refused: Callable[[Entry, Problem], None],
        disconnected: Callable[[Member], None],
        tokens: Tokens | None,
        token_changed: Callable[[Entry, TokenTrouble | None], None],
    ) -> None:
        self._host = host
        self._connect = connect
        self._registrar = registrar
        self._new_member = new_member
        self._set_state = set_state
        self._reach_changed = reach_changed
        self._refused = refused
        self._disconnected = disconnected
        self._tokens = tokens
        self._token_changed = token_changed

    async def run(self, entry: Entry) -> None:
        """Keep one Cluster connected until cancelled; return at once if it is suspended."""
        if entry.cluster.spec.suspended:
            self._set_state(entry, Reach.SUSPENDED, "spec.suspended is set")
            return
        backoff = Backoff()
        while True:
            try:
                await self._keep_connected(entry)
            except Exception as error:  # noqa: BLE001  # logged, reported in status, and tried again
                self._refuse(entry, Problem(Reach.PENDING, unexpected(entry.key, error), trouble=INTERNAL_ERROR))
            await asyncio.sleep(backoff.pause())

    async def _keep_connected(self, entry: Entry) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                connection = await clusters.connection(entry.cluster, self._host)
                client = self._connect(connection)
            except (CredentialsError, KubeError) as error:
                trouble = INVALID_CREDENTIALS if isinstance(error, CredentialsError) else ""
                self._refuse(entry, Problem(Reach.PENDING, str(error), trouble=trouble))
                await asyncio.sleep(RETRY_SECONDS)
                continue
            try:
                problem = await self._registrar.admit(entry, client)
                if problem is None:
                    pause = FIRST_PAUSE
                    entry.problem = None
                    self._token_changed(entry, None)
                    await self._follow(entry, client, connection)
                    continue
            finally:
                await client.close()
            self._refuse(entry, self._explained(entry, problem, connection))
            await self._registrar.wait_refused(entry, problem, RETRY_SECONDS if problem.reason else pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _follow(self, entry: Entry, client: Client, connection: Connection) -> None:
        """Watch a cluster until its credentials change, or until the Cluster is no longer used for it."""
        member = entry.member = self._new_member(entry, client)
        try:
            async with asyncio.TaskGroup() as tasks:
                following = tasks.create_task(member.run())
                ends = (
                    tasks.create_task(self._new_credentials(entry, member, connection)),
                    tasks.create_task(self._registrar.superseded(entry)),
                    tasks.create_task(member.replaced.wait()),
                )
                rotating = self._rotations(tasks, entry, member, connection)
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for task in (following, *ends, *rotating):
                    task.cancel()
        finally:
            self._disconnected(member)
        if member.replaced.is_set() or self._registrar.problem(entry) is not None:
            entry.member = None
            self._refuse(entry, Problem(Reach.PENDING, IDENTIFYING))

    def _rotations(
        self, tasks: asyncio.TaskGroup, entry: Entry, member: Member, connection: Connection
    ) -> list[asyncio.Task[None]]:
        """Start the task that replaces the token of a registered member."""
        if self._tokens is None or not isinstance(connection.tokens, MemberToken):
            return []
        subject = Subject(entry.cluster, member.uid, member.client, connection, connection.tokens)
        return [tasks.create_task(self._tokens.keep(subject, partial(self._token_changed, entry)))]

    def _explained(self, entry: Entry, problem: Problem, connection: Connection) -> Problem:
        """Say in a problem that the token has expired, if it has, and how to get another one."""
        if self._tokens is None or not isinstance(connection.tokens, MemberToken):
            return problem
        schedule = connection.tokens.schedule(entry.cluster.metadata.uid)
        trouble = self._tokens.trouble(entry.cluster, schedule) if schedule is not None else None
        if trouble is None:
            return problem
        self._token_changed(entry, trouble)
        return replace(problem, detail=f"{problem.detail}: {trouble.message}")

    def _refuse(self, entry: Entry, problem: Problem) -> None:
        """Note why a Cluster is not used. What it showed stays known, unless that may be of another cluster."""
        if problem == entry.problem and not entry.undecided:
            self._refused(entry, problem)
            return
        entry.problem = problem
        if problem.reason:
            entry.member = None
        if entry.member is not None and entry.member.disconnect(problem.detail):
            self._reach_changed(entry.member)
        else:
            self._set_state(entry, problem.reach, problem.detail)
        self._refused(entry, problem)

    async def _new_credentials(self, entry: Entry, member: Member, connection: Connection) -> None:
        """Return when the cluster cannot be reached and its Secret has other credentials.

        A refused token is not the only sign of new credentials: with a new certificate authority, the connection fails
        before any answer.
        """
        pause = RETRY_SECONDS
        while True:
            if not member.failing.is_set():
                pause = RETRY_SECONDS
                await member.failing.wait()
            await asyncio.sleep(pause)
            if not member.failing.is_set():
                continue
            pause = min(2 * pause, LONGEST_RETRY_SECONDS)
            try:
                present = await clusters.connection(entry.cluster, self._host)
            except (CredentialsError, KubeError) as error:
                _log.warning("credentials not read", cluster=member.name, error=str(error))
                continue
            if member.failing.is_set() and present != connection:
                _log.info("new credentials", cluster=member.name)
                return


def unexpected(cluster: str, error: Exception) -> str:
    """Log an unexpected error and return the reason for status.

    Neither contains the message of the error, which may quote a Secret (I12).
    """
    leaves = list(_leaves(error))
    for leaf in leaves:
        where = "".join(traceback.format_tb(leaf.__traceback__))
        _log.error("connection failed", cluster=cluster, error=type(leaf).__name__, where=where)
    return f"internal error: {type(leaves[0]).__name__}; the controller's log says where"


def _leaves(error: Exception) -> Iterator[Exception]:
    """The errors in a group of errors, or the error itself."""
    if not isinstance(error, ExceptionGroup):
        yield error
        return
    for part in error.exceptions:
        yield from _leaves(part)
