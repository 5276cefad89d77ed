"""Well-known users and groups, and the groups that a user name implies."""

from typing import Final

from uniteddeployment.embedded.http import Identity

AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
ANONYMOUS: Final = Identity("system:anonymous", (UNAUTHENTICATED,))
MASTERS: Final = "system:masters"
"""Members of this group may do everything, without any role."""

NODES: Final = "system:nodes"
NODE_PREFIX: Final = "system:node:"
SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
SERVICE_ACCOUNT_PREFIX: Final = "system:serviceaccount:"


def authenticated(identity: Identity) -> Identity:
    """The identity with the group ``system:authenticated``."""
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
    """The groups of every ServiceAccount of a namespace, without ``system:authenticated``."""
    return (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}")


def split_service_account(username: str) -> tuple[str, str] | None:
    """Namespace and name of the ServiceAccount of a user name; None for other users."""
    if not username.startswith(SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, _, name = username.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    return (namespace, name) if namespace and name and ":" not in name else None


def node_name(username: str) -> str:
    """The node of a user name; empty for other users."""
    return username.removeprefix(NODE_PREFIX) if username.startswith(NODE_PREFIX) else ""
