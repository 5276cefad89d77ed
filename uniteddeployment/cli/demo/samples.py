"""Sample manifests, from the installed package or from a source tree."""

from pathlib import Path

from uniteddeployment.cli.errors import CommandError

_FOLDERS = (Path(__file__).parent / "data", Path(__file__).parents[3] / "config" / "samples")


def read(name: str) -> str:
    """The text of a sample. Raises CommandError if the installation does not contain it."""
    for folder in _FOLDERS:
        if (folder / name).is_file():
            return (folder / name).read_text()
    raise CommandError(f"the sample {name} is not part of this installation")
