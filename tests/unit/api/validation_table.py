"""The table of docs/validation.md, generated from the rules.

``python -m tests.unit.api.validation_table`` updates the page.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from uniteddeployment_api.errors import FORMS
from uniteddeployment_api.rules import RULES, Rule

PAGE = Path(__file__).parents[3] / "docs" / "validation.md"
HEAD = "| Rule | Field | Schema | CEL | Webhook | Controller | Message |"
TEMPLATES = re.compile(r"(statefulSet|advancedStatefulSet|cloneSet|deployment)Template")


def table() -> str:
    """Return the table, with one row for each form and rule."""
    return "\n".join([HEAD, "|---|---|---|---|---|---|---|", *_rows()])


def written() -> str:
    """Return the table that the page contains."""
    lines = PAGE.read_text().splitlines()
    start = lines.index(HEAD)
    end = next((i for i in range(start, len(lines)) if not lines[i].startswith("|")), len(lines))
    return "\n".join(lines[start:end])


def _rows() -> Iterator[str]:
    for form, words in FORMS.items():
        yield _row(
            form, "each field", "yes", "", "yes", "Stalled", "; ".join(re.sub(r"{\w+}", "…", text) for text in words)
        )
    by_name: dict[str, list[Rule]] = {}
    for rule in RULES:
        by_name.setdefault(rule.name, []).append(rule)
    for name, rules in by_name.items():
        first = rules[0]
        fields = dict.fromkeys(TEMPLATES.sub("*", rule.at + rule.field_path) for rule in rules)
        yield _row(
            name,
            ", ".join(f"`{field}`" for field in fields),
            "yes" if first.schema else "",
            "yes" if first.cel else "",
            "" if first.other_object else "yes",
            _controller(first),
            first.message,
        )


def _controller(rule: Rule) -> str:
    if rule.name == "annotation-ignore-differences-size":
        return "Stalled"
    if rule.kind == "Cluster" or rule.change or rule.at == "metadata":
        return ""
    if rule.retained:
        return "ignores"
    return "continues" if rule.feasibility else "Stalled"


def _row(name: str, *cells: str) -> str:
    return "| " + " | ".join((f"`{name}`", *(cell.replace("|", "\\|") for cell in cells))) + " |"


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text().replace(written(), table()))
