"""Who asks, and whether they may: bearer tokens, client certificates, and two kinds of users.

Contract: everybody who is known may do everything; who is not known may only ask whether the server is there. Texts of
refusals are the real server's.
"""

from collections.abc import Mapping
from typing import Final

from uniteddeployment.embedded.errors import StatusError, qualified
from uniteddeployment.embedded.http import Identity, Request
from uniteddeployment.embedded.requests.route import Address

ANONYMOUS: Final = Identity("system:anonymous", ("system:unauthenticated",))
AUTHENTICATED: Final = "system:authenticated"
MASTERS: Final = "system:masters"

OPEN_PATHS: Final = ("/version", "/healthz", "/readyz", "/livez")


def with_groups(identity: Identity) -> Identity:
    """A known user is also in the group of all known users."""
    if AUTHENTICATED in identity.groups:
        return identity
    return Identity(identity.name, (*identity.groups, AUTHENTICATED), identity.uid)


def authenticate(request: Request, tokens: Mapping[str, Identity]) -> Identity:
    """The user of a request. Raises StatusError (401) for a token that nobody has."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        identity = tokens.get(token.strip())
        if identity is None:
            raise StatusError(401, "Unauthorized", "Unauthorized")
        return with_groups(identity)
    return with_groups(request.peer) if request.peer is not None else ANONYMOUS


def is_admin(identity: Identity) -> bool:
    """Whether a user may do everything."""
    return AUTHENTICATED in identity.groups or MASTERS in identity.groups


def authorize(identity: Identity, request: Request, address: Address | None, *, watch: bool) -> None:
    """Raises StatusError (403) for what a user may not do."""
    if is_admin(identity):
        return
    path = request.path
    if address is None:
        if any(path == allowed or path.startswith(f"{allowed}/") for allowed in OPEN_PATHS):
            return
        text = f'forbidden: User "{identity.name}" cannot {request.method.lower()} path "{path}"'
        raise StatusError(403, "Forbidden", text, details={})
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
