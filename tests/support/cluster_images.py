"""What the clusters of a world hold at its beginning, made once in each process.

A simulation has four clusters, and takes a tenth of a second if each is started and told its roles and definitions.
"""

import json
from collections.abc import Callable, Iterable
from functools import cache
from random import Random
from typing import Any

from tests.support import rights
from tests.support.hand_clock import HandClock
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment.embedded.http import Identity, Request
from uniteddeployment.embedded.storage.store import Image
from uniteddeployment_api.crd import custom_resource_definitions

TOKEN = "admin-token"
ADMIN = Identity("admin", ("system:masters",))
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SETTLED = 0.1
"""Seconds in which the controllers of a cluster establish definitions and report nodes."""

Documents = Iterable[tuple[str, dict[str, Any]]]
"""What to create, with the path of each."""


def host_documents() -> Documents:
    """The role of the controller on the host, and our definitions."""
    return [*rights.cluster_wide("host"), *((DEFINITIONS, one) for one in custom_resource_definitions())]


def member_documents() -> Documents:
    """The role that the controller has in a member."""
    return rights.cluster_wide("member")


@cache
def image_of(
    name: str, uids: int, documents: tuple[Callable[[], Documents], ...], options: tuple[tuple[str, Any], ...]
) -> Image:
    """What a cluster holds when its controllers have come to rest. ``uids`` is the seed of its uids."""
    clock = HandClock()
    chance = Random(f"{uids} {name}")
    cluster = Cluster(name, clock=clock, random=chance, tokens={TOKEN: ADMIN}, **dict(options))
    cluster.start()
    headers = {"content-type": "application/json", "authorization": f"Bearer {TOKEN}", "user-agent": "test"}
    for listed in documents:
        for path, document in listed():
            response = cluster.handle(Request("POST", path, (), headers, json.dumps(document).encode()))
            assert response.status == 201, response.body
    clock.advance(SETTLED)
    cluster.stop()
    return cluster.image()
