"""Cluster objects as they are watched, and the connection that a Cluster and its Secret define."""

import base64
import contextlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct, field

from uniteddeployment.fleet.account import parsed_time
from uniteddeployment.fleet.health import Settings
from uniteddeployment.fleet.member_token import MemberToken
from uniteddeployment.kube import credentials
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection, CredentialsError, StaticToken
from uniteddeployment.kube.errors import ApiError, NotFound
from uniteddeployment.kube.meta import ObjectMeta
from uniteddeployment.kube.resource import SECRETS, Resource
from uniteddeployment.planning.observed import Metadata
from uniteddeployment_api import names
from uniteddeployment_api.duration import seconds

_KEYS = ("kubeconfig", "token", "tls.crt", "tls.key")
CLUSTERS = Resource(names.GROUP, names.VERSION, names.CLUSTER_PLURAL, names.CLUSTER_KIND)


class SecretRef(Struct, frozen=True):
    """``credentials.secretRef``"""

    name: str = ""
    key: str = ""
    """Key of the kubeconfig; empty for the default."""


class Credentials(Struct, rename="camel", frozen=True):
    """``credentials``"""

    secret_ref: SecretRef = SecretRef()


class AllowedNamespaces(Struct, frozen=True):
    """``allowedNamespaces``"""

    source: str = field(default="Same", name="from")
    selector: dict[str, Any] | None = None


class Impersonate(Struct, rename="camel", frozen=True):
    """``impersonate``"""

    service_account: str = ""


class ClusterTaint(Struct, frozen=True):
    """An entry of ``taints``."""

    key: str
    effect: str
    value: str = ""


class ClusterHealth(Struct, rename="camel", frozen=True):
    """``health``. A field that is not set has the default of :class:`~uniteddeployment.fleet.health.Settings`."""

    offline_after: str = ""
    recover_after: str = ""
    max_recover_after: str = ""
    stable_after: str = ""

    def settings(self) -> Settings:
        """Return the thresholds. A value that is not a duration, which the API server refuses, has no effect."""
        given = {}
        for name in self.__struct_fields__:
            with contextlib.suppress(ValueError):
                given[name] = timedelta(seconds=seconds(getattr(self, name)))
        return replace(Settings(), **given)


class ClusterSpec(Struct, rename="camel", frozen=True):
    """The used part of a Cluster's spec."""

    server: str = ""
    ca_bundle: str = ""
    insecure: bool = field(default=False, name="insecureSkipTLSVerify")
    credentials: Credentials = Credentials()
    suspended: bool = False
    allowed_namespaces: AllowedNamespaces = AllowedNamespaces()
    namespaces: str = "Create"
    impersonate: Impersonate | None = None
    taints: tuple[ClusterTaint, ...] = ()
    unschedulable: bool = False
    health: ClusterHealth = ClusterHealth()
    capacity: str = "Enabled"

    @property
    def counts_capacity(self) -> bool:
        """Whether the nodes and pods are watched and counted."""
        return self.capacity != "Disabled"

    def connects_like(self, other: "ClusterSpec") -> bool:
        """Return True if a connection that was made for ``other`` serves this spec, too."""
        return (
            msgspec.structs.replace(
                other,
                allowed_namespaces=self.allowed_namespaces,
                namespaces=self.namespaces,
                impersonate=self.impersonate,
                taints=self.taints,
                unschedulable=self.unschedulable,
                health=self.health,
                capacity=self.capacity,
            )
            == self
        )


class ClusterMetadata(Metadata, rename="camel", frozen=True):
    """The used part of a Cluster's metadata. It has all labels, since selectors may name any of them."""

    def __post_init__(self) -> None:
        """Keep all labels."""


class ClusterObject(Struct, rename="camel", frozen=True):
    """A Cluster."""

    metadata: ClusterMetadata
    spec: ClusterSpec = ClusterSpec()
    status: dict[str, Any] = {}

    @property
    def key(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def recorded_uid(self) -> str:
        """The uid of the cluster for which it was used before (``status.clusterUID``); empty if it never was."""
        return str(self.status.get("clusterUID") or "")


def abandoned(cluster: ClusterObject) -> bool:
    """Return True if its workloads are to stay when it is deleted."""
    return cluster.metadata.annotations.get(names.ANNOTATION_ABANDON) == names.ABANDON


class Secret(Struct, frozen=True):
    """The data of a Secret, in base64."""

    data: dict[str, str] = {}
    type: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)

    def __repr__(self) -> str:
        return f"Secret(keys={sorted(self.data)})"

    @property
    def replaceable(self) -> bool:
        """Whether the controller replaces its token: only in Secrets that a registration created."""
        return self.type == names.TOKEN_SECRET_TYPE

    @property
    def issued(self) -> datetime | None:
        """When its token was issued, by the clock of whoever requested it; None if that is not known."""
        return parsed_time((self.metadata.annotations or {}).get(names.ANNOTATION_TOKEN_ISSUED))


async def connection(cluster: ClusterObject, host: Client) -> Connection:
    """The connection to a cluster. Raises CredentialsError, which says how to solve it and quotes no secret (I12)."""
    secret = await read_secret(cluster, host)
    made = _from_secret(cluster, secret)
    if not secret.replaceable or not isinstance(made.tokens, StaticToken):
        return made

    async def reread() -> tuple[str, datetime | None]:
        present = await read_secret(cluster, host)
        return token_of(cluster, present), present.issued

    return replace(made, tokens=MemberToken(made.tokens.value, secret.issued, reread))


async def read_secret(cluster: ClusterObject, host: Client) -> Secret:
    """The Secret with the credentials for a cluster. Raises CredentialsError, KubeError."""
    try:
        return await host.get(
            SECRETS, cluster.spec.credentials.secret_ref.name, Secret, namespace=cluster.metadata.namespace
        )
    except NotFound:
        raise CredentialsError(f"{_where(cluster)} does not exist") from None
    except ApiError as error:
        raise CredentialsError(f"{_where(cluster)} cannot be read: {error.reason}") from None


def token_of(cluster: ClusterObject, secret: Secret) -> str:
    """The token in a Secret. Raises CredentialsError if it has none."""
    tokens = _from_secret(cluster, secret).tokens
    if not isinstance(tokens, StaticToken):
        raise CredentialsError(f"{_where(cluster)} has no token")
    return tokens.value


def _where(cluster: ClusterObject) -> str:
    return f"Secret {cluster.metadata.namespace}/{cluster.spec.credentials.secret_ref.name}"


def _from_secret(cluster: ClusterObject, secret: Secret) -> Connection:
    where = _where(cluster)
    if cluster.spec.server:
        try:
            Connection(cluster.spec.server)
        except CredentialsError as error:
            raise CredentialsError(f"spec.server: {error}") from None
    try:
        named = cluster.spec.credentials.secret_ref.key
        given = {"kubeconfig": secret.data.get(named, "")} if named else {key: secret.data.get(key) for key in _KEYS}
        data = {key: base64.b64decode(value, validate=True) for key, value in given.items() if value}
        ca = base64.b64decode(cluster.spec.ca_bundle, validate=True) if cluster.spec.ca_bundle else None
    except ValueError:
        raise CredentialsError(f"{where} or spec.caBundle is not base64") from None
    try:
        return _connection(cluster, data, ca)
    except CredentialsError as error:
        raise CredentialsError(f"{where}: {error}") from None


def _connection(cluster: ClusterObject, data: Mapping[str, bytes], ca: bytes | None) -> Connection:
    if "kubeconfig" in data:
        given = credentials.from_kubeconfig_bytes(data["kubeconfig"], name=cluster.key)
        # The Cluster takes precedence over its kubeconfig. A caBundle always asks for verification.
        insecure = cluster.spec.insecure or (given.insecure and ca is None)
        return replace(given, server=cluster.spec.server or given.server, ca=ca or given.ca, insecure=insecure)
    if cluster.spec.credentials.secret_ref.key:
        raise CredentialsError(f"it has no key {cluster.spec.credentials.secret_ref.key}")
    token, cert, key = data.get("token"), data.get("tls.crt"), data.get("tls.key")
    if not token and not (cert and key):
        raise CredentialsError("it has no kubeconfig, no token, and no tls.crt with tls.key")
    if not cluster.spec.server:
        raise CredentialsError("spec.server is required when the Secret has no kubeconfig")
    return credentials.from_values(
        cluster.spec.server,
        ca=ca,
        # Bytes that are not ASCII become a character that is not ASCII, which is refused with a reason.
        token=token.decode("ascii", "replace") if token else None,
        client_cert=cert,
        client_key=key,
        insecure=cluster.spec.insecure,
        name=cluster.key,
    )
