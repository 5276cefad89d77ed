"""Names, labels and namespaces that are given on the command line. Pure."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from uniteddeployment.cli.arguments import CLUSTER, object_name
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment_api.v1alpha1.meta import DNS_SUBDOMAIN_PATTERN

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII
)
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", re.ASCII)


def new_name(text: str) -> str:
    """The name of a new Cluster: a DNS label, so that it can be the name of a subset. Raises CommandError."""
    name = object_name(text, CLUSTER)
    if not _NAME.fullmatch(name):
        raise CommandError(
            f"{name!r} is not a valid name of a new Cluster: use at most 63 lowercase letters, digits and '-', and "
            "start and end with a letter or a digit",
            USAGE,
        )
    return name


def labels(texts: Sequence[str], option: str) -> dict[str, str]:
    """The labels of ``--labels a=b,c=d``, which can be given several times. Raises CommandError."""
    found: dict[str, str] = {}
    for pair in (pair for text in texts for pair in text.split(",") if pair):
        key, equals, value = pair.partition("=")
        if not equals or not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value):
            raise CommandError(f"{option}: {pair!r} is not a label: write KEY=VALUE,...", USAGE)
        if found.setdefault(key, value) != value:
            raise CommandError(f"{option}: the label {key} has two values", USAGE)
    return found


def allowed_namespaces(text: str) -> dict[str, Any] | None:
    """``spec.allowedNamespaces`` for ``same``, ``all`` or ``selector=KEY=VALUE,...``; None for an empty text.

    >>> allowed_namespaces("selector=team=shop")
    {'from': 'Selector', 'selector': {'matchLabels': {'team': 'shop'}}}
    """
    if not text:
        return None
    word, equals, rest = text.partition("=")
    if word == "selector" and equals:
        selected = labels([rest], "--allow-namespaces")
        if not selected:
            raise CommandError("--allow-namespaces: selector= needs labels: use 'all' to allow every namespace", USAGE)
        return {"from": "Selector", "selector": {"matchLabels": selected}}
    if text in ("same", "all"):
        return {"from": text.capitalize(), "selector": None}
    raise CommandError(f"--allow-namespaces must be same, all or selector=KEY=VALUE,..., not {text!r}", USAGE)


def account(text: str) -> tuple[str, str]:
    """The namespace and the name of a ServiceAccount, given as ``NAMESPACE/NAME``. Raises CommandError."""
    namespace, _, name = text.partition("/")
    if not _NAME.fullmatch(namespace) or not re.fullmatch(DNS_SUBDOMAIN_PATTERN, name, re.ASCII):
        raise CommandError(f"--controller-account must be NAMESPACE/NAME, not {text!r}", USAGE)
    return namespace, name


def nearest(name: str, known: Sequence[str]) -> str:
    """A hint with the most similar names; with all names if there are few; empty if there are none.

    >>> nearest("member1", ["member-1", "other"])
    '; did you mean member-1?'
    """
    close = get_close_matches(name, known, n=3)
    if close:
        return f"; did you mean {' or '.join(close)}?"
    return f"; there is {', '.join(sorted(known))}" if 0 < len(known) <= 3 else ""
