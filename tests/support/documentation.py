"""The commands of the documentation."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@dataclass(frozen=True)
class Block:
    """The commands of one ``sh`` block, and the heading that it is under."""

    document: Path
    section: str
    line: int
    commands: tuple[str, ...]


def blocks(document: Path) -> list[Block]:
    """All ``sh`` blocks of a document; remarks behind commands are dropped and continued lines joined."""
    found = []
    text = document.read_text()
    for match in re.finditer(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        joined = match[1].replace("\\\n", " ")
        commands = [re.sub(r"(^|\s+)#.*$", "", line).rstrip() for line in joined.splitlines()]
        line = text.count("\n", 0, match.start()) + 1
        headings = re.findall(r"^#+ (.*)$", text[: match.start()], re.MULTILINE)
        section = headings[-1] if headings else ""
        found.append(Block(document, section, line, tuple(command for command in commands if command)))
    return found


def scripts(document: str, section: str) -> list[str]:
    """The blocks of one section, each as a script."""
    found = ["\n".join(one.commands) for one in blocks(ROOT / "docs" / document) if one.section == section]
    assert found, f"{document} has no commands under {section!r}"
    return found
