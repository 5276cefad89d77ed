"""Pod templates: the changes that a subset makes, and the hash that identifies the result.

A revision is a hash of what users have written into the pod template and into a subset's changes to it, not of what the
controller makes of it. So neither a new version of the controller nor a change of the update strategy restarts pods.

A subset's changes to its workload are written in one place, but have two parts. The part that changes the pod template
belongs to the revision: it is hashed, kept in history, and held by the partition. The rest (minReadySeconds, a
strategy, labels of the workload) is applied at once and restarts nothing.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from uniteddeployment_api import patches
from uniteddeployment_api.strategic import PatchError

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no look-alikes, as in the names that Kubernetes generates, so that no words appear by accident."""
HASH_LENGTH = 10


def canonical(value: Any) -> bytes:
    """Encode a value as JSON with sorted keys and no white space, so that equal values give equal bytes."""
    return msgspec.json.encode(value, order="sorted")


def digest(value: Any) -> str:
    """Return a short hash that can be part of a name (27**10 values, 47 bits)."""
    number = int.from_bytes(hashlib.blake2b(canonical(value), digest_size=8).digest(), "big")
    letters = []
    for _ in range(HASH_LENGTH):
        number, rest = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[rest])
    return "".join(letters)


def subset_hash(
    template: Mapping[str, Any], patch: Mapping[str, Any] | None, overrides: Sequence[Mapping[str, Any]] = ()
) -> str:
    """The revision of a subset; that of the template alone if the subset does not change it."""
    return digest({"template": template} | _given(patch=patch, overrides=overrides))


def application_hash(
    template: Mapping[str, Any], patches: Mapping[str, Any], overrides: Mapping[str, Any] | None = None
) -> str:
    """The revision of the application; equal to that of its subsets if none of them changes the template."""
    return digest({"template": template} | _given(patches=patches, overrides=overrides))


def _given(**parts: Any) -> dict[str, Any]:
    return {name: part for name, part in parts.items() if part}


_DIRECTIVE = "$patch"


def template_patch(patch: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a patch that reaches the pod template, with the pod template as its root; empty if there is none."""
    try:
        for_workload = patches.is_for_workload(patch)
    except PatchError:
        return patch  # it cannot be applied, and rendering it reports why
    if not for_workload:
        return patch
    spec = patch["spec"]
    template = spec.get("template") or {}
    if not isinstance(template, Mapping):
        return {}
    replaced = "replace" in (patch.get(_DIRECTIVE), spec.get(_DIRECTIVE))
    return {**template, _DIRECTIVE: "replace"} if replaced else template


def with_template_changes(
    workload: Mapping[str, Any], patch: Mapping[str, Any] | None, operations: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    """The pod template of a workload with the changes that a revision has for a subset. Raises PatchError."""
    template: Mapping[str, Any] = with_all_changes(workload, patch, operations)["spec"]["template"]
    return template


def with_all_changes(
    workload: Mapping[str, Any], patch: Mapping[str, Any] | None, operations: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    """A workload with the changes of a subset. Raises PatchError with the path from the root of the subset."""
    try:
        patched = patches.with_patch(workload, patch) if patch else workload
    except PatchError as error:
        raise PatchError(f"patch.{error.path}" if error.path else "patch", error.reason) from None
    try:
        changed = patches.with_overrides(patched, operations) if operations else patched
        if patch or operations:
            patches.check_size(changed)
    except PatchError as error:
        raise PatchError(f"overrides{error.path}" if operations else "patch", error.reason) from None
    if not isinstance(changed["spec"].get("template"), Mapping):
        raise PatchError("patch.spec.template", "a workload needs a pod template")
    return changed
