"""I15: the errors of writes as a ServiceAccount say what to grant, to whom and where."""

import pytest

from uniteddeployment.controller.failures import LONGEST_MESSAGE, failure
from uniteddeployment.controller.impersonation import NotPermitted, account, explained
from uniteddeployment.fleet.clusters import ClusterMetadata, ClusterObject, ClusterSpec, Impersonate
from uniteddeployment.kube.errors import Forbidden
from uniteddeployment.planning.observed import WorkloadRef
from uniteddeployment.planning.steps import Apply, DeletePod, MemberStep, Scale

META = ClusterMetadata("member-1", "fleet")
CLUSTER = ClusterObject(META, ClusterSpec(impersonate=Impersonate("tenant")))
USER = "system:serviceaccount:shop:tenant"
REF = WorkloadRef("fleet/member-1", "a", "StatefulSet", "web-a")
APPLY = Apply(REF, {}, "create it", create=True)


def refused(message: str, step: MemberStep = APPLY, cluster: ClusterObject | None = CLUSTER) -> Forbidden:
    with pytest.raises(Forbidden) as caught, explained(cluster, "shop", step):
        raise Forbidden(403, "Forbidden", message)
    return caught.value


def test_the_account_is_one_of_the_namespace_of_the_application() -> None:
    assert account(CLUSTER, "shop") == USER
    assert account(ClusterObject(META), "shop") == account(None, "shop") == ""


@pytest.mark.parametrize(
    ("step", "verbs"),
    [
        (APPLY, "the verbs create, patch and delete on statefulsets of apps"),
        (Scale(REF, 1, 1, "scale it"), "the verb patch on statefulsets/scale of apps"),
        (DeletePod(REF, "web-a-0", "u", "it is stuck"), "the verb delete on pods"),
    ],
)
def test_a_write_that_the_account_may_not_make_says_what_to_grant(step: MemberStep, verbs: str) -> None:
    error = refused(f'statefulsets.apps is forbidden: User "{USER}" cannot patch resource', step)
    assert isinstance(error, NotPermitted)
    assert f"grant the ServiceAccount tenant in the namespace shop there {verbs}" in str(error)


def test_an_impersonation_that_is_not_allowed_names_the_verb_and_the_account() -> None:
    """The remedy comes first, so that it stays when the status shortens the message."""
    said = f'serviceaccounts "tenant" is forbidden: User "u" cannot impersonate {"x" * LONGEST_MESSAGE}'
    message = failure(None, APPLY, refused(said), 1, 0.0).message
    assert "the verb impersonate on the ServiceAccount tenant, as ud rbac member --impersonate tenant" in message


@pytest.mark.parametrize(
    ("message", "cluster"),
    [
        ("exceeded quota: pods", CLUSTER),
        (f'User "{USER}" cannot patch', ClusterObject(META)),
        ('User "other" cannot patch', CLUSTER),
    ],
)
def test_any_other_refusal_stays_as_it_is(message: str, cluster: ClusterObject) -> None:
    assert str(refused(message, cluster=cluster)) == message
