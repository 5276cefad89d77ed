"""The Cluster of a ClusterProfile: which access providers can be used, and why others cannot."""

from typing import Any

import msgspec
import pytest

from uniteddeployment.fleet.clusters import ClusterObject
from uniteddeployment.fleet.profiles import ClusterProfile, ProfileError, cluster_document
from uniteddeployment_api import names, parse_cluster

TOKEN = {"clusterName": "spoke-1"}
KUBECONFIG = {"name": "spoke-kubeconfig", "key": "value"}


def provider(name: str, config: dict[str, Any] | None = None, **access: Any) -> dict[str, Any]:
    extensions = [{"name": "client.authentication.k8s.io/exec", "extension": config or {}}]
    return {"name": name, "cluster": {"server": "https://spoke:6443", "extensions": extensions} | access}


def profile(*providers: dict[str, Any], field: str = "accessProviders", labels: Any = None) -> ClusterProfile:
    meta = {"name": "spoke", "namespace": "fleet", "uid": "uid-1", "labels": labels or {}}
    return msgspec.convert({"metadata": meta, "status": {field: list(providers)}}, ClusterProfile)


def spec(*providers: dict[str, Any], **more: Any) -> Any:
    document = cluster_document(profile(*providers, **more))
    parse_cluster(document)
    assert msgspec.convert(document, ClusterObject).key == "fleet/spoke"
    return document["spec"]


@pytest.mark.parametrize("field", ["accessProviders", "credentialProviders"])
def test_a_token_in_a_secret_is_used(field: str) -> None:
    """The first provider that reads a Secret counts; the deprecated field works as well."""
    ca = {"certificate-authority-data": "Y2E="}
    assert spec(provider("gcp-exec"), provider("secretreader", TOKEN, **ca), field=field) == {
        "server": "https://spoke:6443",
        "caBundle": "Y2E=",
        "credentials": {"secretRef": {"name": "spoke-1"}},
    }
    assert spec(provider("secretreader"))["credentials"] == {"secretRef": {"name": "spoke"}}


def test_a_kubeconfig_in_a_secret_is_used() -> None:
    assert spec(provider("kubeconfig-secretreader", KUBECONFIG, **{"insecure-skip-tls-verify": True})) == {
        "server": "https://spoke:6443",
        "insecureSkipTLSVerify": True,
        "credentials": {"secretRef": {"name": "spoke-kubeconfig", "key": "value"}},
    }


@pytest.mark.parametrize(
    ("providers", "why"),
    [
        ((), "no access providers"),
        ((provider("gcp-exec"), provider("aws")), "(aws, gcp-exec) need a program"),
        ((provider("secretreader", {"namespace": "kube-system"}),), "in the namespace kube-system"),
        ((provider("kubeconfig-secretreader", {"name": "x"}),), "no name or no key"),
        ((provider("kubeconfig-secretreader", KUBECONFIG | {"context": "c"}),), "context, which is not supported"),
        ((provider("secretreader", server=""),), "no server"),
        ((provider("secretreader", None, **{"proxy-url": "http://p"}),), "proxy-url"),
        ((provider("secretreader", None, **{"tls-server-name": "n"}),), "tls-server-name"),
        ((provider("secretreader", None, **{"certificate-authority": "/etc/passwd"}),), "certificate-authority"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(providers: Any, why: str) -> None:
    """No program is run, no file is read, and no Secret of another namespace (I12, I15)."""
    with pytest.raises(ProfileError) as caught:
        cluster_document(profile(*providers))
    assert why in str(caught.value)


def test_the_mark_changes_with_what_is_applied_and_the_owner_is_the_profile() -> None:
    """An unchanged ClusterProfile causes no write (I3)."""
    one, same, labelled = (
        cluster_document(profile(provider("secretreader"), labels=labels)) for labels in ({}, {}, {"region": "eu"})
    )
    mark = [document["metadata"]["annotations"][names.ANNOTATION_CLUSTER_PROFILE] for document in (one, same, labelled)]
    assert mark[0] == mark[1] != mark[2]
    assert mark[0].startswith("uid-1.")
    assert labelled["metadata"]["labels"] == {"region": "eu"}
    (owner,) = one["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("ClusterProfile", "uid-1")
