"""One registration: checks, the account in the member, the proof that it works, and the Cluster on the host.

A registration that fails or is interrupted deletes what it created, and nothing that existed before.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from msgspec import Struct

from uniteddeployment.cli.clusters import documents, facts
from uniteddeployment.cli.clusters.decision import refusal, warnings
from uniteddeployment.cli.clusters.documents import Wish
from uniteddeployment.cli.clusters.progress import Progress
from uniteddeployment.cli.clusters.writing import Writer
from uniteddeployment.cli.connect import opened
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.cli.snapshot import now
from uniteddeployment.controller.served import check_served
from uniteddeployment.fleet.account import NO_MARK, Lifetime, Mark, Token, issue_token, read_lifetime
from uniteddeployment.fleet.clusters import CLUSTERS
from uniteddeployment.fleet.identity import UnidentifiedError, cluster_uid
from uniteddeployment.kube.client import REQUEST_SECONDS, Client
from uniteddeployment.kube.credentials import Connection, StaticToken
from uniteddeployment.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from uniteddeployment.kube.meta import PartialObject
from uniteddeployment.kube.resource import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    NAMESPACES,
    ROLEBINDINGS,
    ROLES,
    SECRETS,
    SERVICEACCOUNTS,
)
from uniteddeployment_api import names

FIELD_MANAGER = "ud-clusters-register"
SHORTEST_TOKEN = timedelta(hours=1)
"""With tokens that live shorter, a short outage of the controller would disconnect the member."""
PROOF_SECONDS, PROOF_PAUSE = 15.0, 0.2
"""How long a new account may take to work, since API servers read new roles in the background, and how often it is
tried."""

Open = Callable[[Connection], AbstractAsyncContextManager[Client]]


class _Secret(Struct, frozen=True):
    type: str = ""


class Registration:
    """Registers one member."""

    def __init__(
        self,
        host: Client,
        member: Client,
        wish: Wish,
        *,
        host_address: str,
        connection: Connection,
        progress: Progress,
        open_: Open = opened,
        now: Callable[[], datetime] = now,
    ) -> None:
        self._host = host
        self._host_address = host_address
        self._member = member
        self._connection = connection
        self._wish = wish
        self._progress = progress
        self._open = open_
        self._now = now
        self._writer = Writer()

    async def run(self, *, owner_lost: bool = False) -> dict[str, Any]:
        """Check, write and prove. Return what was done, for programs. Raises CommandError, KubeError."""
        member, host_uid = await self._check(owner_lost=owner_lost)
        try:
            token = await self._in_member(member, Mark(self._host_address, host_uid, self._wish.key))
            created = await self._on_host(token)
        except BaseException:
            # Also after Ctrl-C, which cancels this task.
            for left in await asyncio.shield(self._writer.clean_up()):
                self._progress.warn(f"not deleted: {left}")
            raise
        return {
            "name": self._wish.name,
            "namespace": self._wish.namespace,
            "created": created,
            "server": self._wish.server,
            "clusterUID": member.uid,
            "kubernetesVersion": member.version,
            "kinds": list(member.kinds),
            "tokenExpires": token.expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

    async def _check(self, *, owner_lost: bool) -> tuple[facts.Member, str]:
        """Return the member and the uid of the host. Raises CommandError if the member cannot be registered."""
        wish = self._wish
        await check_served(self._host, wish.namespace)
        host_uid = await facts.read_host_uid(self._host)
        member = await facts.read_member(self._member)
        known = await facts.read_clusters(self._host, wish.namespace)
        gathered = facts.gathered(wish.key, host_uid, member, known, owner_lost=owner_lost)
        why = refusal(gathered)
        if why:
            raise CommandError(f"{wish.name}: {why}")
        await self._check_host(new=wish.key not in {cluster.key for cluster in known})
        for warning in warnings(gathered):
            self._progress.warn(warning)
        if wish.insecure:
            self._progress.warn(
                "the kubeconfig turns the verification of the server's certificate off, and so will the Cluster"
            )
        self._progress.done(f"{wish.name} runs Kubernetes {member.version} and serves {', '.join(member.kinds)}")
        return member, host_uid

    async def _check_host(self, *, new: bool) -> None:
        """Try the writes on the host as a dry run. Raises CommandError, KubeError.

        A missing right or an invalid label is found before anything is created in the member.
        """
        wish = self._wish
        bodies = [
            (SECRETS, wish.token_secret("dry-run", self._now())),
            (ROLES, wish.storage_role()),
            (ROLEBINDINGS, wish.storage_role_binding()),
            *([(CLUSTERS, wish.cluster())] if new else []),
        ]
        for resource, body in bodies:
            try:
                await self._host.create(resource, body, PartialObject, namespace=wish.namespace, dry_run=True)
            except AlreadyExists:
                if resource is SECRETS:
                    await self._check_secret()
            except NotFound as error:
                if resource is ROLEBINDINGS:  # its role does not exist yet; the role itself passed
                    continue
                raise CommandError(f"{wish.name}: the host refuses: {error}") from None
            except KubeError as error:
                raise CommandError(f"{wish.name}: the host refuses: {error}") from None

    async def _check_secret(self) -> None:
        """Raise CommandError if the existing Secret with the name of ours is not from a registration."""
        existing = await self._host.get(SECRETS, self._wish.secret, _Secret, namespace=self._wish.namespace)
        if existing.type != names.TOKEN_SECRET_TYPE:
            raise CommandError(
                f"{self._wish.name}: the Secret {self._wish.namespace}/{self._wish.secret} exists on the host and is "
                "not from a registration: rename or delete it"
            )

    async def _in_member(self, member: facts.Member, mark: Mark) -> Token:
        """Create the account in the member, and return a token of it that works."""
        await self._mark(member, mark)
        role, _ = await self._writer.put(self._member, CLUSTERROLES, documents.cluster_role())
        await self._writer.put(self._member, SERVICEACCOUNTS, documents.service_account(role.uid))
        await self._writer.put(self._member, CLUSTERROLEBINDINGS, documents.cluster_role_binding(role.uid))
        self._progress.done(f"account {names.SYSTEM_NAMESPACE}/{names.MEMBER_ACCOUNT} with its ClusterRole")
        token = await issue_token(self._member)
        self._check_lifetime(read_lifetime(token.value))
        await self._prove(token, member.uid)
        self._progress.done(f"token until {token.expires:%Y-%m-%d %H:%M} UTC, which the controller replaces in time")
        return token

    async def _mark(self, member: facts.Member, mark: Mark) -> None:
        """Write which host the member belongs to. Raises CommandError if another host does so at the same moment."""
        existing = member.namespace
        if existing is None:
            body = documents.namespace(replace(mark, created=True))
            try:
                made = await self._member.create(NAMESPACES, body, PartialObject)
            except AlreadyExists:
                raise self._raced() from None
            self._writer.created(self._member, NAMESPACES, made.metadata)
            return
        created = member.mark is not None and member.mark.created
        try:
            await self._annotate({**NO_MARK, **replace(mark, created=created).annotations()}, existing)
        except Conflict:
            raise self._raced() from None
        before = member.mark.annotations() if member.mark is not None else {}
        if before != mark.annotations():
            self._writer.undo("mark of the host", partial(self._annotate, {**NO_MARK, **before}))

    async def _annotate(self, annotations: dict[str, Any], expected: PartialObject | None = None) -> None:
        version = {"resourceVersion": expected.metadata.resource_version} if expected is not None else {}
        patch = {"metadata": {"annotations": annotations, **version}}
        await self._member.merge_patch(NAMESPACES, names.SYSTEM_NAMESPACE, patch, PartialObject)

    def _raced(self) -> CommandError:
        return CommandError(
            f"{self._wish.name}: the namespace {names.SYSTEM_NAMESPACE} of the member has just been changed by "
            "somebody else: try again"
        )

    def _check_lifetime(self, lifetime: Lifetime | None) -> None:
        if lifetime is not None and lifetime.seconds < SHORTEST_TOKEN.total_seconds():
            raise CommandError(
                f"{self._wish.name}: the member issues tokens for {lifetime.seconds / 60:.0f} minutes only; at least "
                "an hour is needed (--service-account-max-token-expiration of its API server)"
            )

    async def _prove(self, token: Token, uid: str) -> None:
        """Raise CommandError unless the token works."""
        tokens = StaticToken(token.value)
        connection = replace(self._connection, tokens=tokens, client_cert=None, client_key=None)
        error = ""
        try:
            async with asyncio.timeout(PROOF_SECONDS), self._open(connection) as client:
                while True:
                    try:
                        if await cluster_uid(client, timeout=REQUEST_SECONDS) == uid:
                            return
                        error = "another cluster answers"
                    except UnidentifiedError as failure:
                        error = str(failure)
                    await asyncio.sleep(PROOF_PAUSE)
        except TimeoutError:
            why = error or "no answer"
            raise CommandError(f"{self._wish.name}: the new account does not work in the member: {why}") from None

    async def _on_host(self, token: Token) -> bool:
        """Create the Secret and the Cluster, or change them. Return whether the Cluster is new."""
        wish, writer = self._wish, self._writer
        await writer.put(self._host, SECRETS, wish.token_secret(token.value, self._now()))
        cluster, created = await writer.put(self._host, CLUSTERS, wish.cluster())
        owner = wish.owner(cluster.uid)
        await writer.put(self._host, ROLES, wish.storage_role(owner))
        await writer.put(self._host, ROLEBINDINGS, wish.storage_role_binding(owner))
        await self._host.merge_patch(
            SECRETS, wish.secret, {"metadata": {"ownerReferences": [owner]}}, PartialObject, namespace=wish.namespace
        )
        self._progress.done(f"Cluster {wish.key} and Secret {wish.secret} on the host")
        return created
