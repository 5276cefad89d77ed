"""Writes as a ServiceAccount of the namespace of the application, so that RBAC in the member bounds it (I15)."""

from collections.abc import Iterator
from contextlib import contextmanager

from uniteddeployment.fleet.clusters import ClusterObject
from uniteddeployment.fleet.kinds import RESOURCES
from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.resource import PODS
from uniteddeployment.planning.steps import DeletePod, MemberStep, Scale


class NotPermitted(errors.Forbidden):
    """The member refuses a write to the impersonated ServiceAccount, or the impersonation itself."""


def account(cluster: ClusterObject | None, namespace: str) -> str:
    """Return the user name that writes in a namespace are made as; empty for the controller's own identity."""
    if cluster is None or cluster.spec.impersonate is None:
        return ""
    return f"system:serviceaccount:{namespace}:{cluster.spec.impersonate.service_account}"


def acting(client: Client, cluster: ClusterObject | None, namespace: str) -> Client:
    """Return a client for the writes in a namespace. It reads as the controller itself."""
    user = account(cluster, namespace)
    return client.acting_as(user) if user else client


@contextmanager
def explained(cluster: ClusterObject | None, namespace: str, step: MemberStep) -> Iterator[None]:
    """Raise NotPermitted, which says what to grant, for a write that RBAC refuses to the impersonated account."""
    user = account(cluster, namespace)
    try:
        yield
    except errors.Forbidden as error:
        name = user.rpartition(":")[2]
        if user and "cannot impersonate" in error.message:
            remedy = (
                f"grant the controller there the verb impersonate on the ServiceAccount {name}, as ud rbac member "
                f"--impersonate {name} prints it"
            )
        elif user and f'User "{user}" cannot' in error.message:
            remedy = (
                f"grant the ServiceAccount {name} in the namespace {namespace} there {_verbs(step)}, by a RoleBinding "
                "in that namespace"
            )
        else:
            raise
        raise NotPermitted(
            error.status, error.reason, f"{remedy} (spec.impersonate of the Cluster): {error.message}", error.details
        ) from None


def _verbs(step: MemberStep) -> str:
    """The permissions that a step needs."""
    if isinstance(step, DeletePod):
        return f"the verb delete on {PODS.plural}"
    resource = RESOURCES[step.kind]
    if isinstance(step, Scale):
        return f"the verb patch on {resource.plural}/scale of {resource.group}"
    return f"the verbs create, patch and delete on {resource.plural} of {resource.group}"
