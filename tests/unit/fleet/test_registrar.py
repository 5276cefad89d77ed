"""Which Cluster objects are not used, and why (I14)."""

import json
from typing import Any

import pytest

from uniteddeployment.fleet.clusters import ClusterMetadata, ClusterObject, ClusterSpec
from uniteddeployment.fleet.entry import DUPLICATE, IS_HOST, MISSING_RIGHT, REPLACED, Entry
from uniteddeployment.fleet.registrar import Registrar
from uniteddeployment.kube import errors
from uniteddeployment.kube.transport import Answer
from uniteddeployment.planning.observed import HOST, Reach


class Server:
    """A cluster that shows the uid of its namespace kube-system, or refuses to."""

    def __init__(self, uid: str, refusal: errors.KubeError | None = None) -> None:
        self._uid, self._refusal = uid, refusal

    async def send_probe(self, _request: Any, *, timeout: float) -> Answer:  # noqa: ASYNC109  # as of the client
        assert timeout > 0
        if self._refusal is not None:
            raise self._refusal
        return Answer(200, {}, json.dumps({"metadata": {"uid": self._uid}}).encode())


def entry(name: str, created: str = "2026-01-01T00:00:00Z", **fields: Any) -> Entry:
    metadata = ClusterMetadata(name=name, namespace="default", creation_timestamp=created)
    return Entry(ClusterObject(metadata, ClusterSpec()), **fields)


async def registrar(*entries: Entry, host: Server | None = None) -> Registrar:
    made = Registrar(host or Server("uid-host"), {each.key: each for each in entries}, lambda _: None)  # type: ignore[arg-type]  # stands for a client
    await made.identify_host()
    return made


async def test_the_only_cluster_of_a_server_is_used() -> None:
    found = entry("one", answering_uid="uid-1")
    assert (await registrar(found)).problem(found) is None


async def test_of_two_clusters_of_a_server_the_older_one_is_used() -> None:
    older, younger = entry("z", answering_uid="uid-1"), entry("a", "2026-01-02T00:00:00Z", answering_uid="uid-1")
    made = await registrar(older, younger)
    assert made.problem(older) is None
    problem = made.problem(younger)
    assert problem is not None
    assert (problem.reach, problem.reason, problem.same_as) == (Reach.UNKNOWN, DUPLICATE, "default/z")
    assert "the Cluster default/z is used for the same cluster" in problem.detail


async def test_a_cluster_for_the_host_is_not_used() -> None:
    found = entry("here", answering_uid="uid-host")
    problem = (await registrar(found)).problem(found)
    assert problem is not None
    assert (problem.reach, problem.reason, problem.same_as) == (Reach.UNKNOWN, IS_HOST, HOST)


async def test_without_the_right_to_identify_the_host_its_cluster_is_not_detected() -> None:
    found = entry("here", answering_uid="uid-host")
    made = await registrar(found, host=Server("", errors.Forbidden(403)))
    assert made.problem(found) is None


async def test_a_cluster_that_answers_in_place_of_another_one_is_not_used() -> None:
    """Nothing may be read or written there: the workloads of the first one are not in it."""
    found = entry("one", held_uid="uid-1", answering_uid="uid-2")
    problem = (await registrar(found)).problem(found)
    assert problem is not None
    assert (problem.reach, problem.reason, problem.same_as) == (Reach.PENDING, REPLACED, None)
    assert "uid-2 and was uid-1" in problem.detail


@pytest.mark.parametrize(("refusal", "reason"), [(errors.Forbidden(403), MISSING_RIGHT), (errors.ServerError(500), "")])
async def test_a_cluster_that_cannot_be_identified_is_not_used_yet(refusal: errors.KubeError, reason: str) -> None:
    found = entry("one")
    problem = await (await registrar(found)).admit(found, Server("", refusal))  # type: ignore[arg-type]  # stands for a client
    assert problem is not None
    assert (problem.reach, problem.reason) == (Reach.PENDING, reason)
    assert found.answering_uid == ""
