"""The CEL parser. Every node has the offset that the real parser reports."""

import re
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from uniteddeployment.embedded.crd.cel.values import UInt


class ParseError(ValueError):
    """The expression is malformed at ``offset``."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Const:
    """A literal."""

    value: Any
    offset: int


@dataclass(frozen=True, slots=True)
class Ident:
    """A name."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class Select:
    """``operand.field``, or ``operand.?field``."""

    operand: "Expr"
    field: str
    offset: int
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """``operand[key]``, or ``operand[?key]``."""

    operand: "Expr"
    key: "Expr"
    offset: int
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function, a method of ``target``, or an operator (``_+_``)."""

    function: str
    target: "Expr | None"
    args: tuple["Expr", ...]
    offset: int


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """``[a, ?b]``"""

    items: tuple[tuple["Expr", bool], ...]
    offset: int


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """``{a: b, ?c: d}``"""

    entries: tuple[tuple["Expr", "Expr", bool], ...]
    offset: int


Expr = Const | Ident | Select | Index | Call | ListLiteral | MapLiteral

_STRING: Final = r"""(?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_RAW: Final = r"""(?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|"[^"\n]*"|'[^'\n]*')"""
_TOKEN: Final = re.compile(
    rf"""
    (?P<space>\s+|//[^\n]*)
    |(?P<raw>(?:[rR][bB]?|[bB][rR]){_RAW})
    |(?P<string>[bB]?{_STRING})
    |(?P<double>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<int>(?:0x[0-9a-fA-F]+|\d+)[uU]?)
    |(?P<ident>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<quoted>`[a-zA-Z0-9_.\-/ ]+`)
    |(?P<op>\[\?|\.\?|&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{{}}])
    """,
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))"
)
_SIMPLE_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_BINARY: Final = (
    {"||": "_||_"},
    {"&&": "_&&_"},
    {"<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "==": "_==_", "!=": "_!=_", "in": "@in"},
    {"+": "_+_", "-": "_-_"},
    {"*": "_*_", "/": "_/_", "%": "_%_"},
)
_LITERALS: Final = {"true": True, "false": False, "null": None}
RESERVED: Final = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
        "let", "loop", "package", "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
"""Words that cannot name a variable; as fields they are written ``__word__``."""

_MAX_DEPTH: Final = 250


def parse(source: str) -> Expr:
    """Parse an expression. Raises ParseError."""
    parser = _Parser(source)
    tree = parser.expression()
    if parser.kind != "end":
        parser.fail(f"Syntax error: extraneous input '{parser.text}' expecting <EOF>")
    return tree


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._position = 0
        self._depth = 0
        self.kind = ""
        self.text = ""
        self.offset = 0
        self._advance()

    def _advance(self) -> None:
        while True:
            self.offset = self._position
            if self._position >= len(self._source):
                self.kind, self.text = "end", "<EOF>"
                return
            match = _TOKEN.match(self._source, self._position)
            if match is None:
                text = self._source[self._position]
                raise ParseError(f"Syntax error: token recognition error at: '{text}'", self._position)
            self._position = match.end()
            if match.lastgroup != "space":
                self.kind, self.text = match.lastgroup or "", match.group()
                return

    def fail(self, message: str) -> NoReturn:
        raise ParseError(message, self.offset)

    def _is(self, *ops: str) -> bool:
        return self.kind in {"op", "ident"} and self.text in ops

    def _take(self, *ops: str) -> bool:
        if self._is(*ops):
            self._advance()
            return True
        return False

    def _expect(self, op: str) -> None:
        if not self._take(op):
            self.fail(f"Syntax error: mismatched input '{self.text}' expecting '{op}'")

    def expression(self) -> Expr:
        """``a ? b : c``, or anything with higher precedence."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self.fail(f"expression recursion limit exceeded: {_MAX_DEPTH}")
        condition = self._binary(0)
        offset = self.offset
        if self._take("?"):
            chosen = self._binary(0)
            self._expect(":")
            condition = Call("_?_:_", None, (condition, chosen, self.expression()), offset)
        self._depth -= 1
        return condition

    def _binary(self, level: int) -> Expr:
        if level == len(_BINARY):
            return self._unary()
        left = self._binary(level + 1)
        operators = _BINARY[level]
        while self.kind in {"op", "ident"} and self.text in operators:
            function, offset = operators[self.text], self.offset
            self._advance()
            left = Call(function, None, (left, self._binary(level + 1)), offset)
        return left

    def _unary(self) -> Expr:
        offset = self.offset
        if self._take("!"):
            return Call("!_", None, (self._unary(),), offset)
        if self._take("-"):
            if self.kind in {"int", "double"}:
                number = self._number("-")
                return self._members(number)
            return Call("-_", None, (self._unary(),), offset)
        return self._members(self._primary())

    def _members(self, operand: Expr) -> Expr:
        while True:
            offset = self.offset
            if self._is(".", ".?"):
                operand = self._member(operand, optional=self.text == ".?")
            elif self._is("[", "[?"):
                optional = self.text == "[?"
                self._advance()
                key = self.expression()
                self._expect("]")
                operand = Index(operand, key, offset, optional)
            else:
                return operand

    def _member(self, operand: Expr, *, optional: bool) -> Expr:
        offset = self.offset
        self._advance()
        if self.kind not in {"ident", "quoted"}:
            self.fail(f"Syntax error: no viable alternative at input '.{self.text}'")
        name = self.text.strip("`")
        self._advance()
        if self._is("(") and not optional:
            offset = self.offset
            return Call(name, operand, self._arguments(), offset)
        return Select(operand, name, offset, optional)

    def _arguments(self) -> tuple[Expr, ...]:
        self._expect("(")
        args: list[Expr] = []
        while not self._is(")"):
            args.append(self.expression())
            if not self._take(","):
                break
        self._expect(")")
        return tuple(args)

    def _primary(self) -> Expr:
        offset = self.offset
        if self.kind in {"int", "double"}:
            return self._number("")
        if self.kind in {"string", "raw"}:
            value = _text(self.kind, self.text, offset)
            self._advance()
            return Const(value, offset)
        if self._take("("):
            inner = self.expression()
            self._expect(")")
            return inner
        if self._is("[", "[?"):
            first_optional = self.text == "[?"
            self._advance()
            return self._list(offset, first_optional=first_optional)
        if self._take("{"):
            return self._map(offset)
        self._take(".")
        if self.kind != "ident" or (self.text in RESERVED and self.text not in _LITERALS):
            problem = "mismatched input" if self.kind == "end" else "extraneous input"
            self.fail(
                f"Syntax error: {problem} '{self.text}' expecting {{'[', '{{', '(', '.', '-', '!', 'true', 'false', "
                "'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
            )
        return self._name(offset)

    def _name(self, offset: int) -> Expr:
        name = self.text
        self._advance()
        if name in _LITERALS:
            return Const(_LITERALS[name], offset)
        if self._is("("):
            offset = self.offset
            return Call(name, None, self._arguments(), offset)
        return Ident(name, offset)

    def _number(self, sign: str) -> Const:
        kind, text, offset = self.kind, self.text, self.offset
        self._advance()
        if kind == "double":
            return Const(float(sign + text), offset)
        unsigned = text[-1] in "uU"
        digits = text.rstrip("uU")
        value = int(sign + digits, 16 if digits.startswith("0x") else 10)
        if unsigned:
            return Const(UInt(value), offset)
        if not -(2**63) <= value < 2**63:
            raise ParseError("invalid int literal", offset)
        return Const(value, offset)

    def _list(self, offset: int, *, first_optional: bool) -> Expr:
        items: list[tuple[Expr, bool]] = []
        while not self._is("]"):
            optional = self._take("?") or (first_optional and not items)
            items.append((self.expression(), optional))
            if not self._take(","):
                break
        self._expect("]")
        return ListLiteral(tuple(items), offset)

    def _map(self, offset: int) -> Expr:
        entries: list[tuple[Expr, Expr, bool]] = []
        while not self._is("}"):
            optional = self._take("?")
            key = self.expression()
            self._expect(":")
            entries.append((key, self.expression(), optional))
            if not self._take(","):
                break
        self._expect("}")
        return MapLiteral(tuple(entries), offset)


def _text(kind: str, token: str, offset: int) -> str | bytes:
    """The value of a string or bytes literal."""
    prefix = re.match(r"[rRbB]*", token)
    letters = prefix.group().lower() if prefix else ""
    body = token[len(letters) :]
    width = 3 if body[:3] in {'"""', "'''"} else 1
    text = body[width:-width]
    if kind == "string":
        text = _ESCAPE.sub(lambda match: _escape(match, offset), text)
    return text.encode("utf-8") if "b" in letters else text


def _escape(match: re.Match[str], offset: int) -> str:
    hexadecimal = match[1] or match[2] or match[3] or match[4]
    if hexadecimal:
        return chr(int(hexadecimal, 16))
    if match[5]:
        return chr(int(match[5], 8))
    character = match[6]
    if character in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[character]
    if character in "\\?\"'`":
        return character
    raise ParseError(f"Syntax error: token recognition error at: '\\{character}'", offset)
