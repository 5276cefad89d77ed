"""Objects that are posted and not stored (reviews and token requests), decoded by their definitions."""

from collections.abc import Sequence
from typing import Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin import shapes
from uniteddeployment.embedded.builtin.decoding import conform
from uniteddeployment.embedded.errors import bad_request
from uniteddeployment.embedded.requests import body as bodies
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.requests.write import place
from uniteddeployment.embedded.storage.registry import Registry

_SERVER_SET: Final = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
)  # fmt: skip


def read(registry: Registry, definition: str, kind: str, body: bytes, media: str, *, namespace: str, call: Call) -> Obj:
    """The object of a kind in a body. Raises StatusError if it cannot be decoded or is in another namespace."""
    group, version = _group_version(definition)
    obj = bodies.read_plain(registry, kind, f"{group}/{version}", body, media)
    _note_unknown(conform(obj, shapes.shape_of(definition), kind, version), kind, version, call)
    place(namespace, obj["metadata"])
    return obj


def without_server_fields(obj: Obj) -> None:
    """Remove the metadata that only the server sets."""
    for field in _SERVER_SET:
        obj["metadata"].pop(field, None)


def _group_version(definition: str) -> tuple[str, str]:
    kinds = shapes.resolve(definition)["x-kubernetes-group-version-kind"][0]
    return str(kinds["group"]), str(kinds["version"])


def _note_unknown(unknown: Sequence[str], kind: str, version: str, call: Call) -> None:
    if unknown and call.validation == "Strict":
        why = f"strict decoding error: {', '.join(unknown)}"
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')
    if call.validation == "Warn":
        call.warnings += unknown
