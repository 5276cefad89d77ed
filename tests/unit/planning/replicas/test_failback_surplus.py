"""Failback to a cluster that has not yet removed the pods that it kept while it was lost (I7)."""

import pytest

from tests.support import planning as make
from uniteddeployment.planning.replicas.divide import divide


@pytest.mark.parametrize(("surplus", "expected"), [(2, 0), (0, 1)])
def test_replicas_return_only_when_the_former_pods_are_gone(surplus: int, expected: int) -> None:
    """Its workload is scaled to 0, and its controller deletes the pods a moment later. They show as ready until then,
    so the others would lose pods for a replacement that is about to go.
    """
    document = make.manifest(replicas=6, shares={name: {"weight": 1} for name in "abc"})
    document["spec"]["topology"]["scheduleStrategy"] = {"type": "Adaptive"}
    app = make.application(document)
    numbers = {"a": 3, "b": 3, "c": 0}
    stored = [{"name": name, "replicas": number} for name, number in numbers.items()]
    stored[2]["movedReplicas"] = 2
    views = {
        name: make.view(
            name,
            make.stateful_set(app, name, replicas=number),
            pods=make.pods(app, name, [app.revision_of(name)] * (number or surplus)),
        )
        for name, number in numbers.items()
    }
    subject = make.subject(app, status={"subsetStatuses": stored})
    assert divide(subject, app, make.observed(views, members=("a", "b", "c"))).desired["c"] == expected
