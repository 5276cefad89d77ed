"""The account of the controller in a member, its token, and the mark of the host that a member is registered with."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Malformed
from uniteddeployment.kube.meta import rfc3339
from uniteddeployment.kube.resource import SERVICEACCOUNTS
from uniteddeployment.text import shortened
from uniteddeployment_api import names

TOKEN_SECONDS = 365 * 24 * 3600
"""The lifetime that is requested for a token: a year. Servers shorten it to the longest that they allow."""
_LONGEST = 253


@dataclass(frozen=True, slots=True)
class Mark:
    """The annotations on the system namespace of a member that say which host the member is registered with."""

    host: str
    """The address of the host when the member was registered."""
    host_uid: str
    cluster: str
    """The Cluster as ``namespace/name``."""
    created: bool = False
    """Whether the registration created the namespace."""

    def annotations(self) -> dict[str, str]:
        """The annotations of a namespace with this mark."""
        return {
            names.ANNOTATION_HOST: self.host,
            names.ANNOTATION_HOST_UID: self.host_uid,
            names.ANNOTATION_CLUSTER: self.cluster,
            **({names.ANNOTATION_CREATED: "true"} if self.created else {}),
        }


NO_MARK: Mapping[str, None] = dict.fromkeys(
    (names.ANNOTATION_HOST, names.ANNOTATION_HOST_UID, names.ANNOTATION_CLUSTER, names.ANNOTATION_CREATED)
)
"""The annotations of a merge patch that removes a mark."""


def read_mark(annotations: Mapping[str, str] | None) -> Mark | None:
    """The mark on a namespace; None if there is none."""
    found = annotations or {}
    uid = found.get(names.ANNOTATION_HOST_UID)
    if not uid:
        return None
    host, cluster = found.get(names.ANNOTATION_HOST, ""), found.get(names.ANNOTATION_CLUSTER, "")
    created = found.get(names.ANNOTATION_CREATED) == "true"
    return Mark(shortened(host, _LONGEST), shortened(uid, _LONGEST), shortened(cluster, _LONGEST), created)


class _Issued(Struct, rename="camel", frozen=True):
    token: str
    expiration_timestamp: str = ""


class _TokenRequest(Struct, frozen=True):
    status: _Issued


@dataclass(frozen=True, slots=True)
class Token:
    """A token that was just issued."""

    value: str
    expires: datetime
    """By the clock of the member."""

    def __repr__(self) -> str:
        return f"Token(expires={self.expires})"


async def issue_token(client: Client) -> Token:
    """Request a token for the account of the controller in a member. Raises KubeError."""
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": TOKEN_SECONDS},
    }
    answer = await client.create(
        SERVICEACCOUNTS,
        body,
        _TokenRequest,
        namespace=names.SYSTEM_NAMESPACE,
        name=names.MEMBER_ACCOUNT,
        subresource="token",
    )
    lifetime = read_lifetime(answer.status.token)
    expires = lifetime.expires if lifetime else parsed_time(answer.status.expiration_timestamp)
    if expires is None:
        raise Malformed(201, "Malformed", "the answer to the request for a token has no time of expiry")
    return Token(answer.status.token, expires)


@dataclass(frozen=True, slots=True)
class Lifetime:
    """When a token was issued and when it expires, by the clock of the member."""

    issued: datetime
    expires: datetime

    @property
    def seconds(self) -> float:
        return (self.expires - self.issued).total_seconds()


def read_lifetime(token: str) -> Lifetime | None:
    """The lifetime of a token, from its claims, which are not verified here; None if it does not expire.

    >>> read_lifetime("not a JSON web token") is None
    True
    """
    try:
        body = token.split(".")[1]
        claims: Any = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        issued, expires = float(claims["iat"]), float(claims["exp"])
        return Lifetime(datetime.fromtimestamp(issued, UTC), datetime.fromtimestamp(expires, UTC))
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, OSError, RecursionError):
        return None


def parsed_time(text: str | None) -> datetime | None:
    """A time in the format of Kubernetes; None if there is none, or if it cannot be read."""
    try:
        time = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return time if time.tzinfo is not None else None


def token_data(token: str, issued: datetime) -> dict[str, Any]:
    """The part of a Secret that a new token changes. ``issued`` is by the clock of this process."""
    return {
        "metadata": {"annotations": {names.ANNOTATION_TOKEN_ISSUED: rfc3339(issued)}},
        "data": {"token": base64.b64encode(token.encode()).decode()},
    }
