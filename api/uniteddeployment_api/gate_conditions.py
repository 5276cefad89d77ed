"""Conditions of gates, such as ``canary <= stable * 1.2 && canary < 0.05``.

The language has numbers, the names ``result``, ``canary`` and ``stable``, arithmetic, comparisons, ``&&`` (``and``),
``||`` (``or``), ``!`` (``not``) and parentheses. Every part is a number or a truth value; this is checked before
anything is measured. There are no functions, strings or fields, so a condition has no effect but its value.

>>> condition = parse("canary <= stable * 1.2 || result < 0.01")
>>> condition.holds(0.3, 0.2), condition.holds(0.2, 0.2)
(False, True)
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

MAX_DEPTH: Final = 32
"""Maximum nesting of parentheses and signs."""

Kind = Literal["number", "truth value"]
_Function = Callable[[Mapping[str, float]], float]

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>&&|\|\||<=|>=|==|!=|[-+*/()<>!])|(?P<end>$)|(?P<bad>.))",
    re.DOTALL,
)
_NAMES: Final[Mapping[str, str]] = {"result": "canary", "canary": "canary", "stable": "stable"}
_WORDS: Final[Mapping[str, str]] = {"and": "&&", "or": "||", "not": "!"}
_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class InvalidCondition(ValueError):  # noqa: N818  # named like InvalidObject
    """A text that is not a condition; the message says why and where."""


class _NotANumber(Exception):  # noqa: N818  # not an error: an outcome of a comparison
    """A side of a comparison is not a number, such as zero divided by zero."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that was parsed."""

    text: str
    names: frozenset[str]
    """``canary`` and ``stable``, as far as the condition refers to them."""
    _value: _Function

    def holds(self, canary: float, stable: float) -> bool | None:
        """Return whether the condition is true for these values; None if it compares something that is no number."""
        try:
            return bool(self._value({"canary": canary, "stable": stable}))
        except _NotANumber:
            return None


@dataclass(frozen=True, slots=True)
class _Part:
    kind: Kind
    value: _Function
    at: int


def parse(text: str) -> Condition:
    """Return the condition. Raises InvalidCondition."""
    parser = _Parser(text)
    part = parser.either(0)
    parser.end()
    _require(part, "truth value", "the condition")
    return Condition(text, frozenset(parser.names), part.value)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield kind, text and position (from 1) of each token; the last kind is ``end``."""
    at = 0
    while True:
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise InvalidCondition(f"cannot be read at character {at + 1}")
        kind, token = found.lastgroup, found.group(found.lastgroup)
        if kind == "bad":
            raise InvalidCondition(f"unexpected {token!r} at character {found.start(kind) + 1}")
        if kind == "name" and token in _WORDS:
            kind, token = "sign", _WORDS[token]
        yield kind, token, found.start(found.lastgroup) + 1
        if kind == "end":
            return
        at = found.end()


class _Parser:
    """Recursive descent, from the operators that bind least."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._place = 0
        self.names: set[str] = set()

    def either(self, depth: int) -> _Part:
        part = self._both(depth)
        while self._take("||"):
            part = _logical(part, self._both(depth), any)
        return part

    def end(self) -> None:
        kind, token, at = self._tokens[self._place]
        if kind != "end":
            raise InvalidCondition(f"unexpected {token!r} at character {at}")

    def _both(self, depth: int) -> _Part:
        part = self._comparison(depth)
        while self._take("&&"):
            part = _logical(part, self._comparison(depth), all)
        return part

    def _comparison(self, depth: int) -> _Part:
        part = self._sum(depth)
        sign = self._take(*_COMPARISONS)
        if not sign:
            return part
        return _compared(part, self._sum(depth), _COMPARISONS[sign])

    def _sum(self, depth: int) -> _Part:
        part = self._product(depth)
        while sign := self._take("+", "-"):
            part = _computed(part, self._product(depth), operator.add if sign == "+" else operator.sub)
        return part

    def _product(self, depth: int) -> _Part:
        part = self._unary(depth)
        while sign := self._take("*", "/"):
            part = _computed(part, self._unary(depth), operator.mul if sign == "*" else _divided)
        return part

    def _unary(self, depth: int) -> _Part:
        kind, token, at = self._tokens[self._place]
        if depth > MAX_DEPTH:
            raise InvalidCondition(f"nested more than {MAX_DEPTH} levels deep at character {at}")
        if self._take("-"):
            return _negative(self._unary(depth + 1), at)
        if self._take("!"):
            return _opposite(self._unary(depth + 1), at)
        if self._take("("):
            part = self.either(depth + 1)
            if not self._take(")"):
                raise InvalidCondition(f"the parenthesis at character {at} is not closed")
            return part
        if kind not in ("number", "name"):
            what = "the end" if kind == "end" else repr(token)
            raise InvalidCondition(f"expected a number or a name at character {at}, not {what}")
        self._place += 1
        return self._name(token, at) if kind == "name" else _number(token, at)

    def _name(self, token: str, at: int) -> _Part:
        name = _NAMES.get(token)
        if name is None:
            raise InvalidCondition(f"unknown name {token!r} at character {at}; known are {', '.join(_NAMES)}")
        self.names.add(name)
        return _Part("number", operator.itemgetter(name), at)

    def _take(self, *signs: str) -> str:
        """Return the next token and go on if it is one of these signs; otherwise, an empty text."""
        kind, token, _ = self._tokens[self._place]
        if kind != "sign" or token not in signs:
            return ""
        self._place += 1
        return token


def _require(part: _Part, kind: Kind, what: str) -> None:
    if part.kind != kind:
        raise InvalidCondition(f"{what} must be a {kind}, but a {part.kind} begins at character {part.at}")


def _number(token: str, at: int) -> _Part:
    value = float(token)
    return _Part("number", lambda _: value, at)


def _negative(part: _Part, at: int) -> _Part:
    _require(part, "number", "what follows -")
    return _Part("number", lambda values: -part.value(values), at)


def _opposite(part: _Part, at: int) -> _Part:
    _require(part, "truth value", "what follows !")
    return _Part("truth value", lambda values: not part.value(values), at)


def _logical(left: _Part, right: _Part, join: Callable[[Iterator[float]], bool]) -> _Part:
    for part in (left, right):
        _require(part, "truth value", "each side of && and ||")
    return _Part("truth value", lambda values: join(part.value(values) for part in (left, right)), left.at)


def _compared(left: _Part, right: _Part, compare: Callable[[float, float], bool]) -> _Part:
    for part in (left, right):
        _require(part, "number", "each side of a comparison")

    def value(values: Mapping[str, float]) -> bool:
        sides = left.value(values), right.value(values)
        if any(math.isnan(side) for side in sides):
            raise _NotANumber
        return compare(*sides)

    return _Part("truth value", value, left.at)


def _computed(left: _Part, right: _Part, compute: Callable[[float, float], float]) -> _Part:
    for part in (left, right):
        _require(part, "number", "each side of an operator")
    return _Part("number", lambda values: compute(left.value(values), right.value(values)), left.at)


def _divided(dividend: float, divisor: float) -> float:
    """Division as in Prometheus: by zero, it is infinite or not a number."""
    if divisor:
        return dividend / divisor
    if dividend > 0:
        return math.inf
    return -math.inf if dividend < 0 else math.nan
