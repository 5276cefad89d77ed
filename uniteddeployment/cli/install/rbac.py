"""``ud rbac``: the roles of the controller, with the reason for each rule."""

import re
from collections.abc import Iterable

import yaml

from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.output.documents import check_output, dump_all
from uniteddeployment.cli.output.terminal import program
from uniteddeployment.controller.rights import HOST, MEMBER, OWN_NAMESPACE, Rule, impersonation
from uniteddeployment_api import names
from uniteddeployment_api.v1alpha1.meta import DNS_SUBDOMAIN_PATTERN

HEADER = "# Written by `make generate` from uniteddeployment/controller/rights.py. Do not edit.\n"
NAMESPACE = names.SYSTEM_NAMESPACE

_CORE = '""'

HOST_ROLE = names.CONTROLLER_ACCOUNT
MEMBER_ROLE = names.MEMBER_ACCOUNT


def main(where: str, impersonate: str | None, output: str) -> None:
    """Print the roles."""
    check_output(output, ("yaml", "json"))
    text = roles(where, impersonate)
    if output == "json":
        dump_all(list(yaml.safe_load_all(text)), output)
    else:
        program(text)


def roles(where: str, impersonate: str | None = None) -> str:
    """Return the roles for ``host`` or ``member`` as YAML. Raises CommandError for any other word.

    ``impersonate`` is the ServiceAccount of spec.impersonate of a Cluster.
    """
    if impersonate is not None and where != "member":
        raise CommandError("--impersonate is only for members", USAGE)
    if impersonate is not None and not re.fullmatch(DNS_SUBDOMAIN_PATTERN, impersonate):
        raise CommandError(f"--impersonate: {impersonate!r} cannot be the name of a ServiceAccount", USAGE)
    match where:
        case "host":
            documents = [_role(HOST_ROLE, HOST), _role(HOST_ROLE, OWN_NAMESPACE, NAMESPACE)]
        case "member":
            extra = (impersonation(impersonate),) if impersonate is not None else ()
            documents = [_role(MEMBER_ROLE, (*MEMBER, *extra))]
        case _:
            raise CommandError(f"name host or member, not {where!r}", USAGE)
    return HEADER + "---\n".join(documents)


def _role(name: str, rules: Iterable[Rule], namespace: str = "") -> str:
    """A ClusterRole, or a Role if a namespace is given."""
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
