"""Which cluster, which namespace and which applications a command is about."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.kube import kubeconfig as kubeconfigs
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.transport import AiohttpTransport
from uniteddeployment_api import names

_TYPES = tuple(
    f"{word}{suffix}"
    for word in ("ud", names.UNITED_DEPLOYMENT_PLURAL[:-1], names.UNITED_DEPLOYMENT_PLURAL)
    for suffix in ("", f".{names.GROUP}", f".{names.VERSION}.{names.GROUP}")
)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*", re.ASCII)
_NAME_LIMIT = 253
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Where:
    """Which cluster, and which namespace of it (None for all)."""

    kubeconfig: Path | None
    context: str | None
    namespace: str | None


def located(kubeconfig: Path | None, context: str | None, namespace: str) -> Where:
    """One namespace: the one that is named, or that of the kubeconfig's context, as kubectl has it."""
    found = checked_namespace(namespace) or kubeconfigs.namespace(kubeconfig, context)
    return Where(kubeconfig, context, found)


def everywhere(kubeconfig: Path | None, context: str | None, namespace: str) -> Where:
    """All namespaces; as in kubectl, that goes before a namespace that is named."""
    checked_namespace(namespace)
    return Where(kubeconfig, context, None)


@asynccontextmanager
async def connected(where: Where) -> AsyncIterator[Client]:
    """A client for the cluster that the options name."""
    connection = kubeconfigs.load(where.kubeconfig, where.context)
    client = Client(AiohttpTransport(connection), connection.name)
    try:
        yield client
    finally:
        await client.close()


async def check(client: Client) -> None:
    """Raises StartError, with the way out, when the cluster does not have our kinds.

    It is the controller's own check. Imported late: it brings the whole controller, and few need it.
    """
    from uniteddeployment.controller import run  # noqa: PLC0415

    await run.check(client)


def application(text: str) -> str:
    """The name of a UnitedDeployment, given as ``web`` or, as kubectl prints and takes it, as ``ud/web``.

    Raises CommandError for everything else.
    """
    kind, slash, name = text.rpartition("/")
    if slash and kind.lower() not in _TYPES:
        raise CommandError(
            f"{text!r} does not name a {names.UNITED_DEPLOYMENT_KIND}: write NAME, ud/NAME or "
            f"{names.UNITED_DEPLOYMENT_PLURAL}.{names.GROUP}/NAME",
            USAGE,
        )
    if len(name) > _NAME_LIMIT or not _NAME.fullmatch(name):
        raise CommandError(
            f"{name!r} cannot be the name of a {names.UNITED_DEPLOYMENT_KIND}: names have small letters, digits, "
            "'-' and '.' only",
            USAGE,
        )
    return name


def applications(texts: Sequence[str]) -> tuple[str, ...]:
    """Several of them, each once. Raises CommandError."""
    return tuple(dict.fromkeys(application(text) for text in texts))


def checked_namespace(text: str) -> str:
    """Raises CommandError for what cannot be a namespace."""
    if text and not _NAMESPACE.fullmatch(text):
        raise CommandError(f"{text!r} cannot be a namespace: they have small letters, digits and '-' only", USAGE)
    return text
