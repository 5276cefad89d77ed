"""Names of applications and namespaces, as they are given on the command line."""

import re
from collections.abc import Sequence

from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment_api import names

_TYPES = tuple(
    f"{word}{suffix}"
    for word in ("ud", names.UNITED_DEPLOYMENT_PLURAL[:-1], names.UNITED_DEPLOYMENT_PLURAL)
    for suffix in ("", f".{names.GROUP}", f".{names.VERSION}.{names.GROUP}")
)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*", re.ASCII)
_NAME_LIMIT = 253
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
TITLE = f"{names.UNITED_DEPLOYMENT_PLURAL}.{names.GROUP}"
"""The resource as kubectl prints it."""


def application_name(text: str) -> str:
    """The name of a UnitedDeployment, given as ``web`` or, as kubectl prints it, as ``ud/web``.

    Raises CommandError if the text is neither.
    """
    kind, slash, name = text.rpartition("/")
    if slash and kind.lower() not in _TYPES:
        raise CommandError(
            f"{text!r} is not a {names.UNITED_DEPLOYMENT_KIND}: write NAME, ud/NAME or {TITLE}/NAME", USAGE
        )
    if len(name) > _NAME_LIMIT or not _NAME.fullmatch(name):
        raise CommandError(
            f"{name!r} is not a valid name: use lowercase letters, digits, '-' and '.', "
            "and start and end with a letter or a digit",
            USAGE,
        )
    return name


def application_names(texts: Sequence[str]) -> tuple[str, ...]:
    """Several names, without repetitions. Raises CommandError as :func:`application_name` does."""
    return tuple(dict.fromkeys(application_name(text) for text in texts))


def namespace_name(text: str) -> str:
    """The namespace; empty if none is given. Raises CommandError if it cannot be one."""
    if text and not _NAMESPACE.fullmatch(text):
        raise CommandError(
            f"{text!r} is not a valid namespace: use lowercase letters, digits and '-', "
            "and start and end with a letter or a digit",
            USAGE,
        )
    return text
