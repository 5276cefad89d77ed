"""The Cluster: a member that can run subsets, and how to reach it."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from uniteddeployment_api.v1alpha1.meta import (
    Condition,
    DnsSubdomain,
    Int32,
    Model,
    ObjectMeta,
    StatusModel,
    Taint,
    Time,
)


class SecretReference(Model):
    """A Secret in the namespace of the Cluster."""

    name: DnsSubdomain
    """The name of the Secret."""


class Credentials(Model):
    """Who we are in the cluster."""

    secret_ref: SecretReference
    """A Secret with kubeconfig, or with token, or with tls.crt and tls.key."""


class ClusterSpec(Model):
    """How to reach the cluster."""

    server: Annotated[str, Field(max_length=2048, pattern=r"^https?://[^/\s]+")] | None = None
    """The URL of its API server. May be left out if the Secret has a kubeconfig."""
    ca_bundle: Annotated[str, Field(max_length=1048576, json_schema_extra={"format": "byte"})] | None = None
    """PEM certificates, base64-encoded, that the API server's certificate is checked with."""
    insecure_skip_tls_verify: Annotated[StrictBool, Field(alias="insecureSkipTLSVerify")] = False
    """Do not check the API server's certificate. For trials only."""
    credentials: Credentials
    """Who we are in the cluster."""
    taints: Annotated[tuple[Taint, ...], Field(max_length=64)] = ()
    """Keep away subsets that do not tolerate them."""
    suspended: StrictBool = False
    """While true, the cluster is not connected to and nothing in it is changed."""


class ClusterStatus(StatusModel):
    """What is known of the cluster."""

    phase: Literal["Pending", "Running", "Offline"] | None = None
    """Pending: not connected, because it is new, its credentials do not work, or spec.suspended is set. Running: it
    answers. Offline: it answered before and does not now. The reason of the condition Ready tells more."""
    conditions: tuple[Condition, ...] = ()
    """Ready: whether the cluster answers and accepts our credentials."""
    cluster_uid: Annotated[str, Field(alias="clusterUID", max_length=128)] = ""
    """The uid of its namespace kube-system, by which the cluster is known. Only one Cluster object is used for it."""
    kubernetes_version: str = ""
    """The version that its API server tells."""
    nodes: Int32 | None = None
    """How many nodes it has."""
    last_probe_time: Time | None = None
    """When it was last asked."""


class Cluster(Model):
    """A member cluster: where it is, and the Secret with the credentials for it."""

    api_version: Literal["uniteddeployment.io/v1alpha1"] = "uniteddeployment.io/v1alpha1"
    kind: Literal["Cluster"] = "Cluster"
    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterSpec
    """How to reach the cluster."""
    status: ClusterStatus = ClusterStatus()
    """What is known of the cluster."""
