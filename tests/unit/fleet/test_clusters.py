"""The connection that a Cluster object and its Secret describe."""

import base64
from types import NoneType
from typing import Any

import pytest
import yaml

from uniteddeployment.fleet.clusters import (
    ClusterMetadata,
    ClusterObject,
    ClusterSpec,
    Credentials,
    SecretRef,
    connection,
)
from uniteddeployment.fleet.member_token import MemberToken
from uniteddeployment.kube.credentials import Connection, CredentialsError, StaticToken
from uniteddeployment.kube.resource import SECRETS
from uniteddeployment_api import names

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
}


class Host:
    """Serves one Secret."""

    def __init__(self, type_: str = "Opaque", **data: str) -> None:
        self._type = type_
        self.data = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}

    async def get(self, resource: Any, name: str, type_: Any, *, namespace: str) -> Any:
        assert (resource, namespace, name) == (SECRETS, "default", "s")
        return type_(data=self.data, type=self._type)


async def connect(spec: ClusterSpec, **data: str) -> Connection:
    cluster = ClusterObject(ClusterMetadata(name="member-1", namespace="default"), spec)
    return await connection(cluster, Host(**data))  # type: ignore[arg-type]  # only get is called


def spec(**fields: Any) -> ClusterSpec:
    return ClusterSpec(credentials=Credentials(SecretRef("s")), **fields)


def kubeconfig(**cluster: Any) -> str:
    named = [{"name": "c", "cluster": {"server": "https://in-kubeconfig:6443", **cluster}}]
    return yaml.safe_dump(KUBECONFIG | {"clusters": named})


@pytest.mark.parametrize("in_spec", [True, False])
@pytest.mark.parametrize("in_kubeconfig", [True, False])
async def test_certificates_are_not_verified_if_the_cluster_or_its_kubeconfig_says_so(
    in_spec: bool, in_kubeconfig: bool
) -> None:
    settings = {"insecure-skip-tls-verify": True} if in_kubeconfig else {}
    found = await connect(spec(insecure=in_spec), kubeconfig=kubeconfig(**settings))
    assert found.insecure is (in_spec or in_kubeconfig)


async def test_an_authority_in_the_cluster_turns_verification_on() -> None:
    """Otherwise, a kubeconfig could silently switch off the verification that the Cluster asks for."""
    authority = base64.b64encode(b"from the cluster").decode()
    found = await connect(spec(ca_bundle=authority), kubeconfig=kubeconfig(**{"insecure-skip-tls-verify": True}))
    assert found.insecure is False


async def test_the_fields_of_the_cluster_take_precedence_over_its_kubeconfig() -> None:
    authority = base64.b64encode(b"from the cluster").decode()
    fields = spec(server="https://in-spec:6443", ca_bundle=authority)
    found = await connect(fields, kubeconfig=kubeconfig())
    assert (found.server, found.ca) == ("https://in-spec:6443", b"from the cluster")


async def test_a_token_needs_the_address_of_the_cluster() -> None:
    found = await connect(spec(server="https://in-spec:6443"), token="t")
    assert found.server == "https://in-spec:6443"
    with pytest.raises(CredentialsError, match=r"spec\.server is required when the Secret has no kubeconfig"):
        await connect(spec(), token="t")


async def test_a_kubeconfig_may_have_a_key_of_its_own() -> None:
    named = ClusterSpec(credentials=Credentials(SecretRef("s", "config")))
    assert (await connect(named, config=kubeconfig())).server == "https://in-kubeconfig:6443"
    with pytest.raises(CredentialsError, match=r"^Secret default/s: it has no key config$"):
        await connect(named, kubeconfig=kubeconfig())


@pytest.mark.parametrize("data", [{}, {"tls.crt": "c"}, {"tls.key": "k"}])
async def test_a_secret_without_complete_credentials_says_what_it_may_have(data: dict[str, str]) -> None:
    with pytest.raises(CredentialsError, match="it has no kubeconfig, no token"):
        await connect(spec(server="https://in-spec:6443"), **data)


@pytest.mark.parametrize("server", ["https://[", "https://h:99999", "ftp://h"])
async def test_an_address_that_cannot_be_used_is_reported_for_the_field_that_has_it(server: str) -> None:
    with pytest.raises(CredentialsError, match=r"^spec\.server: the address"):
        await connect(spec(server=server), token="t")
    with pytest.raises(CredentialsError, match=r"^Secret default/s: the address"):
        await connect(spec(), kubeconfig=kubeconfig(server=server))


@pytest.mark.parametrize(
    ("type_", "data", "tokens"),
    [
        (names.TOKEN_SECRET_TYPE, {"token": "t"}, MemberToken),
        ("Opaque", {"token": "t"}, StaticToken),
        (names.TOKEN_SECRET_TYPE, {"tls.crt": "c", "tls.key": "k"}, NoneType),
    ],
)
async def test_only_the_token_of_a_registration_is_read_again(type_: str, data: dict[str, str], tokens: type) -> None:
    """The controller replaces that one in the Secret. All others are those of administrators."""
    cluster = ClusterObject(ClusterMetadata(name="m", namespace="default"), spec(server="https://in-spec:6443"))
    made = await connection(cluster, Host(type_, **data))  # type: ignore[arg-type]  # only get is called
    assert type(made.tokens) is tokens
