"""Derives a Cluster from a ClusterProfile of SIG Multicluster. Pure.

A ClusterProfile says where its cluster is, and names providers of credentials. Two of the providers that the SIG
describes read a Secret, and need no program; the others are not supported.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from uniteddeployment.kube.resource import Resource
from uniteddeployment.planning.observed import Metadata
from uniteddeployment.planning.templates import digest
from uniteddeployment_api import names

PROFILES: Final = Resource(
    names.CLUSTER_PROFILE_GROUP, names.CLUSTER_PROFILE_VERSION, "clusterprofiles", names.CLUSTER_PROFILE_KIND
)
BY_TOKEN: Final = "secretreader"  # noqa: S105  # the name of a provider
"""The Secret ``clusterName`` has the key ``token``."""
BY_KUBECONFIG: Final = "kubeconfig-secretreader"
"""The Secret ``name`` has a kubeconfig under ``key``."""
_EXTENSION = "client.authentication.k8s.io/exec"


class ProfileError(Exception):
    """A ClusterProfile cannot be used. The message says why."""


class Extension(Struct, frozen=True):
    """An entry of ``extensions``."""

    name: str = ""
    extension: dict[str, Any] = {}


class Access(Struct, frozen=True, rename="kebab"):
    """``accessProviders[].cluster``, in the form of a kubeconfig."""

    server: str = ""
    certificate_authority_data: str = ""
    certificate_authority: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: tuple[Extension, ...] = ()

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration of the provider."""
        return next((entry.extension for entry in self.extensions if entry.name == _EXTENSION), {})


class AccessProvider(Struct, frozen=True):
    """An entry of ``accessProviders``."""

    name: str
    cluster: Access = Access()


class ProfileStatus(Struct, frozen=True, rename="camel"):
    """The used part of the status."""

    access_providers: tuple[AccessProvider, ...] = ()
    credential_providers: tuple[AccessProvider, ...] = ()


class ProfileMetadata(Metadata, rename="camel", frozen=True):
    """The used part of the metadata, with all labels, since the Cluster gets them."""

    def __post_init__(self) -> None:
        """Keep all labels."""


class ClusterProfile(Struct, frozen=True):
    """A ClusterProfile."""

    metadata: ProfileMetadata
    status: ProfileStatus = field(default_factory=ProfileStatus)


def cluster_document(profile: ClusterProfile) -> dict[str, Any]:
    """Return the Cluster of a ClusterProfile, as it is applied. Raises ProfileError."""
    meta = profile.metadata
    spec = _spec(profile)
    labels = dict(meta.labels)
    mark = f"{meta.uid}.{digest({'spec': spec, 'labels': labels})}"
    owner = {"apiVersion": PROFILES.api_version, "kind": PROFILES.kind, "name": meta.name, "uid": meta.uid}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.CLUSTER_KIND,
        "metadata": {
            "name": meta.name,
            "namespace": meta.namespace,
            "labels": labels,
            "annotations": {names.ANNOTATION_CLUSTER_PROFILE: mark},
            "ownerReferences": [owner],
        },
        "spec": spec,
    }


def _spec(profile: ClusterProfile) -> dict[str, Any]:
    provider = _provider(profile.status)
    access = provider.cluster
    for name, value in (
        ("certificate-authority", access.certificate_authority),
        ("tls-server-name", access.tls_server_name),
        ("proxy-url", access.proxy_url),
    ):
        if value:
            raise ProfileError(f"its access provider {provider.name} sets {name}, which is not supported")
    if not access.server:
        raise ProfileError(f"its access provider {provider.name} has no server")
    spec: dict[str, Any] = {"server": access.server, "credentials": {"secretRef": _secret(profile, provider)}}
    if access.certificate_authority_data:
        spec["caBundle"] = access.certificate_authority_data
    elif access.insecure_skip_tls_verify:
        spec["insecureSkipTLSVerify"] = True
    return spec


def _provider(status: ProfileStatus) -> AccessProvider:
    """The first provider that reads a Secret."""
    given = (*status.access_providers, *status.credential_providers)
    for provider in given:
        if provider.name in (BY_TOKEN, BY_KUBECONFIG):
            return provider
    if not given:
        raise ProfileError("its status has no access providers yet")
    listed = ", ".join(sorted({provider.name for provider in given}))
    raise ProfileError(
        f"its access providers ({listed}) need a program, which the controller does not run: only {BY_TOKEN} and "
        f"{BY_KUBECONFIG} are supported"
    )


def _secret(profile: ClusterProfile, provider: AccessProvider) -> dict[str, str]:
    """The reference to the Secret, which has to be in the namespace of the ClusterProfile (I15)."""
    config, own = provider.cluster.config, profile.metadata.namespace
    namespace = config.get("namespace") or own
    if namespace != own:
        raise ProfileError(f"its Secret is in the namespace {namespace}, and has to be in {own}")
    if config.get("context"):
        raise ProfileError(f"its access provider {provider.name} sets context, which is not supported")
    if provider.name == BY_TOKEN:
        return {"name": str(config.get("clusterName") or profile.metadata.name)}
    if not config.get("name") or not config.get("key"):
        raise ProfileError(f"the extension {_EXTENSION} of its access provider {provider.name} has no name or no key")
    return {"name": str(config["name"]), "key": str(config["key"])}
