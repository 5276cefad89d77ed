"""Strategic merge patch for workloads and pod templates, as in ``kubectl patch``.

Maps merge by key, lists of objects merge by their merge key, and ``null`` deletes a field. ``$patch: delete|replace``
and ``$retainKeys`` are supported; ``$setElementOrder`` and ``$deleteFromPrimitiveList`` are ignored. Merge keys are
those of PodTemplateSpec in Kubernetes 1.36; other lists are replaced.
"""

from collections.abc import Hashable, Mapping
from typing import Any

MERGE_KEYS: Mapping[str, str] = {
    "containers": "name",
    "ephemeralContainers": "name",
    "initContainers": "name",
    "env": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "ports": "containerPort",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"


class PatchError(ValueError):
    """A patch that cannot be applied. ``path`` is the location in the patch, from its root."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.reason = message


def merge(document: Any, patch: Any, path: str = "") -> Any:
    """Return ``document`` with ``patch`` applied. Neither argument is changed. Raises :class:`PatchError`."""
    if not isinstance(patch, Mapping):
        return patch
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise PatchError(path, f"$patch must be merge, replace or delete, not {directive!r}")
    result = dict(document) if isinstance(document, Mapping) else {}
    retain = patch.get(_RETAIN)
    if retain is not None:
        result = {key: value for key, value in result.items() if key in retain}
    for key, value in patch.items():
        if key.startswith(("$setElementOrder/", "$deleteFromPrimitiveList/")) or key in (_DIRECTIVE, _RETAIN):
            continue
        where = f"{path}.{key}" if path else key
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            result[key] = merge(result.get(key), value, where)
        elif isinstance(value, list) and key in MERGE_KEYS:
            items = result.get(key)
            result[key] = _merge_list(items if isinstance(items, list) else [], value, MERGE_KEYS[key], where)
        else:
            result[key] = value
    return result


def _merge_list(items: list[Any], patches: list[Any], merge_key: str, path: str) -> list[Any]:
    if any(isinstance(patch, Mapping) and patch == {_DIRECTIVE: "replace"} for patch in patches):
        return [patch for patch in patches if patch != {_DIRECTIVE: "replace"}]
    # Indexed by key, because a linear search for each patch would be quadratic in the length of user input.
    result: dict[Hashable, Any] = {}
    for index, item in enumerate(items):
        key = _key(item[merge_key]) if isinstance(item, Mapping) and merge_key in item else None
        result[(index,) if key is None or key in result else key] = item
    for index, patch in enumerate(patches):
        where = f"{path}[{index}]"
        if not isinstance(patch, Mapping):
            raise PatchError(where, "must be an object")
        if merge_key not in patch:
            raise PatchError(where, f"requires {merge_key!r}, the merge key of this list")
        key = _key(patch[merge_key])
        if key is None:
            raise PatchError(f"{where}.{merge_key}", "must be a string or a number")
        if patch.get(_DIRECTIVE) == "delete":
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key, {}), patch, where)
    return list(result.values())


def _key(value: Any) -> Hashable | None:
    """Return a hashable form of a merge key value; None if it cannot be one. As in JSON, 1 equals 1.0, but not true."""
    return (isinstance(value, bool), value) if isinstance(value, str | int | float) else None
