"""Replaces the tokens of registered members before they expire.

A new token is requested with the present one, is proved to work, and is stored in the Secret; then the connection uses
it. A crash between two of these steps leaves a working token in the Secret, and the next process starts over. The
present token stays valid meanwhile, so no request fails.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import structlog

from uniteddeployment.fleet import clusters
from uniteddeployment.fleet.account import issue_token, token_data
from uniteddeployment.fleet.clusters import ClusterObject
from uniteddeployment.fleet.identity import UnidentifiedError, cluster_uid
from uniteddeployment.fleet.member_token import MemberToken
from uniteddeployment.fleet.rotation import Schedule
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection, CredentialsError, StaticToken
from uniteddeployment.kube.errors import KubeError
from uniteddeployment.kube.meta import PartialObject, rfc3339
from uniteddeployment.kube.resource import SECRETS

_log = structlog.get_logger(__name__)

PROOF_SECONDS = 10.0
LONGEST_SLEEP = 3600.0
"""The wall clock is read at least this often: the clock of the event loop stops while a computer sleeps."""
CONDITION = "CredentialsValid"
"""The type of the condition of a Cluster whose token is not replaced, or has expired."""
NOT_REPLACED, EXPIRED = "TokenNotReplaced", "TokenExpired"


@dataclass(frozen=True, slots=True)
class TokenTrouble:
    """Why the token of a member is not replaced, or that it has expired."""

    reason: str
    message: str


def condition(
    trouble: TokenTrouble, cluster: ClusterObject, stored: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """The condition of a Cluster that reports the trouble. There is none while all is well."""
    before = {found.get("type"): found for found in stored.get("conditions") or ()}.get(CONDITION) or {}
    return {
        "type": CONDITION,
        "status": "False",
        "observedGeneration": cluster.metadata.generation,
        "lastTransitionTime": before.get("lastTransitionTime") or rfc3339(now),
        "reason": trouble.reason,
        "message": trouble.message,
    }


@dataclass(frozen=True, slots=True)
class Subject:
    """A connected member whose token is replaced."""

    cluster: ClusterObject
    uid: str
    """The uid of the cluster."""
    client: Client
    connection: Connection
    token: MemberToken


class Tokens:
    """Replaces the tokens of members. ``connect`` creates the client with which a new token is proved to work."""

    def __init__(self, host: Client, connect: Callable[[Connection], Client], now: Callable[[], datetime]) -> None:
        self._host = host
        self._connect = connect
        self._now = now

    async def keep(self, subject: Subject, changed: Callable[[TokenTrouble | None], None]) -> None:
        """Replace the token of a member whenever that is due, until cancelled. Return if it does not expire.

        ``changed`` is called with the trouble after each failure, and with None when there is none.
        """
        failures = 0
        while True:
            schedule = subject.token.schedule(subject.cluster.metadata.uid)
            if schedule is None:
                return
            while (seconds := (schedule.due - self._now()).total_seconds()) > 0:  # noqa: ASYNC110  # it waits for a time
                await asyncio.sleep(min(seconds, LONGEST_SLEEP))
            try:
                await self._replace(subject)
            except (KubeError, CredentialsError) as error:
                failures += 1
                _log.warning("token not replaced", cluster=subject.cluster.key, error=str(error))
                changed(self.trouble(subject.cluster, schedule, str(error)))
                await asyncio.sleep(schedule.retry_after(failures).total_seconds())
            else:
                failures = 0
                changed(None)

    def trouble(self, cluster: ClusterObject, schedule: Schedule, error: str = "") -> TokenTrouble | None:
        """The trouble with a token that could not be replaced; None if it is not due."""
        now, expires = self._now(), rfc3339(schedule.expires)
        again = f"'ud clusters register {cluster.metadata.name}' creates a new one"
        if now >= schedule.expires:
            return TokenTrouble(EXPIRED, f"the token expired at {expires}; {again}")
        if now >= schedule.due and error:
            return TokenTrouble(
                NOT_REPLACED, f"the token expires at {expires} and cannot be replaced: {error}; {again}"
            )
        return None

    async def _replace(self, subject: Subject) -> None:
        """Replace the token once. Raises KubeError, CredentialsError."""
        cluster, token = subject.cluster, subject.token
        secret = await clusters.read_secret(cluster, self._host)
        if not secret.replaceable:
            raise CredentialsError("the Secret is not from a registration any more")
        stored = clusters.token_of(cluster, secret)
        if stored != token.value:
            token.replace(stored, secret.issued)  # the member was registered again
            return
        issued = self._now()
        new = await issue_token(subject.client)
        await self._prove(subject, new.value)
        data = token_data(new.value, issued)
        # The resource version makes the write fail if the member was registered again meanwhile.
        identity = {"uid": secret.metadata.uid, "resourceVersion": secret.metadata.resource_version}
        await self._host.merge_patch(
            SECRETS,
            cluster.spec.credentials.secret_ref.name,
            {**data, "metadata": {**data["metadata"], **identity}},
            PartialObject,
            namespace=cluster.metadata.namespace,
        )
        token.replace(new.value, issued)
        _log.info("token replaced", cluster=cluster.key, expires=new.expires.isoformat())

    async def _prove(self, subject: Subject, token: str) -> None:
        """Raise KubeError unless the cluster accepts a token."""
        # The metrics of a client are removed when it is closed, so it must not share the name of the member's.
        name = f"{subject.connection.name} (new token)"
        client = self._connect(replace(subject.connection, tokens=StaticToken(token), name=name))
        try:
            if await cluster_uid(client, timeout=PROOF_SECONDS) != subject.uid:
                raise UnidentifiedError("another cluster answers at its address")
        finally:
            await client.close()
