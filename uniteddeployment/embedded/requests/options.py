"""Options of requests: query parameters, and the body of a DELETE.

Contract: each function reads one kind of options and refuses invalid ones with the real server's messages.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from uniteddeployment.embedded.errors import Cause, StatusError, bad_request, invalid
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.requests.delete import DeleteOptions

META_GROUP: Final = "meta.k8s.io"
MANAGER_LIMIT: Final = 128
VALIDATIONS: Final = ("Ignore", "Warn", "Strict")

Query = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Options of lists and watches. Versions are None if the client leaves them to the server."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    token: str = ""
    version: int | None = None
    match: str = ""
    bookmarks: bool = False
    initial_events: bool | None = None
    timeout: float | None = None


def flag(query: Query, name: str) -> bool:
    """A boolean query parameter: present and neither "false" nor "0"."""
    return name in query and query[name].lower() not in ("false", "0")


def _refused(kind: str, causes: Sequence[Cause]) -> StatusError:
    return invalid(kind, META_GROUP, "", causes)


def _dry_run(kind: str, values: Sequence[str]) -> bool:
    if any(value != "All" for value in values):
        shown = json.dumps(list(values), separators=(",", ":"))
        text = f'Unsupported value: {shown}: supported values: "All"'
        raise _refused(kind, [Cause("FieldValueNotSupported", text, "dryRun")])
    return bool(values)


def default_manager(user_agent: str) -> str:
    """The default field manager of a client: its User-Agent up to the first slash."""
    return user_agent.split("/", 1)[0][:MANAGER_LIMIT] or "unknown"


def write_options(kind: str, query: Query, dry_runs: Sequence[str], user_agent: str, *, apply: bool) -> Call:
    """Read the options of a write; ``kind`` is CreateOptions, UpdateOptions or PatchOptions."""
    causes: list[Cause] = []
    manager = query.get("fieldManager", "")
    if "force" in query and kind == "PatchOptions" and not apply:
        text = "Forbidden: may not be specified for non-apply patch"
        causes.append(Cause("FieldValueForbidden", text, "force"))
    if apply and not manager:
        causes.append(Cause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager"))
    if len(manager.encode()) > MANAGER_LIMIT:
        text = f"Too long: may not be more than {MANAGER_LIMIT} bytes"
        causes.append(Cause("FieldValueTooLong", text, "fieldManager"))
    if not manager.isprintable():
        text = f"Invalid value: {json.dumps(manager)}: should only contain printable characters"
        causes.append(Cause("FieldValueInvalid", text, "fieldManager"))
    validation = query.get("fieldValidation", "")
    if validation and validation not in VALIDATIONS:
        supported = ", ".join(json.dumps(value) for value in sorted(("", *VALIDATIONS)))
        text = f"Unsupported value: {json.dumps(validation)}: supported values: {supported}"
        causes.append(Cause("FieldValueNotSupported", text, "fieldValidation"))
    if causes:
        raise _refused(kind, causes)
    dry_run = _dry_run(kind, dry_runs)
    return Call(manager or default_manager(user_agent), dry_run, validation or "Warn", flag(query, "force"))


# Lists and watches


def list_options(query: Query, *, watched: bool = False) -> ListOptions:
    """Read the options of a list or a watch.

    ``watched`` is true for a watch; a path below ``watch/`` has the options of a list.
    """
    watch = flag(query, "watch")
    initial = flag(query, "sendInitialEvents") if "sendInitialEvents" in query else None
    match = query.get("resourceVersionMatch", "")
    version, token = query.get("resourceVersion", ""), query.get("continue", "")
    causes = _check_watch(initial, match) if watch else _check_list(initial, match, version, token)
    if causes:
        raise _refused("ListOptions", causes)
    return ListOptions(
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        limit=_integer(query, "limit"),
        token=token,
        version=resource_version(version, watch=watch or watched) if version else None,
        match=match,
        bookmarks=flag(query, "allowWatchBookmarks"),
        initial_events=initial,
        timeout=float(_integer(query, "timeoutSeconds")) or None,
    )


def _integer(query: Query, name: str) -> int:
    text = query.get(name, "")
    if not text:
        return 0
    if not re.fullmatch(r"[+-]?\d+", text):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def resource_version(text: str, *, watch: bool = False) -> int:
    """Parse a resourceVersion in a query. Lists and watches report errors differently."""
    if text.isascii() and text.isdigit():
        return int(text)
    why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
    if watch:
        raise StatusError(500, "", why)
    raise bad_request(f"invalid resource version: {why}")


def _forbidden(text: str, field: str = "resourceVersionMatch") -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {text}", field)


def _check_watch(initial: bool | None, match: str) -> list[Cause]:
    if initial is None:
        if match:
            return [_forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")]
        return []
    causes = []
    if match != "NotOlderThan":
        causes.append(_forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
        if match:
            text = f'Unsupported value: {json.dumps(match)}: supported values: "NotOlderThan"'
            causes.append(Cause("FieldValueNotSupported", text, "resourceVersionMatch"))
    return causes


def _check_list(initial: bool | None, match: str, version: str, token: str) -> list[Cause]:
    causes = []
    if initial is not None:
        causes.append(_forbidden("sendInitialEvents is forbidden for list", "sendInitialEvents"))
    if not match:
        return causes
    if not version:
        causes.append(_forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"))
    if token:
        causes.append(_forbidden("resourceVersionMatch is forbidden when continue is provided"))
    if match not in ("Exact", "NotOlderThan"):
        text = f'Unsupported value: {json.dumps(match)}: supported values: "Exact", "NotOlderThan", ""'
        causes.append(Cause("FieldValueNotSupported", text, "resourceVersionMatch"))
    elif match == "Exact" and version == "0":
        causes.append(_forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    return causes


# Deletes


@dataclass(frozen=True, slots=True)
class DeleteRequest:
    """The options of a DELETE."""

    options: DeleteOptions
    dry_run: bool


class _Preconditions(msgspec.Struct, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class _DeleteBody(msgspec.Struct, rename="camel"):
    """The DeleteOptions of the API."""

    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    preconditions: _Preconditions | None = None
    dry_run: list[str] | None = None


def delete_request(body: Mapping[str, Any] | None, query: Query, dry_runs: Sequence[str]) -> DeleteRequest:
    """Read the options of a DELETE from its body, or from the query if it has none."""
    try:
        given = msgspec.convert(body or _delete_query(query, dry_runs), _DeleteBody)
    except msgspec.ValidationError as error:
        raise bad_request(f'DeleteOptions in version "v1" cannot be handled as a DeleteOptions: {error}') from error
    propagation, orphan = given.propagation_policy, given.orphan_dependents
    causes = []
    if propagation is not None and orphan is not None:
        shown = json.dumps(propagation)
        text = f"Invalid value: {shown}: orphanDependents and deletionPropagation cannot be both set"
        causes.append(Cause("FieldValueInvalid", text, "propagationPolicy"))
    if propagation not in (None, "Foreground", "Background", "Orphan"):
        supported = '"Foreground", "Background", "Orphan", "nil"'
        text = f"Unsupported value: {json.dumps(propagation)}: supported values: {supported}"
        causes.append(Cause("FieldValueNotSupported", text, "propagationPolicy"))
    if causes:
        raise _refused("DeleteOptions", causes)
    if orphan is not None:
        propagation = "Orphan" if orphan else "Background"
    conditions = given.preconditions or _Preconditions()
    options = DeleteOptions(
        grace_seconds=given.grace_period_seconds,
        propagation=propagation,
        uid=conditions.uid,
        resource_version=conditions.resource_version,
    )
    return DeleteRequest(options, _dry_run("DeleteOptions", given.dry_run or ()))


def _delete_query(query: Query, dry_runs: Sequence[str]) -> dict[str, Any]:
    given: dict[str, Any] = {"dryRun": list(dry_runs)}
    if "gracePeriodSeconds" in query:
        given["gracePeriodSeconds"] = _integer(query, "gracePeriodSeconds")
    if "propagationPolicy" in query:
        given["propagationPolicy"] = query["propagationPolicy"]
    if "orphanDependents" in query:
        given["orphanDependents"] = flag(query, "orphanDependents")
    return given
