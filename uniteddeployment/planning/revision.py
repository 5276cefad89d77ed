"""Which revision a pod template is, and which revisions to keep.

A revision is a hash of what users wrote into the pod template (and into a subset's patch to it), not of what we make of
it: a new version of the controller restarts nothing, and neither does a change of the update strategy.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from uniteddeployment.planning.observed import RevisionData, RevisionRecord

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


def subset_hashes(data: RevisionData) -> dict[str, str]:
    """Subset -> revision, for the subsets that change something in the pod template."""
    changed = sorted({*data.patches, *data.overrides})
    return {name: subset_hash(data.template, data.patches.get(name), data.overrides.get(name, ())) for name in changed}


def mismatch(record: RevisionRecord, data: RevisionData) -> str:
    """Why the data of a ControllerRevision cannot be what we wrote into it; nothing if it can.

    Its name ends with the hash of what it holds, and a name cannot be changed.
    """
    if not record.name.endswith(f"-{application_hash(data.template, data.patches, data.overrides)}"):
        return "its data is not what its name says"
    if record.template_hash != digest({"template": data.template}) or dict(record.patched) != subset_hashes(data):
        return "its annotations do not fit its data"
    return ""


def _given(**parts: Any) -> dict[str, Any]:
    return {name: part for name, part in parts.items() if part}


def to_trim(
    revisions: Sequence[RevisionRecord], *, limit: int, in_use: Collection[str], live_hashes: Collection[str]
) -> tuple[RevisionRecord, ...]:
    """The oldest revisions beyond ``limit`` that nothing needs.

    ``in_use`` are names (the current and the updated revision), ``live_hashes`` the revisions that any workload or pod
    still carries; those are kept and do not count against the limit.
    """
    idle = [
        revision
        for revision in revisions
        if revision.name not in in_use
        and revision.template_hash not in live_hashes
        and not any(value in live_hashes for value in revision.patched.values())
    ]
    idle.sort(key=lambda revision: revision.number)
    return tuple(idle[: max(0, len(idle) - limit)])
