"""Typed errors of requests to one API server.

``ApiError`` is a refusal by the server, ``Unreachable`` means that there was no answer, and ``NotLeading`` and
``NotIdentified`` that the request was not sent. No message contains a header, the body of a request or a credential, so
a log line, a condition or an Event may quote it as it is.
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
    """Base class of the errors of a client."""


class Unreachable(KubeError):
    """No answer: connection refused or reset, unknown host, TLS error, or time-out.

    ``server`` is the user's name for the server, and ``why`` is one line without secrets. ``retry_in`` is how many
    seconds the circuit breaker stays open, if it was the breaker that refused the request.
    """

    def __init__(self, server: str, why: str, *, retry_in: float | None = None) -> None:
        self.server = server
        self.why = shortened(why)
        super().__init__(f"{server}: {self.why}")
        self.retry_in = retry_in


class NotLeading(KubeError):
    """A write was not sent, because another process may hold the Lease. Nothing was changed."""


class NotIdentified(KubeError):
    """A write was not sent, because its connection is new: another server than before may be behind it."""


class TooLarge(KubeError):
    """The answer of the server is larger than the limit."""

    def __init__(self, server: str, what: str, limit: int) -> None:
        super().__init__(f"{server}: the answer to {what} is larger than {limit >> 10} KiB")


class TooMany(KubeError):
    """A collection has more objects than a cache may hold."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One error in an object that was sent: the field, the reason code and a sentence."""

    reason: str
    message: str
    field: str


class ApiError(KubeError):
    """A refusal by the server: the HTTP ``status``, and the reason, message and details of its ``Status`` object."""

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
        """The errors by field; empty if the server names none."""
        causes = self.details.get("causes")
        if not isinstance(causes, list):
            return ()
        return tuple(
            Cause(str(item.get("reason", "")), str(item.get("message", "")), str(item.get("field", "")))
            for item in causes
        )

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the server asks to retry; ``None`` if it does not say."""
        seconds = self.details.get("retryAfterSeconds")
        return float(seconds) if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None


def _kept(details: Mapping[str, Any]) -> dict[str, Any]:
    """The details that are used, each cut to a length that can be shown."""
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
    """400: the server does not understand the request."""


class Unauthorized(ApiError):
    """401: the server does not accept the credentials."""


class Forbidden(ApiError):
    """403: the server refuses the request to this user."""


class NotFound(ApiError):
    """404: no such object, or no such resource."""


class Conflict(ApiError):
    """409: the object has changed since it was read, or another field manager owns an applied field."""


class AlreadyExists(Conflict):
    """409 for a create: the name is taken."""


class Gone(ApiError):
    """410: the resource version or the continue token has expired."""


class Invalid(ApiError):
    """422: the object is not valid; ``causes`` names the fields."""


class TooManyRequests(ApiError):
    """429: the server is busy; ``retry_after`` says for how long."""


class ServerError(ApiError):
    """5xx: the server failed."""


class Malformed(ApiError):
    """The server reported success, and its answer is not the requested object."""


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
    type_ = _BY_STATUS.get(status)
    if type_ is None:
        type_ = ServerError if status >= 500 else ApiError
    if reason == "AlreadyExists":
        type_ = AlreadyExists
    elif reason == "Expired":
        type_ = Gone
    return type_(status, reason, message, details)
