"""JSON merge patch (RFC 7386)."""

from uniteddeployment.embedded.apimachinery.resources import Obj


def apply(doc: Obj, patch: Obj) -> Obj:
    """Apply a merge patch: null deletes, objects are merged, all other values (also lists) replace.

    Neither argument is changed; the result may share parts with both.
    """
    result = dict(doc)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            below = result.get(name)
            result[name] = apply(below if isinstance(below, dict) else {}, value)
        else:
            result[name] = value
    return result
