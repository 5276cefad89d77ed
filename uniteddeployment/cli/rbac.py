"""``ud rbac``: the roles of the controller, as YAML with the reason of each rule."""

from collections.abc import Iterable

from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.controller.rights import HOST, MEMBER, OWN_NAMESPACE, Rule

HEADER = "# Written by `make generate` from uniteddeployment/controller/rights.py. Do not edit.\n"
NAMESPACE = "uniteddeployment-system"

_CORE = '""'

HOST_ROLE = "uniteddeployment"
MEMBER_ROLE = "uniteddeployment-member"


def main(where: str) -> str:
    """The roles of the host or of members. Raises CommandError for any other word."""
    match where:
        case "host":
            documents = [_role(HOST_ROLE, HOST), _role(HOST_ROLE, OWN_NAMESPACE, NAMESPACE)]
        case "member":
            documents = [_role(MEMBER_ROLE, MEMBER)]
        case _:
            raise CommandError(f"there are roles for host and member, not for {where!r}", USAGE)
    return HEADER + "---\n".join(documents)


def _role(name: str, rules: Iterable[Rule], namespace: str = "") -> str:
    """A ClusterRole, or a Role of a namespace."""
    lines = [
        "apiVersion: rbac.authorization.k8s.io/v1",
        f"kind: {'Role' if namespace else 'ClusterRole'}",
        "metadata:",
        f"  name: {name}",
        *([f"  namespace: {namespace}"] if namespace else []),
        "rules:",
    ]
    for rule in rules:
        lines += [
            f"  # {rule.why}",
            f"  - apiGroups: [{rule.group or _CORE}]",
            f"    resources: [{', '.join(rule.resources)}]",
            *([f"    resourceNames: [{', '.join(rule.names)}]"] if rule.names else []),
            f"    verbs: [{', '.join(rule.verbs)}]",
        ]
    return "\n".join(lines) + "\n"
