"""Go's formatting of values, which the real server's messages contain."""

from typing import Any

import msgspec


def go_json(value: Any, *, ordered: bool = True) -> str:
    """JSON as Go writes it, with sorted keys if a value is a map (``ordered``) and not a struct."""
    text = msgspec.json.encode(value, order="deterministic" if ordered else None).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def go_value(value: Any) -> str:
    """A wrapped value as ``%v`` prints it: ``&{map[a:1]}``."""
    return "&{" + go_plain(value) + "}"


def go_syntax(value: Any) -> str:
    """A wrapped value as ``%#v`` prints it: ``&value.valueUnstructured{Value:5}``."""
    return "&value.valueUnstructured{Value:" + _syntax(value) + "}"


def _syntax(value: Any) -> str:
    if isinstance(value, dict):
        items = ", ".join(f"{_syntax(name)}:{_syntax(value[name])}" for name in sorted(value))
        return "map[string]interface {}{" + items + "}"
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(_syntax(item) for item in value) + "}"
    if value is None:
        return "interface {}(nil)"
    return msgspec.json.encode(value).decode()


def go_plain(value: Any) -> str:
    """A value as ``%v`` prints it: ``map[a:1 b:[x y]]``."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{go_plain(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_plain(item) for item in value) + "]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def go_type(value: Any) -> str:
    """The type of a decoded JSON value as ``%T`` prints it."""
    if isinstance(value, bool):
        return "bool"
    names = {str: "string", dict: "map[string]interface {}", list: "[]interface {}", int: "int64", float: "float64"}
    return names.get(type(value), "<nil>")
