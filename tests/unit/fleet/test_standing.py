"""The state of a Cluster as its status shows it and as plans read it."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from uniteddeployment.fleet import standing
from uniteddeployment.fleet.claims import Claim
from uniteddeployment.fleet.clusters import ClusterMetadata, ClusterObject, ClusterSpec
from uniteddeployment.fleet.entry import Entry, Problem
from uniteddeployment.fleet.events import record_phase
from uniteddeployment.fleet.health import UNREACHABLE, Phase, Probes, Record, Trouble
from uniteddeployment.fleet.status import Facts
from uniteddeployment.fleet.tokens import TokenTrouble
from uniteddeployment.kube.meta import ObjectReference
from uniteddeployment.planning.observed import ClusterFacts, FleetFacts, Reach, Taint

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NOW_TEXT = "2026-01-01T00:00:00Z"
SILENCE = Probes(Trouble(UNREACHABLE, "no answer"), 2)


def entry(**fields: Any) -> Entry:
    spec = fields.pop("spec", ClusterSpec(capacity="Disabled"))
    return Entry(ClusterObject(ClusterMetadata("m", "ns", "uid"), spec), **{"undecided": False, **fields})


def ready(found: Entry, stored: dict[str, Any] | None = None, last_contact: str | None = None) -> dict[str, Any]:
    wanted = standing.wanted_status(found, stored or {}, last_contact, NOW)
    assert wanted is not None
    condition: dict[str, Any] = wanted["conditions"][0]
    return condition


def test_a_stored_status_stays_until_the_state_is_known() -> None:
    """A new process must not overwrite it with less than it knows."""
    undecided = entry(undecided=True)
    assert standing.wanted_status(undecided, {"phase": "Running"}, None, NOW) is None
    assert standing.wanted_status(undecided, {}, None, NOW) is not None
    departing = entry(departure=cast("asyncio.Task[None]", object()))
    assert standing.wanted_status(departing, {"phase": "Running"}, None, NOW) is None
    assert standing.wanted_status(departing, {}, None, NOW) is not None
    departing.leaving = "two workloads"
    assert standing.wanted_status(departing, {"phase": "Running"}, None, NOW) is not None
    departing.leaving, departing.closing = "", True
    assert standing.wanted_status(departing, {"phase": "Running"}, None, NOW) is not None


def test_the_reason_of_a_cluster_that_is_not_used_is_its_problem() -> None:
    problem = Problem(Reach.UNKNOWN, "it is the host", "IsHost")
    refused = ready(entry(problem=problem, probes=SILENCE, detail="it is the host"))
    assert (refused["reason"], refused["message"]) == ("IsHost", "it is the host")
    suspended = ready(entry(reach=Reach.SUSPENDED, detail="spec.suspended is set"))
    assert (suspended["reason"], suspended["message"]) == ("Suspended", "spec.suspended is set")
    failing = ready(entry(probes=SILENCE, detail="reading", record=Record(Phase.OFFLINE, NOW, UNREACHABLE)))
    assert (failing["reason"], failing["message"]) == (UNREACHABLE, "no answer")
    leaving = ready(entry(record=Record(Phase.TERMINATED), leaving="two workloads"))
    assert leaving["message"] == "two workloads"


def test_the_status_has_what_the_member_shows_and_else_what_was_seen_before() -> None:
    member = SimpleNamespace(facts=Facts("v1.36.2", 3), last_contact="2025-12-31T00:00:00Z", capacity=None)
    offline = Record(Phase.OFFLINE, NOW, UNREACHABLE)
    wanted = standing.wanted_status(entry(member=member, held_uid="u", record=offline), {}, "earlier", NOW)
    assert wanted is not None
    shown = {name: wanted[name] for name in ("kubernetesVersion", "nodes", "lastContactTime", "clusterUID")}
    assert shown == {
        "kubernetesVersion": "v1.36.2",
        "nodes": 3,
        "lastContactTime": "2025-12-31T00:00:00Z",
        "clusterUID": "u",
    }
    without = standing.wanted_status(entry(record=offline), {}, "earlier", NOW)
    assert without is not None
    assert without["lastContactTime"] == "earlier"
    assert "clusterUID" not in without


def test_trouble_with_a_token_is_a_condition_of_its_own() -> None:
    found = entry(token_trouble=TokenTrouble("TokenExpired", "it expired"))
    wanted = standing.wanted_status(found, {}, None, NOW)
    assert wanted is not None
    assert [one["type"] for one in wanted["conditions"]] == ["Ready", "Schedulable", "CredentialsValid"]
    assert wanted["conditions"][2] == {
        "type": "CredentialsValid",
        "status": "False",
        "observedGeneration": 0,
        "lastTransitionTime": NOW_TEXT,
        "reason": "TokenExpired",
        "message": "it expired",
    }
    stored = {"conditions": [{"type": "CredentialsValid", "lastTransitionTime": "before"}]}
    again = standing.wanted_status(found, stored, None, NOW)
    assert again is not None
    assert again["conditions"][2]["lastTransitionTime"] == "before"


def test_plans_read_the_taints_and_since_when_a_cluster_is_offline() -> None:
    taint = Taint("k", effect="NoExecute")
    assert standing.facts(entry(taints=(taint,), record=Record(Phase.OFFLINE, NOW))) == ClusterFacts(
        (taint,), offline_since=NOW_TEXT
    )
    for record in (Record(Phase.RUNNING, NOW), Record(Phase.OFFLINE)):
        assert standing.facts(entry(record=record)) == ClusterFacts()


def test_clusters_that_were_never_used_do_not_count_as_part_of_the_fleet() -> None:
    later = datetime(2026, 1, 2, tzinfo=UTC)
    records = (
        Record(Phase.OFFLINE, later),
        Record(),
        Record(Phase.OFFLINE, NOW),
        Record(Phase.RUNNING, NOW),
        Record(Phase.TERMINATED),
    )
    found = standing.fleet_facts([entry(record=record) for record in records])
    assert found == FleetFacts(4, (NOW_TEXT, "2026-01-02T00:00:00Z"))


class Notes:
    """Takes Events."""

    def __init__(self) -> None:
        self.taken: list[tuple[Any, ...]] = []

    def event(self, *fields: Any, action: str) -> None:
        self.taken.append((*fields, action))


@pytest.mark.parametrize(
    ("old", "new", "fields", "expected"),
    [
        (
            Phase.OFFLINE,
            Record(Phase.RUNNING),
            {},
            ("Normal", "Recovered", "it answers again, and has done so for long enough"),
        ),
        (Phase.PENDING, Record(Phase.RUNNING), {}, ("Normal", "Connected", "it answers")),
        (Phase.RUNNING, Record(Phase.TERMINATED), {}, ("Normal", "Terminating", "the Cluster is being deleted")),
        (
            Phase.RUNNING,
            Record(Phase.OFFLINE, reason=UNREACHABLE),
            {"probes": SILENCE},
            ("Warning", UNREACHABLE, "no answer"),
        ),
        (Phase.RUNNING, Record(Phase.OFFLINE), {}, ("Warning", "Offline", "")),
        (Phase.RUNNING, Record(), {}, ("Normal", "Suspended", "spec.suspended is set")),
        (
            Phase.RUNNING,
            Record(),
            {"problem": Problem(Reach.UNKNOWN, "it is the host", "IsHost")},
            ("Warning", "IsHost", "it is the host"),
        ),
        (
            Phase.RUNNING,
            Record(),
            {"problem": Problem(Reach.UNKNOWN, "not connected")},
            ("Warning", "Pending", "not connected"),
        ),
        (
            Phase.RUNNING,
            Record(),
            {"problem": Problem(Reach.UNKNOWN, "x", "IsHost"), "spec": ClusterSpec(suspended=True)},
            ("Normal", "Suspended", "spec.suspended is set"),
        ),
        (
            Phase.RUNNING,
            Record(),
            {"problem": Problem(Reach.UNKNOWN, "x", "IsHost"), "reach": Reach.SUSPENDED},
            ("Normal", "Suspended", "spec.suspended is set"),
        ),
    ],
)
def test_each_change_of_the_phase_is_an_event_with_its_reason(
    old: Phase, new: Record, fields: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    notes = Notes()
    record_phase(cast("Any", notes), entry(record=new, **fields), Record(old))
    type_, reason, why = expected
    assert notes.taken == [
        (
            ObjectReference(
                api_version="uniteddeployment.io/v1alpha1", kind="Cluster", namespace="ns", name="m", uid="uid"
            ),
            type_,
            reason,
            f"the phase changes from {old} to {new.phase}: {why}",
            "CheckHealth",
        )
    ]


async def test_an_entry_ends_its_tasks_and_its_next_judgement() -> None:
    waiting = asyncio.Event().wait
    found = entry(
        task=asyncio.create_task(waiting()),
        departure=asyncio.create_task(waiting()),
        judgement=asyncio.get_running_loop().call_later(60, print),
    )
    found.stop()
    await asyncio.wait([cast("Any", found.task), cast("Any", found.departure)])
    assert found.task is not None
    assert found.departure is not None
    assert found.judgement is not None
    assert found.task.cancelled()
    assert found.departure.cancelled()
    assert found.judgement.cancelled()


def test_a_cluster_claims_to_be_connecting_until_it_is_known_which_one_answers() -> None:
    assert entry(undecided=True).claim.connecting
    assert not entry().claim.connecting
    assert not entry(undecided=True, answering_uid="u").claim.connecting
    assert not entry(undecided=True, spec=ClusterSpec(suspended=True)).claim.connecting
    assert entry(held_uid="h", answering_uid="a").claim == Claim("ns/m", "", "h", "a")
