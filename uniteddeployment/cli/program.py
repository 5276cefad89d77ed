"""The program ``ud``. A command imports what it needs when it is called, so that ``ud --help`` answers at once."""

import io
import signal
import sys
from typing import Annotated

import typer

from uniteddeployment.cli import completion
from uniteddeployment.cli.adopt.command import adopt
from uniteddeployment.cli.clusters.command import app as clusters
from uniteddeployment.cli.controller.command import app as controller
from uniteddeployment.cli.convert.command import convert
from uniteddeployment.cli.demo.command import demo, embedded, playground
from uniteddeployment.cli.errors import EXIT_CODES, reports_errors
from uniteddeployment.cli.get.command import get
from uniteddeployment.cli.history.command import history, undo
from uniteddeployment.cli.install.command import crds, rbac
from uniteddeployment.cli.plan.command import plan
from uniteddeployment.cli.rollout.command import app as rollout
from uniteddeployment.cli.wait.command import wait

app = typer.Typer(
    name="ud",
    epilog=f"Exit codes: {'; '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def ud(
    version: Annotated[
        bool, typer.Option("--version", callback=completion.version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run one application on many Kubernetes clusters, and roll out new versions subset by subset.

    'ud COMMAND -h' shows the options of a command, with examples.

    \b
    Examples:
      ud demo                         # watch a canary rollout, without any cluster of your own
      ud get                          # the applications of the namespace
      ud plan -f web.yaml             # preview what the controller would do
    """


for command in (get, wait, plan, history, undo, adopt, convert, demo, playground, embedded, crds, rbac):
    app.command()(command)
app.add_typer(clusters, name="clusters")
app.add_typer(controller, name="controller")
app.add_typer(rollout, name="rollout")


@app.command("completion")
@reports_errors
def completion_script(
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish", help="The shell.", autocompletion=completion.shells)],
) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      source <(ud completion bash)
      ud completion fish > ~/.config/fish/completions/ud.fish
    """
    completion.script(app, shell)


def run() -> None:
    """Run the command that the arguments of this process name."""
    # Whatever ends a command lets it clean up, as Ctrl-C does: a registration must not stay half-done.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 must not fail
    completion.run(app)


def complete_for_kubectl() -> None:
    """Complete the words that kubectl gives after ``kubectl ud``."""
    completion.answer(app, ["ud", *sys.argv[1:]])
