"""The requests of a probe, and the trouble that an error means."""

import re
from collections.abc import Callable
from typing import Annotated

import msgspec

from uniteddeployment.fleet.health import NOT_HEALTHY, NOT_READABLE, UNAUTHORIZED, UNREACHABLE, Trouble
from uniteddeployment.fleet.identity import MissingRightError, RefusedError, UnidentifiedError, cluster_uid
from uniteddeployment.fleet.status import Facts
from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.decoding import DecodingError, decode
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.resource import NODES
from uniteddeployment.kube.transport import Answer
from uniteddeployment.text import shortened

PROBE_SECONDS = 5.0
"""The time-out of a probe in seconds."""
LONGEST_VERSION = 64
"""Characters that are kept of the version of an API server."""
MOST_NODES = 1_000_000
MOST_CHECKS = 8
"""How many failing checks of an API server are named."""

_VERSION = Request("GET", "/version", verb="probe", resource="version")
_COUNT = Request("GET", NODES.path(), (("limit", "1"),), verb="probe", resource=NODES.plural)
_CHECKS = Request("GET", "/readyz", (("verbose", ""),), verb="probe", resource="readyz")
_FAILED_CHECK = re.compile(r"^\[-\]([\w./-]{1,64})", re.MULTILINE)


class ReplacedError(UnidentifiedError):
    """Another cluster answers."""


class _Version(msgspec.Struct, rename="camel", frozen=True):
    git_version: str = ""


class _Count(msgspec.Struct, rename="camel", frozen=True):
    remaining_item_count: Annotated[int, msgspec.Meta(ge=0, le=MOST_NODES)] = 0


class _NodeList(msgspec.Struct, frozen=True):
    metadata: _Count = _Count()
    items: list[msgspec.Raw] = []


async def identify(client: Client, uid: str, answered: Callable[[Answer], None]) -> None:
    """Raise ReplacedError if another cluster than that with this uid answers, and KubeError if none answers.

    ``answered`` is called with its answer.
    """
    last: Answer | None = None

    def note(answer: Answer) -> None:
        nonlocal last
        last = answer
        answered(answer)

    try:
        answering = await cluster_uid(client, timeout=PROBE_SECONDS, answered=note)
    except MissingRightError:
        answering = uid  # it accepts the credentials, and it was identified when it was connected
    if uid and answering != uid:
        raise ReplacedError("another cluster answers at its address")
    if last is not None:
        last.identified()


async def facts(client: Client) -> Facts:
    """Read the version, and the number of nodes if the credentials have the right to list them. Raises KubeError."""
    answer = await client.probe(_VERSION, timeout=PROBE_SECONDS)
    version = shortened(decode(answer.body, _Version).git_version, LONGEST_VERSION)
    try:
        listed = await client.probe(_COUNT, timeout=PROBE_SECONDS)
    except errors.Forbidden:
        return Facts(version)
    nodes = decode(listed.body, _NodeList)
    return Facts(version, len(nodes.items) + nodes.metadata.remaining_item_count)


async def failing_checks(client: Client) -> str:
    """Ask a server that fails which of its checks fail; empty if it does not say."""
    try:
        answer = await client.send_probe(_CHECKS, timeout=PROBE_SECONDS)
    except errors.KubeError:
        return ""
    names = _FAILED_CHECK.findall(answer.body[:65536].decode("utf-8", "replace"))
    more = f" and {len(names) - MOST_CHECKS} more" if len(names) > MOST_CHECKS else ""
    return f"{', '.join(names[:MOST_CHECKS])}{more}"


def trouble_of(error: Exception) -> Trouble:
    """Return the trouble that an error of a probe or of a watch means."""
    match error:
        case errors.Unreachable():
            return Trouble(UNREACHABLE, error.why)
        case RefusedError() | MissingRightError():
            return Trouble(UNAUTHORIZED, str(error))
        case UnidentifiedError():
            return Trouble(NOT_READABLE, str(error))
        case errors.Unauthorized() | errors.Forbidden():
            return Trouble(UNAUTHORIZED, _refusal(error))
        case errors.ServerError() | errors.TooManyRequests():
            return Trouble(NOT_HEALTHY, _refusal(error))
        case errors.ApiError():
            return Trouble(NOT_READABLE, _refusal(error))
        case errors.KubeError() | DecodingError():
            return Trouble(NOT_READABLE, f"it does not answer like a Kubernetes API server: {error}")
        case _:
            return Trouble(NOT_READABLE, type(error).__name__)


def _refusal(error: errors.ApiError) -> str:
    """An answer that is an error. A proxy gives no reason."""
    return f"it answers {error.status} {error.reason}".rstrip()
