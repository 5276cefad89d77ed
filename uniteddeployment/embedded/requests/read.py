"""Get and list: versions, pages, selectors.

Contract: the common case, built-in objects as JSON, concatenates stored bytes without decoding.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Final

from uniteddeployment.embedded.apimachinery import selectors
from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.discovery.routes import Route
from uniteddeployment.embedded.errors import StatusError, bad_request, not_found
from uniteddeployment.embedded.http import Response
from uniteddeployment.embedded.requests import answer
from uniteddeployment.embedded.requests.continue_token import Pages
from uniteddeployment.embedded.requests.negotiate import JSON, Accepted
from uniteddeployment.embedded.requests.options import ListOptions, list_options, resource_version
from uniteddeployment.embedded.requests.write import Target, live
from uniteddeployment.embedded.storage.state import Core
from uniteddeployment.embedded.storage.store import Entry, HistoryGoneError, Key, Table

EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def too_large(version: int, current: int) -> StatusError:
    """504: the server has not reached this version yet."""
    return StatusError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {version}, current: {current}",
        details={"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]},
        retry_after=1,
    )


def plain(core: Core, resource: Resource) -> bool:
    """Whether the stored JSON is this version's JSON except for its first bytes."""
    return not resource.custom and core.registry.is_main(resource)


def get(core: Core, route: Route, accepted: Accepted, query: Mapping[str, str]) -> Response:
    """Get one object."""
    resource, address = route.resource, route.address
    if version := query.get("resourceVersion"):
        wanted = resource_version(version)
        if wanted > core.store.rv:
            raise too_large(wanted, core.store.rv)
    entry = core.registry.table(resource).entries.get((address.namespace, address.name))
    if entry is None:
        raise not_found(resource.plural, resource.group, address.name)
    if not accepted.form and accepted.media == JSON and plain(core, resource):
        return answer.raw_json(answer.full(resource, entry.raw))
    obj = live(core, Target(resource, address.namespace, address.name))
    if obj is None:
        raise not_found(resource.plural, resource.group, address.name)
    return answer.object_(core, resource, obj, accepted, query)


def list_(core: Core, route: Route, accepted: Accepted, query: Mapping[str, str]) -> Response:
    """List objects, or one page of them."""
    options = list_options(query)
    resource = route.resource
    selector = selectors.parse(options.labels, options.fields, resource)
    table = core.registry.table(resource)
    pages = Pages(resource, route.address.namespace)
    entries, rv = _state(core, table, pages, options)
    if options.token:
        entries = _from(entries, pages.read(options.token).start)
    if selector.everything:
        objects = None
        chosen = entries
    else:
        chosen, objects = _matching(core, resource, table, entries, selector)
    metadata = list_metadata(resource, rv)
    limit = options.limit if options.version != 0 else 0
    if 0 < limit < len(chosen):
        metadata["continue"] = pages.write(rv, chosen[limit - 1].key)
        if selector.everything:
            metadata["remainingItemCount"] = len(chosen) - limit
        chosen = chosen[:limit]
        objects = objects[:limit] if objects is not None else None
    if not accepted.form and accepted.media == JSON and plain(core, resource):
        return answer.raw_list(resource, [entry.raw for entry in chosen], metadata)
    if objects is None:
        objects = [core.registry.show(resource, obj) for obj in core.store.objects(table, chosen)]
    return answer.list_(core, resource, objects, metadata, accepted=accepted, query=query)


def list_metadata(resource: Resource, rv: int) -> dict[str, Any]:
    """The metadata of a list at a version. Lists of custom resources have an empty continue token at the end."""
    metadata: dict[str, Any] = {"resourceVersion": str(rv)}
    if resource.custom:
        metadata["continue"] = ""
    return metadata


def _matching(
    core: Core, resource: Resource, table: Table, entries: Sequence[Entry], selector: selectors.Selector
) -> tuple[list[Entry], list[Obj]]:
    if (name := selector.name) is not None:
        entries = [entry for entry in entries if entry.key[1] == name]
    chosen: list[Entry] = []
    objects: list[Obj] = []
    for entry in entries:
        obj = core.registry.show(resource, core.store.obj(table, entry))
        if selector.matches(obj):
            chosen.append(entry)
            objects.append(obj)
    return chosen, objects


def _state(core: Core, table: Table, pages: Pages, options: ListOptions) -> tuple[list[Entry], int]:
    """The entries of the path in the requested state, and its version."""
    version = options.version
    namespace = pages.namespace or None
    exact: int | None = version if options.match == "Exact" or (options.limit and version) else None
    if version is not None and version > core.store.rv:
        raise too_large(version, core.store.rv)
    if options.token:
        token = pages.read(options.token)
        if version:
            raise bad_request("specifying resource version is not allowed when using continue")
        exact = token.version if token.version > 0 else None
    if exact is None or exact == core.store.rv:
        return table.select(namespace), core.store.rv
    try:
        entries = core.store.snapshot(table, exact)
    except HistoryGoneError as error:
        raise _expired(pages, options) from error
    if namespace is not None:
        entries = [entry for entry in entries if entry.key[0] == namespace]
    return entries, exact


def _expired(pages: Pages, options: ListOptions) -> StatusError:
    if not options.token:
        return StatusError(410, "Expired", "The resourceVersion for the provided list is too old.")
    failure = StatusError(410, "Expired", EXPIRED)
    failure.metadata = {"continue": pages.rewrite(-1, options.token)}
    return failure


def _from(entries: Sequence[Entry], start: Key) -> list[Entry]:
    return list(entries[bisect_left(entries, start, key=lambda entry: entry.key) :])
