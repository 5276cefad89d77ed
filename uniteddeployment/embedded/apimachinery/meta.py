"""Object metadata: fields that the server sets, keeps and validates.

Contract: functions work in place on a private copy and take time and randomness as arguments. Messages are the real
server's. On updates it checks metadata in several places and reports errors repeatedly, and so do the causes here.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.errors import Cause

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no characters that look alike, so that no suffix is a word."""

ANNOTATIONS_LIMIT = 256 * 1024
STANDARD_FINALIZERS = frozenset({"orphan", "foregroundDeletion", "kubernetes"})

_UUID_BITS = ~((0xC000 << 48) | (0xF000 << 64))
_UUID_VERSION = (0x8000 << 48) | (4 << 76)

_DROPPED_WHEN_EMPTY = (
    "labels", "annotations", "finalizers", "ownerReferences", "managedFields", "generateName", "resourceVersion",
    "uid", "namespace", "creationTimestamp", "deletionTimestamp", "name", "generation", "selfLink",
)  # fmt: skip
_SERVER_SET = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_IMMUTABLE = ("name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds")
_KEY_ORDER = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def timestamp(now: datetime) -> str:
    """A time in the format of metav1.Time: seconds, UTC."""
    return now.astimezone(UTC).isoformat()[:19] + "Z"


def parse_timestamp(text: str) -> datetime:
    """Parse the result of :func:`timestamp`."""
    return datetime.fromisoformat(text)


def new_uid(random: Random) -> str:
    """A version 4 UUID from the given randomness."""
    drawn = random.getrandbits(128) & _UUID_BITS | _UUID_VERSION
    digits = f"{drawn:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def generate_name(prefix: str, random: Random) -> str:
    """``prefix`` plus five random characters, truncated to fit a label value."""
    return prefix[:58] + "".join(random.choices(SUFFIX_ALPHABET, k=5))


def tidy(metadata: Obj) -> None:
    """Remove empty fields, as the real server's encoding does."""
    for field in _DROPPED_WHEN_EMPTY:
        if field in metadata and not metadata[field]:
            del metadata[field]


def wipe(metadata: Obj) -> None:
    """Remove the fields that only the server sets from a posted object."""
    for field in _SERVER_SET:
        metadata.pop(field, None)


def stamp(obj: Obj, now: datetime, random: Random) -> None:
    """Set the uid and creation time of a new object, and its name if it is generated."""
    metadata = obj["metadata"]
    for field in ("resourceVersion", "selfLink"):
        metadata.pop(field, None)
    metadata["uid"] = new_uid(random)
    metadata["creationTimestamp"] = timestamp(now)
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = generate_name(metadata["generateName"], random)
    tidy(metadata)


def keep(new: Obj, old: Obj) -> None:
    """Carry over the metadata that an update may omit, and that which no update can change."""
    metadata, before = new["metadata"], old["metadata"]
    tidy(metadata)
    metadata.pop("selfLink", None)
    metadata["creationTimestamp"] = before["creationTimestamp"]
    if not metadata.get("uid"):
        metadata["uid"] = before["uid"]
    if before.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
        if "deletionGracePeriodSeconds" in before:
            metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
    if "generation" in before:
        metadata["generation"] = before["generation"]
    else:
        metadata.pop("generation", None)


def check_new(obj: Obj, key: str, *, custom: bool) -> list[Cause]:
    """Validate the metadata of a new object."""
    metadata = obj["metadata"]
    causes: list[Cause] = []
    if prefix := metadata.get("generateName"):
        # A prefix may end in a dash, which a name may not: validate it as if a character followed.
        checked = f"{prefix[:-1]}a" if prefix.endswith("-") else prefix
        causes += [_bad("metadata.generateName", prefix, text) for text in names.object_name(key, checked)]
    if not metadata.get("name"):
        causes.append(Cause("FieldValueRequired", "Required value: name or generateName is required", "metadata.name"))
    else:
        name = metadata["name"]
        causes += [_bad("metadata.name", name, text) for text in names.object_name(key, name)]
    if (generation := metadata.get("generation", 0)) < 0:
        causes.append(_bad("metadata.generation", generation, "must be greater than or equal to 0"))
    causes += _check_fields(metadata)
    if not custom:
        causes += [
            _bad(
                f"metadata.finalizers[{i}]", name, "name is neither a standard finalizer name nor is it fully qualified"
            )
            for i, name in enumerate(metadata.get("finalizers", ()))
            if "/" not in name and name not in STANDARD_FINALIZERS
        ]
    return causes


def check_update(new: Obj, old: Obj) -> list[Cause]:
    """Validate a change of metadata."""
    metadata, before = new["metadata"], old["metadata"]
    causes: list[Cause] = []
    if before.get("deletionTimestamp"):
        added = [name for name in metadata.get("finalizers", ()) if name not in before.get("finalizers", ())]
        if added:
            shown = ", ".join(json.dumps(name) for name in added)
            text = (
                "Forbidden: no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{shown}}}"
            )
            causes.append(Cause("FieldValueForbidden", text, "metadata.finalizers"))
    causes += [
        _bad(f"metadata.{field}", metadata.get(field), "field is immutable")
        for field in _IMMUTABLE
        if metadata.get(field) != before.get(field)
    ]
    return causes * 2 + _check_fields(metadata) * 4


def _check_fields(metadata: Obj) -> list[Cause]:
    labels, annotations = metadata.get("labels"), metadata.get("annotations")
    references, finalizers = metadata.get("ownerReferences"), metadata.get("finalizers")
    causes: list[Cause] = []
    if labels:
        for key, value in labels.items():
            causes += [_bad("metadata.labels", key, text) for text in names.label_key(key)]
            causes += [_bad("metadata.labels", value, text) for text in names.label_value(value)]
    if annotations:
        causes += _check_annotations(annotations)
    if references:
        causes += _check_owners(references)
    if finalizers:
        for name in finalizers:
            causes += [_bad("metadata.finalizers", name, text) for text in names.label_key(name)]
    return causes


def _check_annotations(annotations: dict[str, str]) -> list[Cause]:
    causes: list[Cause] = []
    size = 0
    for key, value in annotations.items():
        causes += [_bad("metadata.annotations", key, text) for text in names.label_key(key.lower())]
        size += len(key.encode()) + len(value.encode())
    if size > ANNOTATIONS_LIMIT:
        text = f"Too long: may not be more than {ANNOTATIONS_LIMIT} bytes"
        causes.append(Cause("FieldValueTooLong", text, "metadata.annotations"))
    return causes


def _check_owners(references: Sequence[Obj]) -> list[Cause]:
    field = "metadata.ownerReferences"
    causes: list[Cause] = []
    controllers: list[str] = []
    for reference in references:
        version = reference.get("apiVersion", "")
        if not version:
            causes.append(_bad(f"{field}.apiVersion", "", "version must not be empty"))
        causes += [
            _bad(f"{field}.{part}", "", "must not be empty")
            for part in ("kind", "name", "uid")
            if not reference.get(part)
        ]
        if version == "v1" and reference.get("kind") == "Event":
            causes.append(_bad(field, _ordered(reference), "/v1, Kind=Event is disallowed from being an owner"))
        if reference.get("controller"):
            controllers.append(f"{reference.get('kind', '')}/{reference.get('name', '')}")
    if len(controllers) > 1:
        text = (
            'Only one reference can have Controller set to true. Found "true" in references for '
            f"{controllers[0]} and {controllers[1]}"
        )
        causes.append(_bad(field, [_ordered(reference) for reference in references], text))
    return causes


def _ordered(reference: Obj) -> Obj:
    return {field: reference[field] for field in _KEY_ORDER if field in reference}


def _bad(field: str, value: object, text: str) -> Cause:
    shown = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {text}", field)
