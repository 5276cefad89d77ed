"""The parts of CEL that are not functions: logic, equality, ``has`` and comprehensions.

A macro takes the compiler and a call, and returns the compiled call, or None if the call is one of a function. Logic
tolerates errors: an error on one side of ``&&`` or in one iteration of ``all`` does not matter if another one decides.
"""

from collections.abc import Iterable
from typing import Any, Final

from uniteddeployment.embedded.crd.cel.access import comparator
from uniteddeployment.embedded.crd.cel.compiler import Compiler, Frame, Macro, Macros, Run, Typed, fail
from uniteddeployment.embedded.crd.cel.declarations import BOOL, DYN, INT, NULL, Type, assignable, list_of, optional_of
from uniteddeployment.embedded.crd.cel.syntax import Call, Expr, Ident, Select
from uniteddeployment.embedded.crd.cel.values import NONE, CelError, NoOverloadError, Optional


def _boolean(compiler: Compiler, expr: Expr, call: Call, others: tuple[Type, ...] = ()) -> Run:
    condition = compiler.compile(expr)
    if condition.type not in (BOOL, DYN):
        shown = ", ".join(map(str, (*others, condition.type)))
        fail(f"found no matching overload for '{call.function}' applied to '({shown})'", call.offset)
    return condition.run


# Logic


def _and(compiler: Compiler, call: Call) -> Typed:
    first, second = (_boolean(compiler, arg, call) for arg in call.args)

    def run(frame: Frame) -> bool:
        try:
            left = first(frame)
        except CelError:
            if second(frame) is False:
                return False
            raise
        if left is False:
            return False
        right = second(frame)
        if type(left) is not bool or type(right) is not bool:
            raise NoOverloadError
        return right

    return Typed(BOOL, run)


def _or(compiler: Compiler, call: Call) -> Typed:
    first, second = (_boolean(compiler, arg, call) for arg in call.args)

    def run(frame: Frame) -> bool:
        try:
            left = first(frame)
        except CelError:
            if second(frame) is True:
                return True
            raise
        if left is True:
            return True
        right = second(frame)
        if type(left) is not bool or type(right) is not bool:
            raise NoOverloadError
        return right

    return Typed(BOOL, run)


def _not(compiler: Compiler, call: Call) -> Typed:
    inner = _boolean(compiler, call.args[0], call)

    def run(frame: Frame) -> bool:
        value = inner(frame)
        if type(value) is not bool:
            raise NoOverloadError
        return not value

    return Typed(BOOL, run)


def _conditional(compiler: Compiler, call: Call) -> Typed:
    condition = _boolean(compiler, call.args[0], call)
    first, second = compiler.compile(call.args[1]), compiler.compile(call.args[2])
    if not assignable(first.type, second.type, {}):
        shown = f"(bool, {first.type}, {second.type})"
        fail(f"found no matching overload for '_?_:_' applied to '{shown}'", call.offset)
    chosen, other = first.run, second.run

    def run(frame: Frame) -> Any:
        value = condition(frame)
        if type(value) is not bool:
            raise NoOverloadError
        return chosen(frame) if value else other(frame)

    return Typed(first.type if first.type not in (DYN, NULL) else second.type, run)


def _equality(*, negated: bool) -> Macro:
    def macro(compiler: Compiler, call: Call) -> Typed:
        left, right = (compiler.compile(arg) for arg in call.args)
        if not assignable(left.type, right.type, {}):
            shown = f"({left.type}, {right.type})"
            fail(f"found no matching overload for '{call.function}' applied to '{shown}'", call.offset)
        first, second = left.run, right.run
        same = comparator(left.type if left.type not in (DYN, NULL) else right.type)
        if negated:
            return Typed(BOOL, lambda frame: not same(first(frame), second(frame)))
        return Typed(BOOL, lambda frame: same(first(frame), second(frame)))

    return macro


# Presence


def _has(compiler: Compiler, call: Call) -> Typed:
    expr = call.args[0]
    if not isinstance(expr, Select):
        fail("invalid argument to has() macro", expr.offset)
    operand = compiler.compile(expr.operand)
    name, _ = compiler.field(operand, expr.field, expr.offset)
    inner = operand.run

    def run(frame: Frame) -> bool:
        value = inner(frame)
        if type(value) is Optional:
            value = value.value if value.present else {}
        if type(value) is not dict:
            raise NoOverloadError
        return name in value

    return Typed(BOOL, run)


# Comprehensions


def _ranged(compiler: Compiler, call: Call) -> tuple[Run, Type]:
    """The range of a comprehension."""
    target = call.target
    if target is None:
        raise AssertionError("a comprehension is called as a method")
    over = compiler.compile(target)
    if over.type.name not in {"list", "map", "dyn"}:
        text = f"expression of type '{over.type}' cannot be range of a comprehension (must be list, map, or dynamic)"
        fail(text, target.offset)
    return over.run, over.type


def _name(expr: Expr) -> str:
    if not isinstance(expr, Ident):
        fail("argument must be a simple name", expr.offset)
    return expr.name


def _items(value: Any) -> Iterable[Any]:
    if type(value) is list:
        return value
    if type(value) is dict:
        return list(value)
    raise NoOverloadError


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    if type(value) is list:
        return enumerate(value)
    if type(value) is dict:
        return list(value.items())
    raise NoOverloadError


class _Loop:
    """A comprehension with one variable (item of a list, key of a map) or two (index or key, and value)."""

    def __init__(self, compiler: Compiler, call: Call, variables: int) -> None:
        self._compiler = compiler
        self._outer = dict(compiler.scope)
        self.over, self.type = _ranged(compiler, call)
        keys, values = DYN, DYN
        if self.type.name == "list":
            keys, values = INT, self.type.args[0]
        elif self.type.name == "map":
            keys, values = self.type.args
        self.entry = values if self.type.name == "list" else keys
        if variables == 1:
            self._first = compiler.variable(_name(call.args[0]), self.entry).slot
            self._second = -1
        else:
            self._first = compiler.variable(_name(call.args[0]), keys).slot
            self._second = compiler.variable(_name(call.args[1]), values).slot

    def body(self, expr: Expr) -> Typed:
        """Compile an expression inside the comprehension."""
        return self._compiler.compile(expr)

    def condition(self, expr: Expr, call: Call) -> Run:
        """Compile a condition inside the comprehension."""
        return _boolean(self._compiler, expr, call)

    def close(self) -> None:
        """Restore the outer scope."""
        self._compiler.scope = self._outer

    def rounds(self, frame: Frame) -> Iterable[Any]:
        """Set the variables for each iteration; yields the item, or the key."""
        value = self.over(frame)
        first, second = self._first, self._second
        if second < 0:
            for item in _items(value):
                frame[first] = item
                yield item
        else:
            for key, item in _pairs(value):
                frame[first] = key
                frame[second] = item
                yield key


def _quantifier(variables: int, *, decisive: bool) -> Macro:
    """``all`` (False decides) and ``exists`` (True decides)."""

    def macro(compiler: Compiler, call: Call) -> Typed:
        loop = _Loop(compiler, call, variables)
        test = loop.condition(call.args[-1], call)
        loop.close()

        def run(frame: Frame) -> bool:
            error: CelError | None = None
            for _ in loop.rounds(frame):
                try:
                    value = test(frame)
                except CelError as raised:
                    error = raised
                    continue
                if type(value) is not bool:
                    error = NoOverloadError()
                elif value == decisive:
                    return decisive
            if error is not None:
                raise error
            return not decisive

        return Typed(BOOL, run)

    return macro


def _exists_one(variables: int) -> Macro:
    def macro(compiler: Compiler, call: Call) -> Typed:
        loop = _Loop(compiler, call, variables)
        test = loop.condition(call.args[-1], call)
        loop.close()
        return Typed(BOOL, lambda frame: sum(test(frame) is True for _ in loop.rounds(frame)) == 1)

    return macro


def _filter(compiler: Compiler, call: Call) -> Typed:
    loop = _Loop(compiler, call, 1)
    test = loop.condition(call.args[1], call)
    loop.close()
    return Typed(list_of(loop.entry), lambda frame: [item for item in loop.rounds(frame) if test(frame) is True])


def _transform_list(variables: int, *, filtered: bool) -> Macro:
    """``map`` and ``transformList``, with or without a condition."""

    def macro(compiler: Compiler, call: Call) -> Typed:
        loop = _Loop(compiler, call, variables)
        test = loop.condition(call.args[-2], call) if filtered else None
        body = loop.body(call.args[-1])
        loop.close()
        value = body.run
        if test is None:
            return Typed(list_of(body.type), lambda frame: [value(frame) for _ in loop.rounds(frame)])
        passes = test
        return Typed(
            list_of(body.type), lambda frame: [value(frame) for _ in loop.rounds(frame) if passes(frame) is True]
        )

    return macro


def _transform_map(*, filtered: bool) -> Macro:
    def macro(compiler: Compiler, call: Call) -> Typed:
        loop = _Loop(compiler, call, 2)
        test = loop.condition(call.args[2], call) if filtered else None
        body = loop.body(call.args[-1])
        loop.close()
        value = body.run
        keys = loop.type.args[0] if loop.type.name == "map" else INT if loop.type.name == "list" else DYN

        def run(frame: Frame) -> dict[Any, Any]:
            return {key: value(frame) for key in loop.rounds(frame) if test is None or test(frame) is True}

        return Typed(Type("map", (keys, body.type)), run)

    return macro


# Optionals


def _opt_map(*, flat: bool) -> Macro:
    """``optMap`` and ``optFlatMap``: apply an expression to a present value."""

    def macro(compiler: Compiler, call: Call) -> Typed | None:
        if call.target is None:
            return None
        over = compiler.compile(call.target)
        outer = dict(compiler.scope)
        inner = over.type.args[0] if over.type.name == "optional" else DYN
        slot = compiler.variable(_name(call.args[0]), inner).slot
        body = compiler.compile(call.args[1])
        compiler.scope = outer
        source, value = over.run, body.run

        def run(frame: Frame) -> Optional:
            optional = source(frame)
            if type(optional) is not Optional:
                raise NoOverloadError
            if not optional.present:
                return NONE
            frame[slot] = optional.value
            result = value(frame)
            return result if flat else Optional(result)

        return Typed(body.type if flat else optional_of(body.type), run)

    return macro


MACROS: Final[Macros] = {
    ("_&&_", False, 2): _and,
    ("_||_", False, 2): _or,
    ("!_", False, 1): _not,
    ("_?_:_", False, 3): _conditional,
    ("_==_", False, 2): _equality(negated=False),
    ("_!=_", False, 2): _equality(negated=True),
    ("has", False, 1): _has,
    ("all", True, 2): _quantifier(1, decisive=False),
    ("all", True, 3): _quantifier(2, decisive=False),
    ("exists", True, 2): _quantifier(1, decisive=True),
    ("exists", True, 3): _quantifier(2, decisive=True),
    ("exists_one", True, 2): _exists_one(1),
    ("existsOne", True, 2): _exists_one(1),
    ("exists_one", True, 3): _exists_one(2),
    ("existsOne", True, 3): _exists_one(2),
    ("filter", True, 2): _filter,
    ("map", True, 2): _transform_list(1, filtered=False),
    ("map", True, 3): _transform_list(1, filtered=True),
    ("transformList", True, 3): _transform_list(2, filtered=False),
    ("transformList", True, 4): _transform_list(2, filtered=True),
    ("transformMap", True, 3): _transform_map(filtered=False),
    ("transformMap", True, 4): _transform_map(filtered=True),
    ("optMap", True, 2): _opt_map(flat=False),
    ("optFlatMap", True, 2): _opt_map(flat=True),
}
