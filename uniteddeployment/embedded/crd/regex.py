r"""Go's regular expressions (RE2) on Python's engine.

The two agree on almost everything in schemas. The translation covers ``$`` and ``\z`` (the very end of the text), POSIX
classes, Unicode letters and digits, and ``\Q...\E``.
"""

import re
from functools import lru_cache
from typing import Final

_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7F",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1F\\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_UNICODE: Final = {
    "L": "A-Za-z\\u00AA-\\uFFDC",
    "Lu": "A-Z",
    "Ll": "a-z",
    "N": "0-9",
    "Nd": "0-9",
    "P": "!-/:-@\\[-`{-~",
}
_TOKEN: Final = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)|\\(?P<prop>p)(?:\{(?P<long>\w+)\}|(?P<short>\w))|\\(?P<end>z)|\\.|"
    r"\[:(?P<posix>\w+):\]|(?P<open>\[\^?\]?)|(?P<close>\])|(?P<dollar>\$)|\(\?(?P<flags>[imsU]+)\)",
    re.DOTALL,
)


_UNSUPPORTED: Final = re.compile(r"(?<!\\)(?:\\\\)*(?:(\(\?(?:[=!]|<[=!]|>|\())|(\\[1-9]))")
_COMPLAINTS: Final = (
    ("unterminated subpattern", "missing closing )"),
    ("unbalanced parenthesis", "unexpected )"),
    ("unterminated character set", "missing closing ]"),
    ("nothing to repeat", "missing argument to repetition operator"),
    ("bad character range", "invalid character class range"),
    ("bad escape", "invalid escape sequence"),
)


class PatternError(ValueError):
    """An invalid pattern; the text is Go's message."""


@lru_cache(maxsize=4096)
def compile_re2(pattern: str) -> re.Pattern[str]:
    """Compile a pattern. Raises PatternError."""
    unsupported = _UNSUPPORTED.search(pattern)
    if unsupported is not None:
        syntax = unsupported[1]
        what = "invalid or unsupported Perl syntax" if syntax else "invalid escape sequence"
        raise PatternError(f"error parsing regexp: {what}: `{syntax or unsupported[2]}`")
    try:
        return re.compile(_translate(pattern), re.ASCII)
    except RecursionError:
        raise PatternError(f"error parsing regexp: expression nests too deeply: `{pattern}`") from None
    except (re.error, OverflowError) as error:
        text = str(error)
        message = next((go for python, go in _COMPLAINTS if python in text), "invalid syntax")
        raise PatternError(f"error parsing regexp: {message}: `{pattern}`") from None


def _translate(pattern: str) -> str:
    out: list[str] = []
    position = 0
    in_class = False
    multiline = False
    flags = ""
    for match in _TOKEN.finditer(pattern):
        out.append(pattern[position : match.start()])
        position = match.end()
        name = match.lastgroup
        text = match.group()
        if match["flags"] is not None and not in_class:
            flags += "".join(flag for flag in match["flags"] if flag in "ims")
            multiline = multiline or "m" in match["flags"]
            continue
        if name == "open" and not in_class:
            in_class = True
        elif name == "open":
            text = "\\" + text
        elif name == "close":
            in_class = False
        elif name == "dollar" and not in_class and not multiline:
            text = "\\Z"
        else:
            text = _token(match, text, in_class=in_class)
        out.append(text)
    out.append(pattern[position:])
    head = f"(?{''.join(dict.fromkeys(flags))})" if flags else ""
    return head + "".join(out)


def _token(match: re.Match[str], text: str, *, in_class: bool) -> str:
    if match["quoted"] is not None:
        return re.escape(match["quoted"])
    if match["end"]:
        return "\\Z"
    if match["posix"]:
        return _POSIX.get(match["posix"], text)
    if match["prop"]:
        characters = _UNICODE.get(match["long"] or match["short"], "")
        return characters if in_class else f"[{characters}]"
    return text
