"""The Pod Security labels of namespaces in members follow those of the namespaces on the host (I15). Pure.

Without them, an application whose pods the host would reject could run such pods in a member.
"""

from collections.abc import Mapping

from uniteddeployment_api import names

PREFIX = "pod-security.kubernetes.io/"


def of_new_namespace(host: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a namespace that is created in a member. ``host`` are those of the namespace on the host."""
    return {names.LABEL_MANAGED_BY: names.MANAGER, **_pod_security(host)}


def to_apply(host: Mapping[str, str], member: Mapping[str, str], owned: frozenset[str]) -> dict[str, str] | None:
    """Return the labels to apply to a namespace in a member; None if they are applied already.

    ``owned`` are the keys of the labels that the controller applied. A label that somebody else has set in the member
    to another value is left out, so that it is not weakened.
    """
    wanted = {
        key: value for key, value in _pod_security(host).items() if key in owned or member.get(key, value) == value
    }
    applied = {key: value for key, value in _pod_security(member).items() if key in owned}
    if wanted == applied:
        return None
    return {names.LABEL_MANAGED_BY: names.MANAGER, **wanted}


def _pod_security(labels: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in sorted(labels.items()) if key.startswith(PREFIX)}
