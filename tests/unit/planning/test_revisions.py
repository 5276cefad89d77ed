"""The revisions of an application on the host: created, recreated, renumbered and trimmed."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support import planning as make
from tests.support.narrowing import of, present
from uniteddeployment.planning import revisions
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.observed import MemberView, Reach, RevisionRecord
from uniteddeployment.planning.revisions import Revisions
from uniteddeployment.planning.steps import CreateRevision, DeleteRevision, NoteCause, OwnRevision, RenumberRevision
from uniteddeployment_api import names

PATCH = {"spec": {"nodeName": "a"}}
APPS = [make.application(make.manifest(image=f"app:{number}", revisionHistoryLimit=2)) for number in range(9)]
RECORDS = tuple(make.record(app, number) for number, app in enumerate(APPS, 1))


def planned(
    app: Application = APPS[-1],
    *,
    current: Application | None = None,
    records: tuple[RevisionRecord, ...] = RECORDS,
    annotations: dict[str, str] | None = None,
    views: dict[str, MemberView] | None = None,
    members: tuple[str, str, str] = make.MEMBERS,
    writing: list[str] | tuple[Any, ...] = (),
) -> Revisions:
    """The revisions of an application whose status names the revision of ``current``."""
    before = {"currentRevision": current.revision_name if current else ""}
    subject = replace(make.subject(app, status=before), annotations=annotations or {})
    return revisions.plan_revisions(
        subject, app, make.observed(views, revisions=records, members=members, writing=frozenset(writing))
    )


def trimmed(**more: Any) -> list[int]:
    """The numbers of the revisions that go."""
    names_ = [step.name for step in planned(**more).steps if isinstance(step, DeleteRevision)]
    return [one.number for one in RECORDS if one.name in names_]


def running(*numbers: int, reach: Reach = Reach.READY) -> dict[str, MemberView]:
    """A member with a StatefulSet of one revision and pods of others, by the numbers of the revisions."""
    first, *others = (APPS[number - 1] for number in numbers)
    found = make.stateful_set(first, "member-1", replicas=len(others))
    return {
        "member-1": make.view(
            "member-1", found, pods=make.pods(first, "member-1", [a.template_hash for a in others]), reach=reach
        )
    }


def test_the_oldest_go_beyond_the_limit() -> None:
    """It counts those that nothing needs: not the updated and the current one."""
    assert trimmed(current=APPS[4]) == [1, 2, 3, 4, 6]
    assert trimmed(current=APPS[8]) == [1, 2, 3, 4, 5, 6]
    assert trimmed() == [1, 2, 3, 4, 5, 6]


def test_what_runs_anywhere_is_kept_and_does_not_count() -> None:
    assert trimmed(current=APPS[8], views=running(1, 2, 4)) == [3, 5, 6]


@pytest.mark.parametrize("reach", [Reach.OFFLINE, Reach.PENDING, Reach.SUSPENDED])
def test_nothing_goes_while_a_cluster_is_unseen(reach: Reach) -> None:
    """What it runs is not known, so nothing is known to be unused (I8)."""
    assert trimmed(views={"member-3": make.view("member-3", reach=reach)}) == []


def test_nothing_goes_while_a_kind_could_not_be_read_or_a_write_is_unanswered() -> None:
    """I8: what runs there, or will in a moment, is not known."""
    unread = replace(make.view("member-3"), unread={"CloneSet": "cannot be read"})
    assert trimmed(views={"member-3": unread}) == []
    assert trimmed(writing=["default/member-3"]) == []


def test_a_cluster_that_does_not_exist_keeps_nothing() -> None:
    assert trimmed(views={"member-3": make.view("member-3", reach=Reach.UNKNOWN)}) == [1, 2, 3, 4, 5, 6]


def test_what_a_subset_patched_is_kept_while_it_runs() -> None:
    patched = make.application(make.manifest(shares={"member-1": {"patch": PATCH}, "member-2": {}}))
    records = (replace(make.record(patched), number=0), *RECORDS)
    found = make.stateful_set(patched, "member-1", replicas=1)
    steps = planned(records=records, views={"member-1": make.view("member-1", found)}).steps
    assert patched.revision_name not in [of(DeleteRevision, step).name for step in steps]
    assert patched.revision_name in [of(DeleteRevision, step).name for step in planned(records=records).steps]


def test_a_new_template_is_kept_as_the_newest_revision_with_its_cause() -> None:
    (step,) = planned(APPS[3], records=RECORDS[:3], annotations={names.ANNOTATION_CHANGE_CAUSE: "a fix"}).steps
    assert isinstance(step, CreateRevision)
    assert (step.name, step.number, step.cause) == (APPS[3].revision_name, 4, "a fix")
    assert step.data == APPS[3].revision_data
    assert of(CreateRevision, planned(APPS[0], records=()).steps[0]).number == 1


def test_an_earlier_template_becomes_the_newest_revision_again() -> None:
    (step,) = planned(APPS[0], current=APPS[1], records=RECORDS[:3]).steps
    assert isinstance(step, RenumberRevision)
    assert (step.name, step.number) == (APPS[0].revision_name, 4)
    assert planned(APPS[2], current=APPS[1], records=RECORDS[:3]).steps == ()


@pytest.mark.parametrize(("cause", "noted"), [("", False), ("a fix", True), ("known", False)])
def test_a_cause_that_is_told_afterwards_is_noted(cause: str, noted: bool) -> None:
    records = (*RECORDS[:2], replace(RECORDS[2], cause="known"))
    steps = planned(APPS[2], records=records, annotations={names.ANNOTATION_CHANGE_CAUSE: cause}).steps
    assert [type(step) for step in steps] == [NoteCause] * noted


def test_a_revision_without_an_owner_gets_it_back() -> None:
    records = (replace(RECORDS[0], owned=False), *RECORDS[1:3])
    assert planned(APPS[2], records=records).steps == (OwnRevision(RECORDS[0].name),)


@pytest.mark.parametrize(
    "change", [{"problem": "garbage"}, {"hash": "x"}, {"template_hash": "x"}, {"patched": {"a": "x"}}]
)
def test_the_revision_of_the_present_template_is_created_again_if_somebody_changed_it(change: dict[str, Any]) -> None:
    """I3: what it has to say is known, so it is repaired: deleted, and then made."""
    records = (*RECORDS[:2], replace(RECORDS[2], **change))
    (step,) = planned(APPS[2], current=APPS[0], records=records).steps
    assert isinstance(step, DeleteRevision)
    assert step.name == APPS[2].revision_name
    assert isinstance(planned(APPS[2], current=APPS[0], records=records[:2]).steps[0], CreateRevision)


def test_a_revision_with_patches_and_overrides_is_what_its_name_says() -> None:
    """Its name ends with the hash of all that it stores."""
    override = {"op": "add", "path": "/spec/template/spec/nodeName", "value": "b"}
    app = make.application(make.manifest(shares={"member-1": {"overrides": [override]}, "member-2": {"patch": PATCH}}))
    record = make.record(app)
    assert revisions.mismatch(record, app.revision_data) == ""
    other = replace(app.revision_data, overrides={})
    assert revisions.mismatch(record, other) == "its data is not what its name says"


def test_the_present_template_is_stable_whatever_became_of_its_revision() -> None:
    known = planned(APPS[2], current=APPS[2], records=())
    assert (present(known.current).hash, known.lost) == (APPS[2].hash, "")
    assert known.stable_of("member-1") == APPS[2].template_hash


def test_the_stable_revision_is_that_of_status() -> None:
    known = planned(APPS[2], current=APPS[0], records=RECORDS[:3])
    assert (known.current, known.lost) == (RECORDS[0], "")
    assert known.stable_of("member-1") == APPS[0].template_hash
    never = planned(APPS[2], records=RECORDS[:3])
    assert (never.current, never.lost) == (None, "")
    assert never.stable_of("member-1") is None


@pytest.mark.parametrize(
    ("records", "why"),
    [(RECORDS[1:3], "is gone"), ((replace(RECORDS[0], problem="x"), *RECORDS[1:3]), "cannot be used (x)")],
)
def test_a_stable_revision_that_is_gone_or_damaged_is_lost(records: tuple[RevisionRecord, ...], why: str) -> None:
    known = planned(APPS[2], current=APPS[0], records=records)
    assert known.current is None
    assert known.lost == f"the ControllerRevision {APPS[0].revision_name} of the stable version {why}"
    new = planned(APPS[4], current=APPS[0], records=records)
    assert new.lost == known.lost
    assert [step.name for step in new.steps if isinstance(step, CreateRevision)] == [APPS[4].revision_name]


@pytest.mark.parametrize("records", [RECORDS[:2], (*RECORDS[:2], replace(RECORDS[2], problem="x"))])
def test_a_stable_revision_that_is_the_template_as_it_is_cannot_be_lost(records: tuple[RevisionRecord, ...]) -> None:
    known = planned(APPS[2], current=APPS[2], records=records)
    assert known.lost == ""
    assert known.stable_of("member-1") == APPS[2].template_hash
