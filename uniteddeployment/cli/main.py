"""The entry points. They import the program where Ctrl-C is caught, since its imports take a part of a second."""

import sys

_INTERRUPTED = 130
"""As in :mod:`uniteddeployment.cli.errors`, whose imports can be interrupted, too."""


def main() -> None:
    """The entry point of ``ud`` and ``kubectl ud``."""
    try:
        from uniteddeployment.cli import program  # noqa: PLC0415

        program.run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def complete_for_kubectl() -> None:
    """The entry point ``kubectl_complete-ud``: kubectl calls it with the words after ``kubectl ud``."""
    try:
        from uniteddeployment.cli import program  # noqa: PLC0415

        program.complete_for_kubectl()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
