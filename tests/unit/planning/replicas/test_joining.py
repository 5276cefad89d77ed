"""Subsets that join a running application: dividing again, after some of the writes, gives the same numbers (I9)."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import planning as make
from uniteddeployment.planning.application import Application
from uniteddeployment.planning.replicas.divide import Division
from uniteddeployment.planning.replicas.divide import divide as divide_replicas


def application(total: int, shares: Mapping[str, Any], *, adaptive: bool) -> Application:
    document = make.manifest(replicas=total, shares=shares)
    if adaptive:
        document["spec"]["topology"]["scheduleStrategy"] = {"type": "Adaptive"}
    return make.application(document)


def divide(app: Application, stored: Mapping[str, int], asked: Mapping[str, int]) -> Division:
    """Divide with a status, and workloads that have these replicas, all of them ready."""
    status = {"subsetStatuses": [{"name": name, "replicas": number} for name, number in stored.items()]}
    views = {
        name: make.view(
            name,
            make.stateful_set(app, name, replicas=number),
            pods=make.pods(app, name, [app.revision_of(name)] * number),
        )
        for name, number in asked.items()
        if name in app.subsets
    }
    observed = make.observed(views, members=tuple(app.subsets))
    return divide_replicas(make.subject(app, status=status), app, observed)


def decided(
    app: Application, stored: Mapping[str, int], asked: Mapping[str, int]
) -> tuple[Division, Mapping[str, int]]:
    """The division that is acted on, and the numbers that the status has by then."""
    for _ in range(3):
        division = divide(app, stored, asked)
        if not division.persist_first:
            return division, stored
        stored = division.replicas
    raise AssertionError("it is stored again and again")


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_number_of_a_subset_that_joins_is_stored_before_it_is_acted_on(adaptive: bool) -> None:
    """Its own workload counts as soon as there is one, so two subsets would exchange a replica."""
    app = application(5, {name: {"weight": 1} for name in "dbc"}, adaptive=adaptive)
    stored, asked = {"a": 2, "b": 2, "c": 1}, {"b": 2, "c": 1}
    first = divide(app, stored, asked)
    assert first.desired == {"d": 1, "b": 2, "c": 2}
    assert first.persist_first
    assert divide(app, stored, {**asked, "d": 1}).desired != first.desired, "it could not be derived again"
    division, now = decided(app, stored, asked)
    assert division.desired == first.desired
    assert divide(app, now, {**asked, "d": 1}).desired == first.desired


def test_a_new_application_is_not_stored_first() -> None:
    """It would cost each of them another write."""
    app = application(5, {"a": {}, "b": {}, "c": {}}, adaptive=True)
    assert not divide(app, {}, {}).persist_first
    assert not divide(app, {}, {"a": 2}).persist_first
    assert not divide(app, {"a": 2, "b": 2, "c": 1}, {"a": 2, "b": 2, "c": 1}).persist_first


EVEN = {"weight": 1}
shares = st.sampled_from([EVEN, EVEN, {"weight": 2}, {"replicas": 1}, {"replicas": "30%"}])


@given(st.data(), st.integers(2, 7), st.booleans())
def test_whatever_joins_and_is_written_first_the_division_stays_as_it_is(
    data: st.DataObject, total: int, adaptive: bool
) -> None:
    rare = data.draw(shares)
    before: dict[str, Any] = {"a": EVEN, "b": EVEN, "c": rare}
    stored = divide(application(total, before, adaptive=adaptive), {}, {}).desired
    joining: dict[str, Any] = {"d": EVEN, "e": EVEN} if data.draw(st.booleans()) else {"d": EVEN}
    order = data.draw(st.permutations(["b", "c", *joining]))
    app = application(total, {name: {**before, **joining}[name] for name in order}, adaptive=adaptive)
    asked = {name: stored[name] for name in "bc"}
    division, stored = decided(app, stored, asked)
    for count in range(1, len(order) + 1):
        written = {name: division.replicas[name] for name in order[:count]}
        assert divide(app, stored, {**asked, **written}).desired == division.desired
