"""I15: the Pod Security labels of namespaces in members."""

import pytest

from uniteddeployment.fleet.pod_security import PREFIX, of_new_namespace, to_apply
from uniteddeployment_api import names

ENFORCE, WARN = f"{PREFIX}enforce", f"{PREFIX}warn"
OURS = {names.LABEL_MANAGED_BY: names.MANAGER}


def test_a_new_namespace_has_the_pod_security_labels_of_the_host_and_no_others() -> None:
    host = {ENFORCE: "restricted", WARN: "baseline", "team": "a"}
    assert of_new_namespace(host) == {**OURS, ENFORCE: "restricted", WARN: "baseline"}


@pytest.mark.parametrize(
    ("host", "member", "owned", "expected"),
    [
        ({}, {}, [], None),
        ({ENFORCE: "restricted"}, {ENFORCE: "restricted"}, [ENFORCE], None),
        ({ENFORCE: "restricted"}, {}, [], {ENFORCE: "restricted"}),
        ({ENFORCE: "restricted"}, {ENFORCE: "baseline"}, [ENFORCE], {ENFORCE: "restricted"}),
        ({}, {ENFORCE: "baseline"}, [ENFORCE], {}),
        # Set by somebody else in the member: neither weakened nor removed.
        ({ENFORCE: "baseline"}, {ENFORCE: "restricted"}, [], None),
        ({}, {ENFORCE: "restricted"}, [], None),
        ({ENFORCE: "baseline", WARN: "baseline"}, {ENFORCE: "restricted"}, [], {WARN: "baseline"}),
    ],
)
def test_labels_follow_the_host_except_where_somebody_else_set_them(
    host: dict[str, str], member: dict[str, str], owned: list[str], expected: dict[str, str] | None
) -> None:
    """I3: what is applied already is not applied again."""
    found = to_apply(host, member, frozenset(owned))
    assert found == (None if expected is None else {**OURS, **expected})
