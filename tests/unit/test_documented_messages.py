"""The messages that the documentation explains are those of the code."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("docs/troubleshooting.md", "docs/operations.md")
HEADERS = ("| Message", "| `/readyz`")
"""How a table begins that has messages in its first column."""
PLACEHOLDER = re.compile(r"\.\.\.|Offline")
ADJACENT_LITERALS = re.compile(r"""(["'])\s*\n\s*f?\1""")
SHORTEST = 8
"""Characters of a part of a message that is looked for; shorter parts prove nothing."""


def documented() -> list[str]:
    """Return the messages."""
    result = []
    for name in DOCUMENTS:
        for table in (ROOT / name).read_text().split("\n\n"):
            if table.startswith(HEADERS):
                cells = re.findall(r"^\| (`.*?) \| ", table.partition("\n")[2], re.MULTILINE)
                result += [message for cell in cells for message in re.findall(r"`([^`]+)`", cell)]
    return result


def sources() -> str:
    """Return the source of all packages, with adjacent string literals joined."""
    folders = ("uniteddeployment", "api")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if "embedded" not in path.parts]
    return "\n".join(ADJACENT_LITERALS.sub("", path.read_text()).replace('\\"', '"') for path in sorted(files))


SOURCES = sources()


@pytest.mark.parametrize("message", documented())
def test_a_documented_message_is_in_the_code(message: str) -> None:
    parts = [part.strip(" :;()") for part in PLACEHOLDER.split(message)]
    assert [part for part in parts if len(part) >= SHORTEST and part not in SOURCES] == []


def test_messages_are_found_in_the_documentation() -> None:
    """A table in another form would hide its messages from the test above."""
    assert len(documented()) > 20
