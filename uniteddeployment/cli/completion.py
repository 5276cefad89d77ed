"""Shell completion, and ``--version``. Both must be fast, so clients for clusters are imported only to complete names.

typer does the work: ``_UD_COMPLETE=complete_bash ud`` prints the candidates. Its options that change the user's shell
files are removed in favour of ``ud completion``.
"""

import asyncio
import contextlib
import http.client
import io
import json
import os
from collections.abc import Sequence
from importlib import metadata
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import typer

from uniteddeployment.cli.errors import USAGE, CommandError

SHELLS = ("bash", "zsh", "fish")
SECONDS = 2.0
"""Time limit for names. If the cluster does not answer in time, there are no candidates."""
PATH = "/apis/uniteddeployment.io/v1alpha1"
"""Path of our API. The package that defines it imports pydantic, which takes longer than a completion."""
_LIMIT = 500
_VARIABLE = "_UD_COMPLETE"
_NO_FILES = ":4"
"""Tells kubectl not to complete file names."""


def version(asked: bool) -> None:
    """Show the version if it was requested."""
    if asked:
        typer.echo(f"ud {metadata.version('uniteddeployment')}")
        raise typer.Exit


def run(app: typer.Typer) -> None:
    """Run a command, or complete one."""
    command = typer.main.get_command(app)
    command.params = [
        parameter for parameter in command.params if parameter.name not in ("install_completion", "show_completion")
    ]
    command(prog_name="ud", complete_var=_VARIABLE)


def answer(app: typer.Typer, words: Sequence[str]) -> None:
    """Print the candidates for a command line as kubectl expects them; the last word may be incomplete."""
    os.environ |= {_VARIABLE: "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    with contextlib.suppress(SystemExit):
        run(app)
    typer.echo(_NO_FILES)


def script(app: typer.Typer, shell: str) -> None:
    """Print the completion script of a shell. Raises CommandError for an unknown shell."""
    if shell not in SHELLS:
        raise CommandError(f"name {', '.join(SHELLS[:-1])} or {SHELLS[-1]}, not {shell!r}", USAGE)
    os.environ[_VARIABLE] = f"source_{shell}"
    run(app)


def shells(incomplete: str) -> list[str]:
    return [shell for shell in SHELLS if shell.startswith(incomplete)]


def applications(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of UnitedDeployments that start with this text. None if the cluster does not answer quickly."""
    return _names(ctx, incomplete, "uniteddeployments")


def clusters(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of Clusters that start with this text."""
    return _names(ctx, incomplete, "clusters")


def rollouts(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of UnitedRollouts that start with this text."""
    return _names(ctx, incomplete, "unitedrollouts")


def runs(ctx: typer.Context, incomplete: str) -> list[str]:
    """The present run of the rollouts that are named on the command line."""
    return _of_status(ctx, incomplete, "runID")


def steps(ctx: typer.Context, incomplete: str) -> list[str]:
    """The present step of the rollouts that are named on the command line."""
    return _of_status(ctx, incomplete, "step")


def _names(ctx: typer.Context, incomplete: str, plural: str) -> list[str]:
    kind, slash, start = incomplete.rpartition("/")
    taken = _given(ctx)
    # Only candidates may be printed here, whatever goes wrong.
    with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
        query = urlencode({"limit": _LIMIT, "resourceVersion": "0"})
        items = _ask(ctx.params, f"{plural}?{query}", ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")["items"]
        names = sorted(item["metadata"]["name"] for item in items)
        return [f"{kind}{slash}{name}" for name in names if name.startswith(start) and name not in taken]
    return []


def _of_status(ctx: typer.Context, incomplete: str, field: str) -> list[str]:
    candidates = []
    with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
        for text in _given(ctx):
            name = quote(text.rpartition("/")[2], safe="")
            value = _ask(ctx.params, f"unitedrollouts/{name}")["status"].get(field)
            candidates += [str(value)] if value and str(value).startswith(incomplete) else []
    return candidates


def _given(ctx: typer.Context) -> tuple[str, ...]:
    """The names that are on the command line already. While an option lacks its value, they are unparsed arguments."""
    given = ctx.params.get("name") or ctx.args
    return (given,) if isinstance(given, str) else tuple(given)


def _ask(options: dict[str, object], path: str, form: str = "") -> Any:
    """Get something of our API in the namespace that the options name."""
    from uniteddeployment.kube import kubeconfig as kubeconfigs  # noqa: PLC0415

    kubeconfig, context = options.get("kubeconfig"), options.get("context")
    file, chosen = str(kubeconfig) if kubeconfig else None, str(context) if context else None
    connection = kubeconfigs.load(file, chosen)
    namespace = str(options.get("namespace") or kubeconfigs.namespace(file, chosen))
    headers = {"accept": f"application/json{form}"}
    if connection.tokens is not None:
        headers["authorization"] = f"Bearer {asyncio.run(connection.tokens.token())}"
    server, tls = urlsplit(connection.server), connection.tls_context()
    host = server.hostname or ""
    client = http.client.HTTPConnection(host, server.port, timeout=SECONDS)
    if tls is not None:
        client = http.client.HTTPSConnection(host, server.port, timeout=SECONDS, context=tls)
    with contextlib.closing(client):
        client.request(
            "GET", f"{server.path.rstrip('/')}{PATH}/namespaces/{quote(namespace, safe='')}/{path}", headers=headers
        )
        return json.loads(client.getresponse().read())
