"""Evaluation of a schema's rules on an object.

Rules on ``oldSelf`` are evaluated where an old value can be correlated, through maps and lists with keys. A failure on
an unchanged value is ignored, unless the rule uses the old value.
"""

from collections.abc import Callable
from typing import Any

from uniteddeployment.embedded.crd import field_errors as fe
from uniteddeployment.embedded.crd.cel.compilation import Rule, RuleError, compile_rule
from uniteddeployment.embedded.crd.cel.declarations import declared
from uniteddeployment.embedded.crd.cel.values import NONE, CelError, Optional
from uniteddeployment.embedded.crd.field_errors import OMIT, Path
from uniteddeployment.embedded.crd.structural import NOTHING, Node
from uniteddeployment.embedded.crd.validate import by_keys, key_of
from uniteddeployment.embedded.errors import Cause

Check = Callable[[Any, Any, bool, Path, list[Cause]], None]
"""Checks (value, old value or NOTHING, whether it is part of something unchanged, path)."""

MESSAGE_LIMIT = 5 * 1024


def compile_rules(node: Node, *, is_root: bool = False) -> Check | None:
    """The function that evaluates the rules of a node and of all nodes below; None if there are none."""
    own, broken = _own(node, is_root=is_root)
    children = {name: inner for name, sub in node.properties.items() if (inner := compile_rules(sub))}
    entry = compile_rules(node.additional) if node.additional is not None else None
    item = compile_rules(node.items) if node.items is not None else None
    if not (own or broken or children or entry or item):
        return None
    check_map = _map(node, children, entry) if children or entry else None
    check_list = _list(node, item) if item else None

    def check(value: Any, old: Any, same: bool, path: Path, errors: list[Cause]) -> None:  # hot
        if value is None:
            return
        if not same and old is not NOTHING:
            same = type(value) is type(old) and value == old
        errors.extend(fe.invalid(path, node.type, text) for text in broken)
        for rule in own:
            cause = _evaluate(rule, value, old, path, same=same)
            if cause is not None:
                errors.append(cause)
        if check_map is not None and type(value) is dict:
            check_map(value, old, same, path, errors)
        elif check_list is not None and type(value) is list:
            check_list(value, old, same, path, errors)

    return check


def _own(node: Node, *, is_root: bool) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules of a node, and messages about those that do not compile.

    Definitions with such rules are refused. If one is stored anyway, its objects are refused, as on the real
    server.
    """
    kind = declared(node, root=is_root)
    if kind is None:
        return (), ()
    rules: list[Rule] = []
    broken: list[str] = []
    for raw in node.rules:
        try:
            rules.append(compile_rule(raw, kind, node.type))
        except RuleError as error:
            broken.append(f"rule compile error: {error}")
    return tuple(rules), tuple(broken)


def _map(node: Node, children: dict[str, Check], entry: Check | None) -> Check:
    correlatable = node.map_type != "atomic"

    def check(value: dict[str, Any], old: Any, same: bool, path: Path, errors: list[Cause]) -> None:
        before = old if correlatable and type(old) is dict else {}
        for key, item in value.items():
            inner = children.get(key)
            if inner is not None:
                inner(item, before.get(key, NOTHING), same, (path, f".{key}"), errors)
            elif entry is not None:
                entry(item, before.get(key, NOTHING), same, (path, f"[{key}]"), errors)

    return check


def _list(node: Node, item: Check) -> Check:
    keys = node.map_keys if node.list_type == "map" else ()

    def check(value: list[Any], old: Any, same: bool, path: Path, errors: list[Cause]) -> None:
        before = by_keys(old, keys) if keys and type(old) is list else {}
        for index, entry in enumerate(value):
            former = before.get(key_of(entry, keys), NOTHING) if before else NOTHING
            item(entry, former, same, (path, f"[{index}]"), errors)

    return check


def _evaluate(rule: Rule, value: Any, old: Any, path: Path, *, same: bool) -> Cause | None:
    if rule.program.uses_old and (old is NOTHING or old is None) and not rule.optional_old:
        return None
    seen = old
    if rule.optional_old:
        seen = NONE if old is NOTHING or old is None else Optional(old)
    try:
        if rule.program.evaluate(value, seen) is True:
            return None
    except CelError as error:
        return _not_evaluated(rule, str(error), path)
    if same and not rule.program.uses_old:
        return None
    return _failed(rule, value, old, path)


def _not_evaluated(rule: Rule, error: str, path: Path) -> Cause:
    if error == "no such overload":
        text = (
            f"'{error}': call arguments did not match a supported operator, function or macro signature for rule: "
            f"{rule.label}"
        )
    else:
        text = f"{error} evaluating rule: {rule.label}"
    return fe.invalid(path, rule.on, text)


def _failed(rule: Rule, value: Any, old: Any, path: Path) -> Cause:
    detail = _message(rule, value, old) or rule.detail
    at: Path = (path, rule.field_path) if rule.field_path else path
    shown = OMIT if rule.on in {"object", "array"} else value
    if rule.reason == "FieldValueForbidden":
        return fe.forbidden(at, detail)
    if rule.reason == "FieldValueRequired":
        return fe.required(at, detail)
    if rule.reason == "FieldValueDuplicate":
        return fe.duplicate(at, shown)
    return fe.invalid(at, shown, detail)


def _message(rule: Rule, value: Any, old: Any) -> str:
    """The text of the rule's message expression; empty if it is unusable."""
    if rule.message_expression is None:
        return ""
    try:
        message = rule.message_expression.evaluate(value, old)
    except CelError:
        return ""
    text = message.strip() if isinstance(message, str) else ""
    return "" if "\n" in text or len(text.encode()) > MESSAGE_LIMIT else text
