"""Text as a tree of lines."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.text import Text

from uniteddeployment.cli.output.terminal import Glyphs, Lines, printable


@dataclass(slots=True)
class Node:
    """A line of a tree, and the lines below it."""

    text: str
    style: str = ""
    children: list["Node"] = field(default_factory=list)


def outline(root: Node, glyphs: Glyphs) -> Lines:
    """The lines of a tree."""
    return list(_drawn(root, glyphs))


def _drawn(node: Node, glyphs: Glyphs) -> Iterator[Text]:
    yield Text(printable(node.text), node.style)
    for index, child in enumerate(node.children):
        last = index == len(node.children) - 1
        for number, line in enumerate(_drawn(child, glyphs)):
            branch = glyphs.last if last else glyphs.branch
            stem = " " * len(glyphs.branch) if last else glyphs.stem.ljust(len(glyphs.branch))
            yield Text.assemble(f"{stem if number else branch} ", line)
