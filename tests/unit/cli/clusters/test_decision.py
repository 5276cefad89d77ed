"""Which members may be registered, and what the refusals say."""

import pytest

from uniteddeployment.cli.clusters.decision import Facts, Known, refusal, warnings
from uniteddeployment.fleet.account import Mark

MINE, THEIRS = "uid-of-the-host", "uid-of-another-host"


def facts(**changes: object) -> Facts:
    known = {"key": "default/a", "host_uid": MINE, "member_uid": "uid-1", "version": "v1.36.1"}
    return Facts(**(known | changes))  # type: ignore[arg-type]  # each test gives fields of the right type


@pytest.mark.parametrize(
    "allowed",
    [
        facts(),
        facts(clusters=[Known("default/b", "uid-2"), Known("default/c")]),
        facts(clusters=[Known("default/a", "uid-1")]),
        facts(clusters=[Known("default/a")]),
        facts(mark=Mark("https://h", MINE, "default/a")),
        facts(mark=Mark("https://h", MINE, "default/gone")),
        facts(mark=Mark("https://h", THEIRS, "x/y"), owner_lost=True),
    ],
    ids=["new", "others exist", "again", "not connected yet", "marked", "its first Cluster is gone", "owner lost"],
)
def test_a_member_that_is_free_or_registered_under_this_name_is_accepted(allowed: Facts) -> None:
    assert refusal(allowed) == ""


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (facts(member_uid=MINE), "the host itself"),
        (facts(missing=["create namespaces", "get pods"], member_uid=""), "create namespaces; get pods"),
        (facts(unserved=["StatefulSet"]), "does not serve StatefulSet"),
        (facts(mark=Mark("https://h", THEIRS, "x/y")), "another host: https://h (the uid of"),
        (facts(mark=Mark("", THEIRS, "x/y")), "the Cluster x/y"),
        (facts(clusters=[Known("default/b", "uid-1")]), "the Cluster default/b"),
        (facts(clusters=[Known("other/b")], mark=Mark("https://h", MINE, "other/b")), "the Cluster other/b"),
        (facts(clusters=[Known("default/a", "uid-2")]), "used for another cluster"),
        (facts(clusters=[Known("default/a", "uid-1", deleting=True)]), "is being deleted"),
        (facts(clusters=[Known("default/b", "uid-1")], mark=Mark("", THEIRS, "x/y"), owner_lost=True), "default/b"),
    ],
)
def test_a_refusal_says_what_is_wrong(refused: Facts, said: str) -> None:
    assert said in refusal(refused)


@pytest.mark.parametrize(
    ("version", "warned"),
    [
        ("v1.27.9", True),
        ("v0.99.0", True),
        ("v1.28.0", False),
        ("v1.36.1+k3s1", False),
        ("v2.0.0", False),
        ("1.30", False),
        ("", True),
        ("latest", True),
    ],
)
def test_old_and_unknown_versions_are_warned_about(version: str, warned: bool) -> None:
    assert bool(warnings(facts(version=version))) is warned
