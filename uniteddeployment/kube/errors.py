"""What can go wrong between us and one API server, as types that callers tell apart.

``ApiError`` is what a server said (it answered, and the answer was no), ``Unreachable`` is what we say when there was
no answer, and ``NotLeading`` when we did not ask. No text here is ever made from a header, a body that we sent or a
credential, so that an exception may go into a log, a condition or an event as it is.
"""
# ruff: noqa: N818  # the names are the reasons that the API itself gives

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uniteddeployment.text import shortened

_MOST_CAUSES = 16
_LONGEST_MESSAGE = 1024
_LONGEST_REASON = 64


class KubeError(Exception):
    """The base of everything that a client raises about a request."""


class Unreachable(KubeError):
    """No answer: refused, unknown host, TLS, reset, or nothing within the time-out.

    ``server`` is the name that the user gave the server, ``why`` one line without secrets. ``retry_in`` is how long the
    circuit breaker stays open, when it was the breaker that answered.
    """

    def __init__(self, server: str, why: str, *, retry_in: float | None = None) -> None:
        self.server = server
        self.why = shortened(why)
        super().__init__(f"{server}: {self.why}")
        self.retry_in = retry_in


class NotLeading(KubeError):
    """A write was not sent, because another process may hold the Lease by now. Nothing was changed."""


class TooLarge(KubeError):
    """The server answered, and its answer is larger than any that is read."""

    def __init__(self, server: str, what: str, limit: int) -> None:
        super().__init__(f"{server}: the answer to {what} is larger than {limit >> 10} KiB")


class TooMany(KubeError):
    """A collection has more objects than are kept of it."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong with an object that was sent: which field, which kind of wrong, and a sentence."""

    reason: str
    message: str
    field: str


class ApiError(KubeError):
    """A server's refusal: the HTTP ``status`` and the reason, message and details of its ``Status`` object."""

    def __init__(
        self, status: int, reason: str = "", message: str = "", details: Mapping[str, Any] | None = None
    ) -> None:
        self.status = status
        self.reason = shortened(reason, _LONGEST_REASON)
        self.message = shortened(message, _LONGEST_MESSAGE) or self.reason or f"HTTP {status}"
        self.details: Mapping[str, Any] = _kept(details or {})
        super().__init__(self.message)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The fields that the server complains about; empty if it names none."""
        found = self.details.get("causes")
        if not isinstance(found, list):
            return ()
        return tuple(
            Cause(str(item.get("reason", "")), str(item.get("message", "")), str(item.get("field", "")))
            for item in found
        )

    @property
    def retry_after(self) -> float | None:
        """How long the server asks us to stay away, in seconds; ``None`` if it does not ask."""
        seconds = self.details.get("retryAfterSeconds")
        return float(seconds) if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None


def _kept(details: Mapping[str, Any]) -> dict[str, Any]:
    """The details that somebody reads, each of a length that can be shown."""
    kept: dict[str, Any] = {key: shortened(str(details[key])) for key in ("kind", "name", "group") if details.get(key)}
    seconds = details.get("retryAfterSeconds")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0:
        kept["retryAfterSeconds"] = seconds
    causes = details.get("causes")
    if isinstance(causes, list):
        fields = ("reason", "message", "field")
        kept["causes"] = [
            {field: shortened(str(cause.get(field) or "")) for field in fields}
            for cause in causes[:_MOST_CAUSES]
            if isinstance(cause, dict)
        ]
    return kept


class BadRequest(ApiError):
    """400: the server could not make sense of the request."""


class Unauthorized(ApiError):
    """401: the server does not know who we are."""


class Forbidden(ApiError):
    """403: the server knows who we are and refuses."""


class NotFound(ApiError):
    """404: no such object, or no such resource."""


class Conflict(ApiError):
    """409: the object has changed since it was read, or somebody else owns a field that we apply."""


class AlreadyExists(Conflict):
    """409 for a create: the name is taken."""


class Gone(ApiError):
    """410: the resourceVersion or the continue token is older than the server's memory."""


class Invalid(ApiError):
    """422: the object breaks a rule; ``causes`` names the fields."""


class TooManyRequests(ApiError):
    """429: the server is busy; ``retry_after`` says for how long."""


class ServerError(ApiError):
    """5xx: the server failed."""


class Malformed(ApiError):
    """The server called it a success and sent what is not the object that was asked for."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def from_status(status: int, reason: str = "", message: str = "", details: Mapping[str, Any] | None = None) -> ApiError:
    """The error for a refusal, typed by its code and reason."""
    found = _BY_STATUS.get(status)
    if found is None:
        found = ServerError if status >= 500 else ApiError
    if reason == "AlreadyExists":
        found = AlreadyExists
    elif reason == "Expired":
        found = Gone
    return found(status, reason, message, details)
