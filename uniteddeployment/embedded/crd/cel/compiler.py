"""Compiles a syntax tree to a typed Python closure in one pass.

A closure takes the frame of an evaluation (a list that holds ``self``, ``oldSelf`` and the variables of comprehensions)
and returns a value or raises :class:`CelError`. Declared types are checked here: unknown fields and unsuitable
functions are compile errors, as with the real compiler.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from uniteddeployment.embedded.crd.cel import extensions, lists, operators, text
from uniteddeployment.embedded.crd.cel.access import converter, joined
from uniteddeployment.embedded.crd.cel.declarations import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NULL,
    STRING,
    TYPE,
    Type,
    assignable,
    fields_of,
    list_of,
    optional_of,
    substitute,
)
from uniteddeployment.embedded.crd.cel.functions import FUNCTIONS, Function
from uniteddeployment.embedded.crd.cel.syntax import Call, Const, Expr, Ident, Index, ListLiteral, MapLiteral, Select
from uniteddeployment.embedded.crd.cel.values import NONE, CelError, NoOverloadError, Optional, TypeValue, UInt, no_key

Frame = list[Any]
Run = Callable[[Frame], Any]

LIBRARIES: Final = (operators, text, lists, extensions)
"""The modules with the functions of expressions; importing them registers the functions."""

_CONSTANTS: Final[dict[type, Type]] = {
    bool: BOOL,
    int: INT,
    UInt: Type("uint"),
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
}
_KEYS: Final = (str, int, bool, UInt)
_TYPE_NAMES: Final = frozenset(
    {
        "bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "optional_type",
        "google.protobuf.Timestamp", "google.protobuf.Duration",
    }
)  # fmt: skip


class CompileError(ValueError):
    """An invalid expression, with its position ``offset``."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Typed:
    """A compiled expression."""

    type: Type
    run: Run


@dataclass(frozen=True, slots=True)
class Variable:
    """The slot of a variable in the frame, and its type."""

    slot: int
    type: Type


def fail(message: str, offset: int) -> NoReturn:
    """Raise CompileError."""
    raise CompileError(message, offset)


Macro = Callable[["Compiler", Call], Typed | None]
"""Compiles a call, or returns None if the call is one of a function."""

Macros = Mapping[tuple[str, bool, int], Macro]
"""Macros by name, whether they are called as a method, and number of arguments."""


class Compiler:
    """Compiles one expression; afterwards :attr:`slots` is the size of its frame."""

    def __init__(self, variables: Mapping[str, Variable], macros: Macros) -> None:
        self._macros = macros
        self.scope = dict(variables)
        self.slots = len(variables)
        self.used: set[str] = set()

    def compile(self, expr: Expr) -> Typed:
        """The closure of an expression."""
        if isinstance(expr, Const):
            return self._const(expr)
        if isinstance(expr, Ident):
            return self._ident(expr)
        if isinstance(expr, Select):
            return self._select(expr)
        if isinstance(expr, Index):
            return self._index(expr)
        if isinstance(expr, Call):
            return self._call(expr)
        return self._list(expr) if isinstance(expr, ListLiteral) else self._map(expr)

    def variable(self, name: str, type_: Type) -> Variable:
        """A new variable of a comprehension, visible until :attr:`scope` is restored."""
        variable = Variable(self.slots, type_)
        self.slots += 1
        self.scope[name] = variable
        return variable

    def _const(self, expr: Const) -> Typed:
        value = expr.value
        return Typed(_CONSTANTS[type(value)], lambda _frame: value)

    def _ident(self, expr: Ident) -> Typed:
        variable = self.scope.get(expr.name)
        if variable is None:
            if expr.name in _TYPE_NAMES:
                constant = TypeValue(expr.name)
                return Typed(TYPE, lambda _frame: constant)
            fail(f"undeclared reference to '{expr.name}' (in container '')", expr.offset)
        self.used.add(expr.name)
        slot, convert = variable.slot, converter(variable.type)
        if convert is not None:
            return Typed(variable.type, lambda frame: convert(frame[slot]))
        return Typed(variable.type, lambda frame: frame[slot])

    # Fields and entries

    def field(self, operand: Typed, name: str, offset: int) -> tuple[str, Type]:
        """The name in JSON and the type of a field."""
        kind = operand.type.args[0] if operand.type.name == "optional" else operand.type
        if kind.name == "object":
            declared = fields_of(kind).get(name)
            if declared is None:
                fail(f"undefined field '{name}'", offset)
            return declared
        if kind.name == "map":
            return name, kind.args[1]
        if kind is DYN:
            return name, DYN
        fail(f"type '{kind}' does not support field selection", offset)

    def _select(self, expr: Select) -> Typed:
        qualified = _qualified(expr)
        if qualified in _TYPE_NAMES:
            constant = TypeValue(qualified)
            return Typed(TYPE, lambda _frame: constant)
        operand = self.compile(expr.operand)
        name, kind = self.field(operand, expr.field, expr.offset)
        convert = converter(kind)
        if expr.optional or operand.type.name == "optional":
            return Typed(optional_of(kind), _optional_entry(operand.run, lambda _frame: name, convert))
        run = _selection(operand.run, name)
        return Typed(kind, run if convert is None else lambda frame: convert(run(frame)))

    def _index(self, expr: Index) -> Typed:
        operand, key = self.compile(expr.operand), self.compile(expr.key)
        outer = operand.type.args[0] if operand.type.name == "optional" else operand.type
        kind = resolve("_[_]", FUNCTIONS["_[_]"], (outer, key.type), expr.offset, method=False)
        convert = converter(kind)
        if expr.optional or operand.type.name == "optional":
            return Typed(optional_of(kind), _optional_entry(operand.run, key.run, convert))
        get, container, index = guarded(FUNCTIONS["_[_]"].run), operand.run, key.run
        if convert is not None:
            return Typed(kind, lambda frame: convert(get(container(frame), index(frame))))
        return Typed(kind, lambda frame: get(container(frame), index(frame)))

    # Literals

    def _list(self, expr: ListLiteral) -> Typed:
        items = [(self.compile(item), optional) for item, optional in expr.items]
        kind = _common([item.type.args[0] if optional else item.type for item, optional in items])
        runs = [(item.run, optional) for item, optional in items]

        def run(frame: Frame) -> list[Any]:
            result: list[Any] = []
            for item, optional in runs:
                value = item(frame)
                if not optional:
                    result.append(value)
                elif value.present:
                    result.append(value.value)
            return result

        return Typed(list_of(kind), run)

    def _map(self, expr: MapLiteral) -> Typed:
        entries = [(self.compile(key), self.compile(value), optional) for key, value, optional in expr.entries]
        keys = _common([key.type for key, _, _ in entries])
        values = _common([value.type.args[0] if optional else value.type for _, value, optional in entries])
        runs = [(key.run, value.run, optional) for key, value, optional in entries]

        def run(frame: Frame) -> dict[Any, Any]:
            result: dict[Any, Any] = {}
            for key, item, optional in runs:
                name, value = key(frame), item(frame)
                if type(name) not in _KEYS:
                    raise NoOverloadError
                if name in result:
                    raise CelError(f"Failed with repeated key: {name}")
                if not optional:
                    result[name] = value
                elif value.present:
                    result[name] = value.value
            return result

        return Typed(Type("map", (keys, values)), run)

    # Calls

    def _call(self, expr: Call) -> Typed:
        macro = self._macros.get((expr.function, expr.target is not None, len(expr.args)))
        if macro is not None:
            expanded = macro(self, expr)
            if expanded is not None:
                return expanded
        name, args = expr.function, list(expr.args)
        method = expr.target is not None
        if expr.target is not None:
            namespace = _qualified(expr.target)
            if f"{namespace}.{name}" in FUNCTIONS and namespace not in self.scope:
                name, method = f"{namespace}.{name}", False
            else:
                args.insert(0, expr.target)
        function = FUNCTIONS.get(name)
        if function is None:
            fail(f"undeclared reference to '{name}' (in container '')", expr.offset)
        compiled = [self.compile(arg) for arg in args]
        kind = resolve(name, function, tuple(arg.type for arg in compiled), expr.offset, method=method)
        if name == "_+_":
            join = joined(compiled[0].type)
            if join is not None:
                return Typed(compiled[0].type, _applied(join, [arg.run for arg in compiled]))
        return Typed(kind, _applied(function.run, [arg.run for arg in compiled]))


def resolve(name: str, function: Function, args: tuple[Type, ...], offset: int, *, method: bool) -> Type:
    """The result type of a function for arguments of these types."""
    results: list[Type] = []
    for overload in function.overloads:
        if overload.method != method or len(overload.args) != len(args):
            continue
        bound: dict[str, Type] = {}
        if all(assignable(wanted, given, bound) for wanted, given in zip(overload.args, args, strict=True)):
            results.append(substitute(overload.result, bound))
    if results:
        return results[0] if all(result == results[0] for result in results) else DYN
    shown = f"{args[0]}.({', '.join(map(str, args[1:]))})" if method else f"({', '.join(map(str, args))})"
    fail(f"found no matching overload for '{name}' applied to '{shown}'", offset)


def _qualified(expr: Expr) -> str:
    """``a.b.c`` for names and selections of names; otherwise empty."""
    if isinstance(expr, Ident):
        return expr.name
    if isinstance(expr, Select) and not expr.optional:
        outer = _qualified(expr.operand)
        return f"{outer}.{expr.field}" if outer else ""
    return ""


def _common(types: list[Type]) -> Type:
    """The common type of the items of a literal."""
    known = [type_ for type_ in types if type_ is not NULL]
    return known[0] if known and all(type_ == known[0] for type_ in known) else DYN


def _selection(operand: Run, name: str) -> Run:
    def run(frame: Frame) -> Any:
        value = operand(frame)
        try:
            return value[name]
        except KeyError:
            raise no_key(name) from None
        except TypeError:
            raise NoOverloadError from None

    return run


def _optional_entry(operand: Run, key: Run, convert: Callable[[Any], Any] | None) -> Run:
    """``a.?b`` and ``a[?b]``: an optional, empty if the entry is absent."""

    def run(frame: Frame) -> Optional:
        value = operand(frame)
        if type(value) is Optional:
            if not value.present:
                return NONE
            value = value.value
        wanted = key(frame)
        if type(value) is dict and type(wanted) in _KEYS:
            if wanted not in value:
                return NONE
        elif type(value) is not list or type(wanted) is not int:
            raise NoOverloadError
        elif not 0 <= wanted < len(value):
            return NONE
        entry = value[wanted]
        return Optional(entry if convert is None else convert(entry))

    return run


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with Python's errors translated to CEL's."""

    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except (TypeError, AttributeError):
            raise NoOverloadError from None
        except (ValueError, ArithmeticError) as error:
            raise CelError(str(error)) from None

    return call


def _applied(function: Callable[..., Any], args: list[Run]) -> Run:
    """A closure that calls ``function`` and translates its errors to CEL's."""
    call = guarded(function)
    if len(args) == 1:
        (only,) = args
        return lambda frame: call(only(frame))
    if len(args) == 2:
        first, second = args
        return lambda frame: call(first(frame), second(frame))
    return lambda frame: call(*[arg(frame) for arg in args])
