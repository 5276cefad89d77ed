"""Names of objects and namespaces, as they are given on the command line."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment_api import names


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that commands take names of."""

    name: str
    plural: str
    short: str

    @property
    def title(self) -> str:
        """The resource as kubectl prints it."""
        return f"{self.plural}.{names.GROUP}"

    @property
    def types(self) -> tuple[str, ...]:
        """All forms in which kubectl takes the type."""
        return tuple(
            f"{word}{suffix}"
            for word in (self.short, self.plural[:-1], self.plural)
            for suffix in ("", f".{names.GROUP}", f".{names.VERSION}.{names.GROUP}")
        )


APPLICATION = Kind(names.UNITED_DEPLOYMENT_KIND, names.UNITED_DEPLOYMENT_PLURAL, "ud")
ROLLOUT = Kind(names.UNITED_ROLLOUT_KIND, names.UNITED_ROLLOUT_PLURAL, "uro")
CLUSTER = Kind(names.CLUSTER_KIND, names.CLUSTER_PLURAL, "udc")
TITLE = APPLICATION.title
"""UnitedDeployments as kubectl prints them."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*", re.ASCII)
_NAME_LIMIT = 253
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


def application_name(text: str) -> str:
    """The name of a UnitedDeployment. Raises CommandError as :func:`object_name` does."""
    return object_name(text, APPLICATION)


def application_names(texts: Sequence[str]) -> tuple[str, ...]:
    """The names of UnitedDeployments, without repetitions. Raises CommandError as :func:`object_name` does."""
    return tuple(dict.fromkeys(object_name(text, APPLICATION) for text in texts))


def rollout_names(texts: Sequence[str]) -> tuple[str, ...]:
    """The names of UnitedRollouts, without repetitions. Raises CommandError as :func:`object_name` does."""
    return tuple(dict.fromkeys(object_name(text, ROLLOUT) for text in texts))


def object_name(text: str, kind: Kind) -> str:
    """The name of an object, given as ``web`` or, as kubectl prints it, as ``ud/web``.

    Raises CommandError if the text is neither.
    """
    type_, slash, name = text.rpartition("/")
    if slash and type_.lower() not in kind.types:
        raise CommandError(f"{text!r} is not a {kind.name}: write NAME, {kind.short}/NAME or {kind.title}/NAME", USAGE)
    if len(name) > _NAME_LIMIT or not _NAME.fullmatch(name):
        raise CommandError(
            f"{name!r} is not a valid name: use lowercase letters, digits, '-' and '.', "
            "and start and end with a letter or a digit",
            USAGE,
        )
    return name


def namespace_name(text: str) -> str:
    """The namespace; empty if none is given. Raises CommandError if it cannot be one."""
    if text and not _NAMESPACE.fullmatch(text):
        raise CommandError(
            f"{text!r} is not a valid namespace: use lowercase letters, digits and '-', "
            "and start and end with a letter or a digit",
            USAGE,
        )
    return text
