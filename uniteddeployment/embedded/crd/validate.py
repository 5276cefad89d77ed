"""Validation of values by a structural schema, with the real server's messages in its order.

:func:`compile_validator` compiles a schema to one function that appends causes to a list. On an update it also gets the
old value and ignores errors of unchanged values (ratcheting), so that a schema may become stricter without blocking
unrelated changes. Old values are correlated through maps and lists with keys.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from uniteddeployment.embedded.crd import field_errors as fe
from uniteddeployment.embedded.crd.field_errors import Path, render
from uniteddeployment.embedded.crd.formats import FORMATS
from uniteddeployment.embedded.crd.regex import compile_re2
from uniteddeployment.embedded.crd.structural import NOTHING, Node
from uniteddeployment.embedded.errors import Cause

Check = Callable[[Any, Any, Path, list[Cause]], None]
"""Checks (value, old value or NOTHING, path) and appends the errors."""

_TYPE_NAMES: Final[dict[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}


def type_name(value: Any) -> str:
    """The JSON type of a value in messages."""
    return _TYPE_NAMES[type(value)]


def _where(path: Path) -> str:
    """The path in messages; empty for the whole value."""
    return f"{render(path) if path is not None else ''} in body"


def compile_validator(node: Node) -> Check:
    """The function that validates a value by ``node`` and everything below it."""
    type_check = _types(node)
    common = _enum(node)
    always = tuple(check for check in (type_check, _combinations(node)) if check is not None)
    by_type: dict[type, tuple[Check, ...]] = {
        str: _present(_string(node), _format(node), common),
        bool: _present(common),
        int: _present(_number(node), common),
        float: _present(_number(node), common),
        list: _present(_list(node), common),
        dict: _present(common, _object(node)),
    }
    checks = {kind: always + own for kind, own in by_type.items()}
    checks[type(None)] = () if node.nullable else tuple(c for c in (type_check, common) if c is not None)

    def validate(value: Any, old: Any, path: Path, errors: list[Cause]) -> None:
        if old is not NOTHING and value == old and type(value) is type(old):
            return
        for check in checks[type(value)]:
            check(value, old, path, errors)

    return validate


def _present(*checks: Check | None) -> tuple[Check, ...]:
    return tuple(check for check in checks if check is not None)


def _types(node: Node) -> Check | None:
    types = node.types
    if not types:
        return None
    wanted = ",".join(types)

    def check(value: Any, _old: Any, path: Path, errors: list[Cause]) -> None:
        name = _TYPE_NAMES[type(value)]
        if name in types or (name == "integer" and "number" in types):
            return
        if name == "number" and "integer" in types and value.is_integer():
            return
        errors.append(fe.type_invalid(path, name, f'{_where(path)} must be of type {wanted}: "{name}"'))

    return check


def _enum(node: Node) -> Check | None:
    allowed = node.raw.get("enum")
    if not allowed:
        return None

    def check(value: Any, _old: Any, path: Path, errors: list[Cause]) -> None:
        if value not in allowed:
            errors.append(fe.not_supported(path, value, allowed))

    return check


def _string(node: Node) -> Check | None:
    shortest, longest, pattern = (node.raw.get(key) for key in ("minLength", "maxLength", "pattern"))
    if shortest is None and longest is None and not pattern:
        return None
    search = compile_re2(pattern).search if pattern else None

    def check(value: str, _old: Any, path: Path, errors: list[Cause]) -> None:
        if longest is not None and len(value) > longest:
            errors.append(fe.too_long(path, longest))
        if shortest is not None and len(value) < shortest:
            errors.append(fe.invalid(path, value, f"{_where(path)} should be at least {shortest} chars long"))
        if search is not None and search(value) is None:
            errors.append(fe.invalid(path, value, f"{_where(path)} should match '{pattern}'"))

    return check


def _format(node: Node) -> Check | None:
    name = node.raw.get("format", "")
    valid = FORMATS.get(name)
    if valid is None:
        return None

    def check(value: str, _old: Any, path: Path, errors: list[Cause]) -> None:
        if not valid(value):
            errors.append(fe.type_invalid(path, value, f"{_where(path)} must be of type {name}: {fe.quote(value)}"))

    return check


def _number(node: Node) -> Check | None:
    raw = node.raw
    lowest, highest, step = raw.get("minimum"), raw.get("maximum"), raw.get("multipleOf")
    over, under = bool(raw.get("exclusiveMinimum")), bool(raw.get("exclusiveMaximum"))
    integral = node.type == "integer"
    if lowest is None and highest is None and not step and not integral:
        return None
    in_range = _range(raw.get("format", "")) if integral else None

    def check(value: float, _old: Any, path: Path, errors: list[Cause]) -> None:
        if step and not _is_multiple(value, step):
            errors.append(fe.invalid(path, value, f"{_where(path)} should be a multiple of {fe.number(step)}"))
        if highest is not None and (value > highest or (under and value == highest)):
            than = "less than" if under else "less than or equal to"
            errors.append(fe.invalid(path, value, f"{_where(path)} should be {than} {fe.number(highest)}"))
        if lowest is not None and (value < lowest or (over and value == lowest)):
            than = "greater than" if over else "greater than or equal to"
            errors.append(fe.invalid(path, value, f"{_where(path)} should be {than} {fe.number(lowest)}"))
        if in_range is not None and not in_range(value):
            kind = f"with format {raw['format']}" if raw.get("format") else "(default format)"
            errors.append(fe.invalid(None, "", f"Checked value must be of type integer {kind} in {render(path)}"))

    return check


def _is_multiple(value: float, step: float) -> bool:
    """Whether a value is a multiple; tolerant, because fractions such as 0.1 are not exact."""
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    ratio = value / step
    return abs(ratio - round(ratio)) < 1e-9


def _range(format_: str) -> Callable[[float], bool]:
    bits = 31 if format_ == "int32" else 63
    lowest, highest = -(2**bits), 2**bits - 1
    return lambda value: lowest <= value <= highest and float(value).is_integer()


def _list(node: Node) -> Check | None:
    fewest, most, unique = (node.raw.get(key) for key in ("minItems", "maxItems", "uniqueItems"))
    item = compile_validator(node.items) if node.items is not None else None
    if item is None and fewest is None and most is None and not unique:
        return None
    keyed = node.map_keys if node.list_type == "map" else ()

    def check(value: list[Any], old: Any, path: Path, errors: list[Cause]) -> None:
        if item is not None:
            before = by_keys(old, keyed) if keyed and type(old) is list else {}
            for index, entry in enumerate(value):
                former = before.get(key_of(entry, keyed), NOTHING) if before else NOTHING
                item(entry, former, (path, f"[{index}]"), errors)
        if fewest is not None and len(value) < fewest:
            errors.append(fe.invalid(path, len(value), f"{_where(path)} should have at least {fewest} items"))
        if most is not None and len(value) > most:
            errors.append(fe.too_many(path, len(value), most))
        if unique and any(entry in value[:index] for index, entry in enumerate(value)):
            errors.append(fe.invalid(path, value, f"{_where(path)} shouldn't contain duplicates"))

    return check


def key_of(entry: Any, keys: tuple[str, ...]) -> tuple[Any, ...] | None:
    """The key of an item of a list with keys; None if it is not a map or has no valid key."""
    if type(entry) is not dict:
        return None
    values = tuple(entry.get(key) for key in keys)
    return None if any(isinstance(value, dict | list) for value in values) else values


def by_keys(entries: list[Any], keys: tuple[str, ...]) -> dict[tuple[Any, ...] | None, Any]:
    """The items of a list with keys, by key."""
    return {key: entry for entry in entries if (key := key_of(entry, keys)) is not None}


def _object(node: Node) -> Check | None:
    fewest, most = node.raw.get("minProperties"), node.raw.get("maxProperties")
    required = tuple((name, f".{name}") for name in node.required)
    children = {name: (compile_validator(sub), f".{name}") for name, sub in node.properties.items()}
    entry = compile_validator(node.additional) if node.additional is not None else None
    if not children and entry is None and not required and fewest is None and most is None:
        return None

    def check(value: dict[str, Any], old: Any, path: Path, errors: list[Cause]) -> None:
        if fewest is not None and len(value) < fewest:
            errors.append(fe.invalid(path, len(value), f"{_where(path)} should have at least {fewest} properties"))
        if most is not None and len(value) > most:
            errors.append(fe.too_many(path, len(value), most))
        for name, segment in required:
            if name not in value:
                errors.append(fe.required((path, segment)))
        before: Mapping[str, Any] = old if type(old) is dict else {}
        for key, item in value.items():
            declared = children.get(key)
            if declared is not None:
                declared[0](item, before.get(key, NOTHING), (path, declared[1]), errors)
            elif entry is not None:
                entry(item, before.get(key, NOTHING), (path, f".{key}"), errors)

    return check


def _combinations(node: Node) -> Check | None:
    parts = _present(_any_of(node), _one_of(node), _all_of(node), _not(node))
    if not parts:
        return None

    def check(value: Any, old: Any, path: Path, errors: list[Cause]) -> None:
        for part in parts:
            part(value, old, path, errors)

    return check


def _problems(check: Check, value: Any, path: Path) -> list[Cause]:
    errors: list[Cause] = []
    check(value, NOTHING, path, errors)
    return errors


def _any_of(node: Node) -> Check | None:
    branches = tuple(compile_validator(sub) for sub in node.any_of)
    if not branches:
        return None

    def check(value: Any, _old: Any, path: Path, errors: list[Cause]) -> None:
        failures: list[list[Cause]] = []
        for branch in branches:
            problems = _problems(branch, value, path)
            if not problems:
                return
            failures.append(problems)
        errors.append(fe.invalid(None, "", f'"{render(path)}" must validate at least one schema (anyOf)'))
        errors.extend(failures[0])

    return check


def _one_of(node: Node) -> Check | None:
    branches = tuple(compile_validator(sub) for sub in node.one_of)
    if not branches:
        return None

    def check(value: Any, _old: Any, path: Path, errors: list[Cause]) -> None:
        results = [_problems(branch, value, path) for branch in branches]
        valid = sum(not problems for problems in results)
        if valid == 1:
            return
        count = f"Found {valid} valid alternatives" if valid else "Found none valid"
        text = f'"{render(path)}" must validate one and only one schema (oneOf). {count}'
        errors.append(fe.invalid(None, "", text))
        if not valid:
            errors.extend(results[0])

    return check


def _all_of(node: Node) -> Check | None:
    branches = tuple(compile_validator(sub) for sub in node.all_of)
    if not branches:
        return None

    def check(value: Any, _old: Any, path: Path, errors: list[Cause]) -> None:
        results = [problems for branch in branches if (problems := _problems(branch, value, path))]
        for problems in results:
            errors.extend(problems)
        if results:
            suffix = ". None validated" if len(results) == len(branches) else ""
            errors.append(fe.invalid(None, "", f'"{render(path)}" must validate all the schemas (allOf){suffix}'))

    return check


def _not(node: Node) -> Check | None:
    if node.negated is None:
        return None
    branch = compile_validator(node.negated)

    def check(value: Any, _old: Any, path: Path, errors: list[Cause]) -> None:
        if not _problems(branch, value, path):
            errors.append(fe.invalid(None, "", f'"{render(path)}" must not validate the schema (not)'))

    return check
