"""P5: the plan of a settled application, and of a new one."""

import time
from collections.abc import Callable

from tests.support import planning as make
from uniteddeployment.planning.plan import plan

SECONDS = 0.5


def run() -> list[tuple[str, str]]:
    rows = []
    for members, replicas in ((3, 8), (5, 20), (100, 10_000)):
        for kind in ("statefulSetTemplate", "deploymentTemplate"):
            settled, new = _measure(members, replicas, kind)
            rows.append(
                (f"P5 {members} subsets, {replicas} replicas, {kind}", f"settled {settled:.3f} ms, new {new:.3f} ms")
            )
    return rows


def _measure(members: int, replicas: int, kind: str) -> tuple[float, float]:
    shares = {f"m{number}": {"weight": 1 + number % 3} for number in range(members)}
    app = make.application(make.manifest(kind=kind, replicas=replicas, shares=shares))
    names = tuple(shares)
    fresh = make.observed(members=names)
    new = make.subject(app)
    views = {}
    for row in plan(new, fresh).results:
        if kind == "statefulSetTemplate":
            found = make.stateful_set(app, row.name, replicas=row.replicas)
        else:
            found = make.deployment(app, row.name, app.revision_of(row.name), replicas=row.replicas)
        pods = make.pods(app, row.name, [app.revision_of(row.name)] * row.replicas)
        views[row.name] = make.view(row.name, found, pods=pods)
    seen = make.observed(views, members=names, revisions=(make.record(app),))
    subject = make.subject(app, status=plan(new, seen).status)
    return _milliseconds(lambda: plan(subject, seen)), _milliseconds(lambda: plan(new, fresh))


def _milliseconds(call: Callable[[], object]) -> float:
    """The mean of as many calls as fit into half a second."""
    count, started = 0, time.perf_counter()
    while (took := time.perf_counter() - started) < SECONDS:
        call()
        count += 1
    return took / count * 1000
