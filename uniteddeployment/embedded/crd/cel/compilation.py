"""Validation rules of schemas: compiled for evaluation, and checked when a definition is written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from uniteddeployment.embedded.crd import field_errors as fe
from uniteddeployment.embedded.crd.cel.compiler import CompileError, Compiler, Frame, Run, Typed, Variable
from uniteddeployment.embedded.crd.cel.declarations import BOOL, DYN, STRING, Type, declared, optional_of
from uniteddeployment.embedded.crd.cel.macros import MACROS
from uniteddeployment.embedded.crd.cel.syntax import ParseError, parse
from uniteddeployment.embedded.crd.field_errors import Path, child
from uniteddeployment.embedded.crd.structural import Node
from uniteddeployment.embedded.errors import Cause

REASONS: Final = ("FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid", "FieldValueDuplicate")


RECURSION_LIMIT: Final = 250
"""The real compiler's limit on the nesting of expressions. Here Python's stack is the limit, which is of the same
order.
"""


class RuleError(ValueError):
    """A rule does not compile; the text is the complete message with the position in the expression."""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression over ``self`` and ``oldSelf``."""

    run: Run
    slots: int
    uses_old: bool
    type: Type

    def evaluate(self, value: Any, old: Any) -> Any:
        """The value of the expression. Raises CelError."""
        frame: Frame = [value, old, *([None] * (self.slots - 2))]
        return self.run(frame)


@lru_cache(maxsize=4096)
def compile_expression(source: str, self_type: Type, *, optional_old: bool = False) -> Program:
    """Compile an expression on a value of a type. Raises RuleError."""
    old = optional_of(self_type) if optional_old else self_type
    compiler = Compiler({"self": Variable(0, self_type), "oldSelf": Variable(1, old)}, MACROS)
    try:
        typed: Typed = compiler.compile(parse(source))
    except RecursionError:
        text = f"compilation failed: ERROR: <input>:-1:0: expression recursion limit exceeded: {RECURSION_LIMIT}"
        raise RuleError(text) from None
    except (ParseError, CompileError) as error:
        raise RuleError(f"compilation failed: {_explain(source, str(error), error.offset)}") from None
    return Program(typed.run, compiler.slots, "oldSelf" in compiler.used, typed.type)


def _explain(source: str, message: str, offset: int) -> str:
    """The message, the line and a pointer to the position."""
    before = source[:offset]
    line = before.count("\n")
    column = offset - (before.rfind("\n") + 1)
    shown = (source.split("\n") or [""])[line].replace("\t", " ")
    return f"ERROR: <input>:{line + 1}:{column + 1}: {message}\n | {shown}\n | {'.' * column}^"


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled validation rule."""

    program: Program
    source: str
    message: str
    message_expression: Program | None
    reason: str
    field_path: str
    optional_old: bool
    on: str
    """The JSON type that the schema declares for ``self``; empty if it allows several."""

    @property
    def label(self) -> str:
        """The name of the rule in evaluation errors."""
        return self.message or self.source

    @property
    def detail(self) -> str:
        """The message of a failure if no expression yields another one."""
        return self.message or f"failed rule: {self.source}"


def compile_rule(raw: Mapping[str, Any], self_type: Type, on: str) -> Rule:
    """Compile a rule and its message. Raises RuleError."""
    optional_old = bool(raw.get("optionalOldSelf"))
    expression = raw.get("messageExpression")
    return Rule(
        program=compile_expression(raw["rule"], self_type, optional_old=optional_old),
        source=raw["rule"].strip(),
        message=(raw.get("message") or "").strip(),
        message_expression=compile_expression(expression, self_type) if expression else None,
        reason=raw.get("reason") or "FieldValueInvalid",
        field_path=raw.get("fieldPath") or "",
        optional_old=optional_old,
        on=on,
    )


# Checking the rules of a schema


def check_rules(root: Node, path: Path) -> list[Cause]:
    """Validate the rules of a schema."""
    errors: list[Cause] = []
    _check_node(root, path, errors, is_root=True, uncorrelatable="")
    return errors


def _check_node(node: Node, path: Path, errors: list[Cause], *, is_root: bool, uncorrelatable: str) -> None:
    kind = declared(node, root=is_root)
    for index, raw in enumerate(node.rules):
        at = child(path, f"x-kubernetes-validations[{index}]")
        errors += _check_rule(raw, node, kind, at, uncorrelatable)
    for sub, below, lost in _below(node, path, uncorrelatable):
        _check_node(sub, below, errors, is_root=False, uncorrelatable=lost)


def _below(node: Node, path: Path, uncorrelatable: str) -> Iterator[tuple[Node, Path, str]]:
    """The nodes below, and the first place on the way at which old values cannot be correlated."""
    inside = uncorrelatable or (fe.render(path) if node.map_type == "atomic" else "")
    for name, sub in node.properties.items():
        yield sub, child(path, f"properties[{name}]"), inside
    if node.additional is not None:
        yield node.additional, child(path, "additionalProperties"), inside
    if node.items is not None:
        lost = uncorrelatable or (fe.render(path) if node.list_type != "map" else "")
        yield node.items, child(path, "items"), lost


def _check_rule(raw: Mapping[str, Any], node: Node, kind: Type | None, path: Path, lost: str) -> list[Cause]:
    errors = _check_texts(raw, node, path)
    at = child(path, "rule")
    source = raw.get("rule") or ""
    if not source.strip():
        return [*errors, fe.required(at, "rule is not specified")]
    if kind is None:
        return errors
    optional_old = bool(raw.get("optionalOldSelf"))
    try:
        program = compile_expression(source, kind, optional_old=optional_old)
    except RuleError as error:
        return [*errors, fe.invalid(at, _shown(raw), str(error))]
    if program.type not in (BOOL, DYN):
        errors.append(fe.invalid(at, _shown(raw), "cel expression must evaluate to a bool"))
    if program.uses_old and lost:
        text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {lost}"
        errors.append(fe.invalid(at, source, text))
    if raw.get("optionalOldSelf") is not None and not program.uses_old:
        text = "may not be set if oldSelf is not used in rule"
        errors.append(fe.invalid(child(path, "optionalOldSelf"), raw["optionalOldSelf"], text))
    expression = raw.get("messageExpression")
    if expression:
        errors += _check_message_expression(raw, expression, kind, path)
    return errors


def _check_message_expression(raw: Mapping[str, Any], expression: str, kind: Type, path: Path) -> list[Cause]:
    at = child(path, "messageExpression")
    try:
        program = compile_expression(expression, kind)
    except RuleError as error:
        return [fe.invalid(at, _shown(raw), f"messageExpression {error}")]
    if program.type not in (STRING, DYN):
        return [fe.invalid(at, _shown(raw), "messageExpression must evaluate to a string")]
    return []


def _shown(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A rule in messages: with Go's field names."""
    return {
        "Rule": raw.get("rule") or "",
        "Message": raw.get("message") or "",
        "MessageExpression": raw.get("messageExpression") or "",
        "Reason": raw.get("reason"),
        "FieldPath": raw.get("fieldPath") or "",
        "OptionalOldSelf": raw.get("optionalOldSelf"),
    }


def _check_texts(raw: Mapping[str, Any], node: Node, path: Path) -> list[Cause]:
    errors: list[Cause] = []
    message = raw.get("message") or ""
    if message and not message.strip():
        errors.append(fe.invalid(child(path, "message"), message, "message must be non-empty if specified"))
    elif "\n" in message.strip():
        errors.append(fe.invalid(child(path, "message"), message, "message must not contain line breaks"))
    elif "\n" in (raw.get("rule") or "").strip() and not message:
        text = "message must be specified if rule contains line breaks"
        errors.append(fe.required(child(path, "message"), text))
    reason = raw.get("reason")
    if reason and reason not in REASONS:
        errors.append(fe.not_supported(child(path, "reason"), reason, sorted(REASONS)))
    field_path = raw.get("fieldPath")
    if field_path and not field_exists(node, field_path):
        errors.append(fe.invalid(child(path, "fieldPath"), field_path, "fieldPath must be a valid path"))
    return errors


def field_exists(node: Node, dotted: str) -> bool:
    """Whether a path of names leads to a field of a schema."""
    if not dotted.startswith((".", "[")):
        return False
    current: Node | None = node
    for name in dotted.replace("['", ".").replace("']", "").removeprefix(".").split("."):
        if current is None:
            return False
        current = current.properties.get(name) or current.additional
    return current is not None
