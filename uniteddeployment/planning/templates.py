"""Pod templates: what a subset changes in one, and the hash that identifies the result.

A revision is a hash of what users wrote into the pod template (and into a subset's patch to it), not of what we make of
it: a new version of the controller restarts nothing, and neither does a change of the update strategy.

What a subset changes of its workload is written in one place and belongs to two things. What reaches the pod template
goes with the template: it is hashed into the subset's revision, kept in history, and held back by the partition. The
rest (minReadySeconds, a strategy, labels of the workload) is applied at once and restarts nothing.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from uniteddeployment_api import patches
from uniteddeployment_api.strategic import PatchError

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no look-alikes, as Kubernetes has it for generated names: no words come out by accident."""
HASH_LENGTH = 10


def canonical(value: Any) -> bytes:
    """One text per value: sorted keys, no white space."""
    return msgspec.json.encode(value, order="sorted")


def digest(value: Any) -> str:
    """A short name-safe hash (27**10 values, 47 bits)."""
    number = int.from_bytes(hashlib.blake2b(canonical(value), digest_size=8).digest(), "big")
    letters = []
    for _ in range(HASH_LENGTH):
        number, rest = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[rest])
    return "".join(letters)


def subset_hash(
    template: Mapping[str, Any], patch: Mapping[str, Any] | None, overrides: Sequence[Mapping[str, Any]] = ()
) -> str:
    """The revision of a subset: of the template alone where the subset changes nothing in it."""
    return digest({"template": template} | _given(patch=patch, overrides=overrides))


def application_hash(
    template: Mapping[str, Any], patches: Mapping[str, Any], overrides: Mapping[str, Any] | None = None
) -> str:
    """The revision of the application: equal to its subsets' where none changes anything in the template."""
    return digest({"template": template} | _given(patches=patches, overrides=overrides))


def _given(**parts: Any) -> dict[str, Any]:
    return {name: part for name, part in parts.items() if part}


_DIRECTIVE = "$patch"


def template_patch(patch: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a patch that reaches the pod template, with the pod template as its root; empty if there is none."""
    try:
        for_workload = patches.is_for_workload(patch)
    except PatchError:
        return patch  # it cannot be applied, and whoever renders it says why
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
    """The pod template of a workload after what a revision holds for a subset. Raises PatchError."""
    template: Mapping[str, Any] = with_all_changes(workload, patch, operations)["spec"]["template"]
    return template


def with_all_changes(
    workload: Mapping[str, Any], patch: Mapping[str, Any] | None, operations: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    """A workload as a subset changes it. Raises PatchError with the path from the root of the subset."""
    try:
        patched = patches.with_patch(workload, patch) if patch else workload
    except PatchError as error:
        raise PatchError(f"patch.{error.path}" if error.path else "patch", error.reason) from None
    try:
        made = patches.with_overrides(patched, operations) if operations else patched
        if patch or operations:
            patches.check_size(made)
    except PatchError as error:
        raise PatchError(f"overrides{error.path}" if operations else "patch", error.reason) from None
    if not isinstance(made["spec"].get("template"), Mapping):
        raise PatchError("patch.spec.template", "a workload needs a pod template")
    return made
