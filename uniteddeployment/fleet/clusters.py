"""Cluster objects as they are watched, and the connection that a Cluster and its Secret define."""

import base64
import contextlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
from msgspec import Struct, field

from uniteddeployment.fleet.health import Settings
from uniteddeployment.kube import credentials
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection, CredentialsError
from uniteddeployment.kube.errors import ApiError, NotFound
from uniteddeployment.kube.resource import SECRETS, Resource
from uniteddeployment.planning.observed import Metadata
from uniteddeployment_api import names
from uniteddeployment_api.duration import seconds

_KEYS = ("kubeconfig", "token", "tls.crt", "tls.key")
CLUSTERS = Resource(names.GROUP, names.VERSION, names.CLUSTER_PLURAL, names.CLUSTER_KIND)


class SecretRef(Struct, frozen=True):
    """``credentials.secretRef``"""

    name: str = ""


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


class Secret(Struct, frozen=True):
    """The data of a Secret, in base64."""

    data: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Secret(keys={sorted(self.data)})"


async def connection(cluster: ClusterObject, host: Client) -> Connection:
    """The connection to a cluster. Raises CredentialsError, which says how to solve it and quotes no secret (I12)."""
    secret_name = cluster.spec.credentials.secret_ref.name
    where = f"Secret {cluster.metadata.namespace}/{secret_name}"
    try:
        secret = await host.get(SECRETS, secret_name, Secret, namespace=cluster.metadata.namespace)
    except NotFound:
        raise CredentialsError(f"{where} does not exist") from None
    except ApiError as error:
        raise CredentialsError(f"{where} cannot be read: {error.reason}") from None
    return _from_secret(cluster, secret, where)


def _from_secret(cluster: ClusterObject, secret: Secret, where: str) -> Connection:
    try:
        data = {key: base64.b64decode(secret.data[key], validate=True) for key in _KEYS if secret.data.get(key)}
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
