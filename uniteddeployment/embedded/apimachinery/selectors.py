"""Label and field selectors of requests: parsed into predicates on objects, with the real server's error messages."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.errors import StatusError, bad_request

Labels = Mapping[str, str]

_NONE: Final[Labels] = {}
_OPERATORS: Final = "in, notin, =, ==, !=, gt, lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on a label."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Labels) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "in" | "=" | "==":
                return value is not None and value in self.values
            case "notin" | "!=":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case _:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        try:
            number, bound = int(value), int(next(iter(self.values)))
        except ValueError:
            return False
        return number > bound if self.operator == ">" else number < bound


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A conjunction of requirements; without any it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Labels) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)


EVERYTHING: Final = LabelSelector()


class _Token(Enum):
    IDENTIFIER = auto()
    COMMA = auto()
    OPEN = auto()
    CLOSE = auto()
    NOT = auto()
    OPERATOR = auto()
    WORD_OPERATOR = auto()
    END = auto()


_SCAN = re.compile(
    r"\s*(?:(?P<operator>==|!=|=|<|>)|(?P<not>!)|(?P<comma>,)|(?P<open>\()|(?P<close>\))|(?P<word>[^\s=!(),<>]+))"
)
_KINDS = {
    "operator": _Token.OPERATOR,
    "not": _Token.NOT,
    "comma": _Token.COMMA,
    "open": _Token.OPEN,
    "close": _Token.CLOSE,
}


class _Parser:
    """A recursive descent parser with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[_Token, str]] = []
        position = 0
        while match := _SCAN.match(text, position):
            position = match.end()
            kind, literal = match.lastgroup or "word", match[match.lastgroup or "word"]
            if kind == "word":
                token = _Token.WORD_OPERATOR if literal in ("in", "notin") else _Token.IDENTIFIER
            else:
                token = _KINDS[kind]
            self._tokens.append((token, literal))
        self._next = 0

    def peek(self, *, words: bool = False) -> tuple[_Token, str]:
        """The next token, not consumed. ``in`` and ``notin`` are operators only if ``words`` is true."""
        if self._next >= len(self._tokens):
            return _Token.END, ""
        token, literal = self._tokens[self._next]
        if token is _Token.WORD_OPERATOR:
            return (_Token.OPERATOR if words else _Token.IDENTIFIER), literal
        return token, literal

    def take(self, *, words: bool = False) -> tuple[_Token, str]:
        token = self.peek(words=words)
        self._next += 1
        return token

    def selector(self) -> LabelSelector:
        requirements: list[Requirement] = []
        while True:
            token, literal = self.peek()
            if token is _Token.END:
                return LabelSelector(tuple(requirements))
            if token not in (_Token.IDENTIFIER, _Token.NOT):
                raise bad_request(f"found '{literal}', expected: !, identifier, or 'end of string'")
            requirements.append(self._requirement())
            token, literal = self.take()
            if token is _Token.END:
                return LabelSelector(tuple(requirements))
            if token is not _Token.COMMA:
                raise bad_request(f"found '{literal}', expected: ',' or 'end of string'")
            token, literal = self.peek()
            if token not in (_Token.IDENTIFIER, _Token.NOT):
                raise bad_request(f"found '{literal}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        token, key = self.take()
        negated = token is _Token.NOT
        if negated:
            token, key = self.take()
        if token is not _Token.IDENTIFIER:
            raise _unreadable(f"found '{key}', expected: identifier")
        for text in names.label_key(key):
            raise _unreadable(f"key: Invalid value: {json.dumps(key)}: {text}")
        if negated:
            return Requirement(key, "!")
        if self.peek()[0] in (_Token.END, _Token.COMMA):
            return Requirement(key, "exists")
        token, operator = self.take(words=True)
        if token is not _Token.OPERATOR:
            raise _unreadable(f"found '{operator}', expected: {_OPERATORS}")
        values = self._values() if operator in ("in", "notin") else self._value()
        _check(key, operator, values)
        return Requirement(key, operator, frozenset(values))

    def _value(self) -> list[str]:
        if self.peek()[0] in (_Token.END, _Token.COMMA):
            return [""]
        token, literal = self.take()
        if token is not _Token.IDENTIFIER:
            raise _unreadable(f"found '{literal}', expected: identifier")
        return [literal]

    def _values(self) -> list[str]:
        token, literal = self.take()
        if token is not _Token.OPEN:
            raise _unreadable(f"found '{literal}' expected: '('")
        token, literal = self.peek()
        if token is _Token.CLOSE:
            self.take()
            return []
        if token not in (_Token.IDENTIFIER, _Token.COMMA):
            raise _unreadable(f"found '{literal}', expected: ',', ')' or identifier")
        values: list[str] = []
        expects_value = True
        while True:
            token, literal = self.take()
            if token is _Token.IDENTIFIER and expects_value:
                values.append(literal)
                expects_value = False
            elif token is _Token.COMMA:
                if expects_value:
                    values.append("")
                expects_value = True
            elif token is _Token.CLOSE:
                return [*values, ""] if expects_value else values
            else:
                raise _unreadable(f"found '{literal}', expected: ',' or ')'")


def _check(key: str, operator: str, values: list[str]) -> None:
    if operator in ("in", "notin") and not values:
        raise _unreadable("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")
    if operator in ("<", ">") and not re.fullmatch(r"[+-]?\d+", values[0]):
        shown = json.dumps(values[0])
        raise _unreadable(f"values[0]: Invalid value: {shown}: for 'Gt', 'Lt' operators, the value must be an integer")
    for i, value in enumerate(values):
        for text in names.label_value(value):
            raise _unreadable(f"values[{i}][{key}]: Invalid value: {json.dumps(value)}: {text}")


def _unreadable(text: str) -> StatusError:
    return bad_request(f"unable to parse requirement: {text}")


def parse_labels(text: str) -> LabelSelector:
    """Parse a labelSelector. Raises StatusError (400)."""
    return _Parser(text).selector() if text else EVERYTHING


Field = Callable[[Obj], str]


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """A condition on a field."""

    path: str
    read: Field
    value: str
    equal: bool

    def matches(self, obj: Obj) -> bool:
        return (self.read(obj) == self.value) is self.equal


@dataclass(frozen=True, slots=True)
class Selector:
    """The label and field selectors of a list or a watch."""

    labels: LabelSelector = EVERYTHING
    fields: tuple[FieldRequirement, ...] = ()

    @property
    def everything(self) -> bool:
        return not self.labels.requirements and not self.fields

    @property
    def name(self) -> str | None:
        """The name that an object must have to match, if the selector determines it."""
        for requirement in self.fields:
            if requirement.path == "metadata.name" and requirement.equal:
                return requirement.value
        return None

    def matches(self, obj: Obj) -> bool:
        if not self.labels.matches(obj["metadata"].get("labels", _NONE)):
            return False
        return all(requirement.matches(obj) for requirement in self.fields)


def _meta(field: str) -> Field:
    return lambda obj: obj["metadata"].get(field, "")


_COMMON: Final[Mapping[str, Field]] = {"metadata.name": _meta("name"), "metadata.namespace": _meta("namespace")}

_TERM = re.compile(r"(?:[^,\\]|\\.)+|\\$")
_PARTS = re.compile(r"(?P<path>.*?)(?P<operator>!=|==|=)(?P<value>.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def parse_fields(text: str, resource: Resource) -> tuple[FieldRequirement, ...]:
    """Parse a fieldSelector for a resource. Raises StatusError (400)."""
    requirements = []
    for term in _TERM.findall(text):
        parts = _PARTS.fullmatch(term)
        if parts is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        read = _field(parts["path"], resource)
        value = _ESCAPED.sub(r"\1", parts["value"])
        requirements.append(FieldRequirement(parts["path"], read, value, parts["operator"] != "!="))
    return tuple(requirements)


def _field(path: str, resource: Resource) -> Field:
    read = resource.field_selectors.get(path) or _COMMON.get(path)
    if read is not None:
        return read
    if resource.custom or not _COMMON.keys() >= resource.field_selectors.keys():
        raise bad_request(f"field label not supported: {path}")
    raise bad_request(f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"')


def parse(labels: str, fields: str, resource: Resource) -> Selector:
    """Parse both selectors of a request."""
    return Selector(parse_labels(labels), parse_fields(fields, resource) if fields else ())
