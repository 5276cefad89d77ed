"""Builds requests and decodes answers, without I/O.

A ``Request`` is data, so a transport may be a socket, an API server in the same process or a list in a test. ``read``
decodes an answer or raises the typed error. ``read_page`` does the same for one page of a list, object by object, so
that an undecodable object never hides the others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

import msgspec

from uniteddeployment.kube import collector, errors
from uniteddeployment.kube.decoding import DecodingError, decode
from uniteddeployment.kube.meta import ListMeta, Status, identity
from uniteddeployment.kube.resource import Resource

T = TypeVar("T")
Query = tuple[tuple[str, str], ...]

MAX_OBJECT_BYTES = 4 << 20
"""The largest answer about one object. API servers store about 1.5 MiB of an object."""
MAX_PAGE_BYTES = 32 << 20
"""The largest page of a list."""
MAX_REFUSAL_BYTES = 1 << 16
"""The largest refusal of a watch."""
_MAX_RETRY_DIGITS = 6
_MAX_CONTINUE = 8192
"""Characters of the longest continue token, which goes into the query of the next request."""

JSON = "application/json"
_READ: Mapping[str, str] = {"accept": JSON}
_WRITE: Mapping[str, str] = {"accept": JSON, "content-type": JSON}


@dataclass(frozen=True, slots=True)
class Request:
    """One request. ``path`` is not percent-encoded and has no query; header names are in lower case.

    ``verb`` and ``resource`` are Kubernetes' names for the request; they are for metrics and are not sent.
    """

    method: str
    path: str
    query: Query = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    verb: str = ""
    resource: str = ""
    max_bytes: int = MAX_OBJECT_BYTES
    """The largest body of an answer."""
    identified: bool = False
    """Whether it goes only over a connection whose server was identified. Otherwise, ``NotIdentified`` is raised."""

    @property
    def reads(self) -> bool:
        """Whether the request changes nothing."""
        return self.method in {"GET", "HEAD", "OPTIONS"}


class PatchType(StrEnum):
    """The content types of patches."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Propagation(StrEnum):
    """The fate of the objects that a deleted object owns."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


def get(resource: Resource, name: str, namespace: str | None = None, subresource: str | None = None) -> Request:
    """Read one object."""
    path = resource.path(namespace, name, subresource)
    return Request("GET", path, (), _READ, verb="get", resource=resource.plural)


def list_(
    resource: Resource,
    namespace: str | None = None,
    *,
    label_selector: str | None = None,
    field_selector: str | None = None,
    limit: int | None = None,
    continue_: str | None = None,
    resource_version: str | None = None,
) -> Request:
    """Read a page of a collection. A continue token includes its resourceVersion, so none is sent with it."""
    query = _query(
        labelSelector=label_selector,
        fieldSelector=field_selector,
        limit=limit,
        resourceVersion=None if continue_ else resource_version,
    )
    if continue_:
        query += (("continue", continue_),)
    path = resource.path(namespace)
    return Request("GET", path, query, _READ, verb="list", resource=resource.plural, max_bytes=MAX_PAGE_BYTES)


def watch(
    resource: Resource,
    namespace: str | None = None,
    *,
    label_selector: str | None = None,
    field_selector: str | None = None,
    resource_version: str | None = None,
    initial_events: bool = False,
    timeout_seconds: int | None = None,
) -> Request:
    """Watch a collection, with bookmarks. ``initial_events`` requests a streaming list before the changes."""
    query = _query(
        watch="true",
        allowWatchBookmarks="true",
        labelSelector=label_selector,
        fieldSelector=field_selector,
        resourceVersion=resource_version,
        sendInitialEvents="true" if initial_events else None,
        resourceVersionMatch="NotOlderThan" if initial_events else None,
        timeoutSeconds=timeout_seconds,
    )
    return Request("GET", resource.path(namespace), query, _READ, verb="watch", resource=resource.plural)


def create(
    resource: Resource,
    body: object,
    namespace: str | None = None,
    *,
    name: str | None = None,
    subresource: str | None = None,
    field_manager: str | None = None,
    dry_run: bool = False,
) -> Request:
    """Create an object, or a subresource of the object ``name``.

    With ``dry_run``, nothing is stored, and the answer is the object as it would be.
    """
    query = _query(fieldManager=field_manager, dryRun="All" if dry_run else None)
    path = resource.path(namespace, name, subresource)
    return Request("POST", path, query, _WRITE, msgspec.json.encode(body), "create", resource.plural)


def replace(
    resource: Resource,
    name: str,
    body: object,
    namespace: str | None = None,
    *,
    subresource: str | None = None,
    field_manager: str | None = None,
) -> Request:
    """Replace a whole object; if it has a resourceVersion, only at that version."""
    path = resource.path(namespace, name, subresource)
    query = _query(fieldManager=field_manager)
    return Request("PUT", path, query, _WRITE, msgspec.json.encode(body), "update", resource.plural)


def patch(
    resource: Resource,
    name: str,
    body: object,
    namespace: str | None = None,
    *,
    patch_type: PatchType,
    subresource: str | None = None,
    field_manager: str | None = None,
    force: bool | None = None,
    dry_run: bool = False,
) -> Request:
    """Change parts of an object. ``APPLY`` needs the field manager, and ``force`` takes fields from others."""
    if patch_type is PatchType.APPLY and not field_manager:
        raise ValueError("server-side apply needs a field manager")
    query = _query(
        fieldManager=field_manager,
        force=None if force is None else str(force).lower(),
        dryRun="All" if dry_run else None,
    )
    headers = {"accept": JSON, "content-type": patch_type.value}
    verb = "apply" if patch_type is PatchType.APPLY else "patch"
    path = resource.path(namespace, name, subresource)
    return Request("PATCH", path, query, headers, msgspec.json.encode(body), verb, resource.plural)


def scale(
    resource: Resource, name: str, replicas: int, namespace: str | None = None, *, resource_version: str | None = None
) -> Request:
    """Set the replicas through the scale subresource, which is the cheapest write for that."""
    body: dict[str, Any] = {"spec": {"replicas": replicas}}
    if resource_version:
        body["metadata"] = {"resourceVersion": resource_version}
    return patch(resource, name, body, namespace, patch_type=PatchType.MERGE, subresource="scale")


def delete(
    resource: Resource,
    name: str,
    namespace: str | None = None,
    *,
    uid: str | None = None,
    resource_version: str | None = None,
    propagation: Propagation | None = None,
    grace_period_seconds: int | None = None,
) -> Request:
    """Delete an object if it still has this uid and this resourceVersion."""
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    preconditions = {
        key: value for key, value in (("uid", uid), ("resourceVersion", resource_version)) if value is not None
    }
    if preconditions:
        options["preconditions"] = preconditions
    if propagation is not None:
        options["propagationPolicy"] = propagation.value
    if grace_period_seconds is not None:
        options["gracePeriodSeconds"] = grace_period_seconds
    encoded = msgspec.json.encode(options)
    return Request("DELETE", resource.path(namespace, name), (), _WRITE, encoded, "delete", resource.plural)


def read(status: int, headers: Mapping[str, str], body: bytes, type_: type[T]) -> T:
    """Decode the object in an answer. Raises the typed error unless the answer is a success."""
    if not 200 <= status < 300:
        raise failure(status, headers, body)
    try:
        return decode(body, type_)
    except DecodingError as error:
        raise errors.Malformed(status, "Malformed", f"the answer is not as expected: {error}") from None


def failure(status: int, headers: Mapping[str, str], body: bytes) -> errors.ApiError:
    """The typed error for an answer that is not a success. Its body need not be a ``Status``."""
    try:
        said = decode(body, Status)
    except DecodingError:
        said = Status()
    details = dict(said.details or {})
    waiting = headers.get("retry-after", headers.get("Retry-After", ""))
    if waiting.isdecimal() and len(waiting) <= _MAX_RETRY_DIGITS:
        details.setdefault("retryAfterSeconds", int(waiting))
    return errors.from_status(status, said.reason, said.message, details)


@dataclass(frozen=True, slots=True)
class Skipped:
    """An undecodable object of a list, as far as it can be identified."""

    namespace: str
    name: str
    why: str


@dataclass(slots=True)
class Page(Generic[T]):
    """One page of a list; ``skipped`` has the undecodable objects."""

    items: list[T]
    resource_version: str
    continue_: str
    skipped: list[Skipped]


class _Items(msgspec.Struct):
    """A list with the objects as bytes."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[msgspec.Raw] | None = None


def read_page(status: int, headers: Mapping[str, str], body: bytes, type_: type[T]) -> Page[T]:
    """Decode one page of a list. Raises the typed error unless the answer is a success."""
    page = read(status, headers, body, _Items)
    if len(page.metadata.continue_) > _MAX_CONTINUE:
        raise errors.Malformed(status, "Malformed", "the list has a continue token that is too long")
    items: list[T] = []
    skipped: list[Skipped] = []
    with collector.paused():
        for raw in page.items or ():
            try:
                items.append(decode(raw, type_))
            except DecodingError as error:
                skipped.append(_skipped(raw, str(error)))
    return Page(items, page.metadata.resource_version, page.metadata.continue_, skipped)


def _skipped(raw: msgspec.Raw, why: str) -> Skipped:
    known = identity(raw)
    return Skipped(known.namespace, known.name, why)


def _query(**options: str | int | None) -> Query:
    return tuple(_present(options.items()))


def _present(options: Iterable[tuple[str, str | int | None]]) -> Iterable[tuple[str, str]]:
    return ((name, str(value)) for name, value in options if value is not None and value != "")
