"""Who asks, and whether they may: bearer tokens, client certificates, and two kinds of users.

Contract: everybody who has a token or a certificate may do everything; who is not known may only ask whether the server
is there. Whom an administrator impersonates may find out what is served and what they may, as a user without any role.
Texts of refusals are the real server's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from uniteddeployment.embedded.errors import StatusError, qualified
from uniteddeployment.embedded.http import Identity, Request
from uniteddeployment.embedded.requests.route import Address

ANONYMOUS: Final = Identity("system:anonymous", ("system:unauthenticated",))
AUTHENTICATED: Final = "system:authenticated"
MASTERS: Final = "system:masters"

OPEN_PATHS: Final = ("/version", "/healthz", "/readyz", "/livez")
"""What everybody may get."""

DISCOVERY_PATHS: Final = ("/api", "/apis", "/openapi", *OPEN_PATHS)
"""What every known user may get."""

OWN_REVIEWS: Final = frozenset({"selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"})
"""What every known user may ask about themselves."""

IMPERSONATE_USER: Final = "impersonate-user"
IMPERSONATE_GROUP: Final = "impersonate-group"
IMPERSONATE_UID: Final = "impersonate-uid"


@dataclass(frozen=True, slots=True)
class Caller:
    """The user of a request, and whether they may do everything."""

    identity: Identity
    admin: bool = False


def with_groups(identity: Identity) -> Identity:
    """A known user is also in the group of all known users."""
    if AUTHENTICATED in identity.groups:
        return identity
    return Identity(identity.name, (*identity.groups, AUTHENTICATED), identity.uid)


def authenticate(request: Request, tokens: Mapping[str, Identity]) -> Caller:
    """Who asks. Raises StatusError (401) for a token that nobody has."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        identity = tokens.get(token.strip())
        if identity is None:
            raise StatusError(401, "Unauthorized", "Unauthorized")
        caller = Caller(with_groups(identity), admin=True)
    elif request.peer is not None:
        caller = Caller(with_groups(request.peer), admin=True)
    else:
        caller = Caller(ANONYMOUS)
    user = request.headers.get(IMPERSONATE_USER)
    return caller if user is None else _impersonated(caller, user, request.headers)


def _impersonated(caller: Caller, user: str, headers: Mapping[str, str]) -> Caller:
    """Whom an administrator wants to be taken for: somebody who may do little, unless they are in the right group."""
    if not caller.admin:
        raise _forbidden(caller.identity, Address("", "v1", "users", "", user), "impersonate")
    groups = tuple(group.strip() for group in headers.get(IMPERSONATE_GROUP, "").split(",") if group.strip())
    identity = with_groups(Identity(user, groups, headers.get(IMPERSONATE_UID, "")))
    return Caller(identity, admin=is_admin(identity))


def is_admin(identity: Identity) -> bool:
    """Whether a user of whom only the names are known may do everything."""
    return MASTERS in identity.groups


def authorize(caller: Caller, request: Request, address: Address | None, *, watch: bool) -> None:
    """Raises StatusError (403) for what a user may not do."""
    if caller.admin:
        return
    identity, path, known = caller.identity, request.path, AUTHENTICATED in caller.identity.groups
    if address is None:
        allowed = DISCOVERY_PATHS if known else OPEN_PATHS
        if any(path == each or path.startswith(f"{each}/") for each in allowed):
            return
        text = f'forbidden: User "{identity.name}" cannot {request.method.lower()} path "{path}"'
        raise StatusError(403, "Forbidden", text, details={})
    if not (known and request.method == "POST" and address.plural in OWN_REVIEWS):
        raise _forbidden(identity, address, address.verb(request.method, watch=watch))


def _forbidden(identity: Identity, address: Address, verb: str) -> StatusError:
    asked = f"{address.plural}/{address.subresource}" if address.subresource else address.plural
    # A namespace is taken to be inside itself.
    namespace = address.name if address.plural == "namespaces" else address.namespace
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    subject = qualified(address.plural, address.group)
    if address.name:
        subject += f' "{address.name}"'
    details = {"name": address.name} if address.name else {}
    if address.group:
        details["group"] = address.group
    details["kind"] = address.plural
    return StatusError(
        403,
        "Forbidden",
        f'{subject} is forbidden: User "{identity.name}" cannot {verb} resource "{asked}" in API group '
        f'"{address.group}" {where}',
        details=details,
    )
