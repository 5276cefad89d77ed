"""Users and groups: the well-known names, and which groups a user is in."""

from typing import Final

from uniteddeployment.embedded.http import Identity

AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
ANONYMOUS: Final = Identity("system:anonymous", (UNAUTHENTICATED,))
MASTERS: Final = "system:masters"
"""Members of this group may do everything; no role is looked at."""

NODES: Final = "system:nodes"
NODE_PREFIX: Final = "system:node:"
SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
SERVICE_ACCOUNT_PREFIX: Final = "system:serviceaccount:"


def authenticated(identity: Identity) -> Identity:
    """The identity as a member of ``system:authenticated``, which every authenticated user is."""
    if AUTHENTICATED in identity.groups:
        return identity
    return Identity(identity.name, (*identity.groups, AUTHENTICATED), identity.uid, identity.extra)


def is_master(identity: Identity) -> bool:
    """Whether the user may do everything."""
    return MASTERS in identity.groups


def service_account_name(namespace: str, name: str) -> str:
    """The user name of a ServiceAccount."""
    return f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, ...]:
    """The groups of every ServiceAccount of a namespace, ``system:authenticated`` left out."""
    return (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}")


def split_service_account(username: str) -> tuple[str, str] | None:
    """Namespace and name of the ServiceAccount that a user name stands for; None if it is another user."""
    if not username.startswith(SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, _, name = username.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    return (namespace, name) if namespace and name and ":" not in name else None


def node_name(username: str) -> str:
    """The name of the node that a user name stands for; empty if it is another user."""
    return username.removeprefix(NODE_PREFIX) if username.startswith(NODE_PREFIX) else ""
