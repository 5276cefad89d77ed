"""The commands in the documentation."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@dataclass(frozen=True)
class Block:
    """The commands of one ``sh`` block, and the heading above it."""

    document: Path
    section: str
    line: int
    commands: tuple[str, ...]


def blocks(document: Path) -> list[Block]:
    """Return all ``sh`` blocks of a document, without comments, and with continued lines joined."""
    result = []
    text = document.read_text()
    for match in re.finditer(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        joined = match[1].replace("\\\n", " ")
        commands = [re.sub(r"(^|\s+)#.*$", "", line).rstrip() for line in joined.splitlines()]
        line = text.count("\n", 0, match.start()) + 1
        headings = re.findall(r"^#+ (.*)$", text[: match.start()], re.MULTILINE)
        section = headings[-1] if headings else ""
        result.append(Block(document, section, line, tuple(command for command in commands if command)))
    return result


def scripts(document: str, section: str) -> list[str]:
    """Return the blocks of one section, each as a script."""
    result = ["\n".join(block.commands) for block in blocks(ROOT / "docs" / document) if block.section == section]
    assert result, f"{document} has no commands under {section!r}"
    return result
