"""Bodies of notifications: JSON with variables such as ``${name}``. Pure.

The values of variables are escaped as JSON, so no value can change the structure of the document.

>>> filled('{"text": "${name}: ${message}", "step": ${step}}', {"name": "web", "message": 'say "hi"', "step": 2})
'{"text": "web: say \\\\"hi\\\\"", "step": 2}'
"""

import json
import re
from collections.abc import Mapping
from typing import Final

TEXTS: Final = (
    "namespace", "name", "target", "event", "time", "phase", "message", "run", "revision", "stableRevision", "by",
    "cause",
)  # fmt: skip
"""Names of variables whose values are texts. They must be inside a JSON string."""
NUMBERS: Final = ("step", "steps", "replicas", "updatedReplicas")
"""Names of variables whose values are whole numbers."""
DEFAULT: Final = (
    "{"
    + ", ".join([*(f'"{name}": "${{{name}}}"' for name in TEXTS), *(f'"{name}": ${{{name}}}' for name in NUMBERS)])
    + "}"
)
"""The template that is used if none is given: an object with all variables."""

_DOLLAR: Final = re.compile(r"\$(?:(?P<escaped>\$)|\{(?P<name>[A-Za-z]+)\}|(?P<invalid>))")


class InvalidTemplate(ValueError):  # noqa: N818  # named like InvalidObject
    """A text that is not a template; the message says why."""


def check(template: str) -> None:
    """Raise InvalidTemplate unless the text is JSON after its variables are replaced."""
    for match in _DOLLAR.finditer(template):
        name = match["name"]
        if match["invalid"] is not None:
            raise InvalidTemplate(
                f"character {match.start() + 1}: write $$ for a dollar sign, and ${{name}} for a variable"
            )
        if name is not None and name not in (*TEXTS, *NUMBERS):
            raise InvalidTemplate(f"there is no variable {name}; use {', '.join((*TEXTS, *NUMBERS))}")
    try:
        json.loads(filled(template, {**dict.fromkeys(TEXTS, "text"), **dict.fromkeys(NUMBERS, 1)}))
    except ValueError as error:
        where = (
            f" ({error.msg}: line {error.lineno}, column {error.colno})"
            if isinstance(error, json.JSONDecodeError)
            else ""
        )
        raise InvalidTemplate(f"must be JSON after its variables are replaced, with texts in quotes{where}") from None
    except RecursionError:
        raise InvalidTemplate("is nested too deeply") from None


def filled(template: str, values: Mapping[str, str | int]) -> str:
    """Return a template with its variables replaced by values that are escaped as JSON. Raises KeyError."""

    def value(match: re.Match[str]) -> str:
        if match["name"] is None:
            return "$"
        found = values[match["name"]]
        return str(found) if isinstance(found, int) else json.dumps(found)[1:-1]

    return _DOLLAR.sub(value, template)
