"""``ud get``: lists applications, once or continuously."""

from collections.abc import Mapping, Sequence
from typing import Any

from uniteddeployment.cli.application import Shown
from uniteddeployment.cli.connect import read_application
from uniteddeployment.cli.get.tree import View
from uniteddeployment.cli.listing import Document, Listing, Query
from uniteddeployment.cli.output.terminal import Lines, Screen
from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.kube.client import Client
from uniteddeployment_api import names


async def _get(client: Client, namespace: str, name: str) -> Document:
    return await read_application(client, namespace, name, dict[str, Any])


def _draw(screen: Screen, query: Query, shown: Sequence[Mapping[str, Any]], /, *, wide: bool) -> Lines:
    return View(screen.glyphs, screen.width, wide, query.target.all_namespaces).lines(shown)


APPLICATIONS = Listing(
    kind=names.UNITED_DEPLOYMENT_KIND,
    resource=UNITED_DEPLOYMENTS,
    cached=Shown,
    get=_get,
    of_document=lambda document: document,
    of_cached=Shown.as_dict,
    draw=_draw,
)
