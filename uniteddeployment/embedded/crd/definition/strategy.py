"""The strategy of CustomResourceDefinitions."""

from collections.abc import Sequence
from typing import Any

from uniteddeployment.embedded.apimachinery.json_document import Document, distinct, duplicates
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.crd.definition.decoding import decode
from uniteddeployment.embedded.crd.definition.validation import (
    check_definition,
    check_names,
    check_stored,
    check_update,
)
from uniteddeployment.embedded.errors import Cause


class DefinitionStrategy:
    """The strategy of definitions."""

    def conform(self, obj: Obj) -> Sequence[str]:
        """Decode as the real server does."""
        return decode(obj)

    def complaints(self, document: Document, unknown: Sequence[str]) -> Sequence[str]:
        """Duplicate fields first, then unknown ones."""
        return [*distinct(duplicates(document)), *unknown]

    def default(self, obj: Obj) -> None:
        """Set names derived from the kind, and no conversion."""
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return
        spec.setdefault("conversion", {"strategy": "None"})
        names = spec.get("names")
        if isinstance(names, dict) and names.get("kind"):
            if not names.get("singular"):
                names["singular"] = names["kind"].lower()
            if not names.get("listKind"):
                names["listKind"] = f"{names['kind']}List"
        status = obj.get("status")
        if isinstance(status, dict) and not status.get("storedVersions"):
            status["storedVersions"] = _storage_versions(obj)[:1] or None

    def prepare_create(self, obj: Obj) -> None:
        """Reset the status; objects will be stored in the storage version."""
        obj["metadata"]["generation"] = 1
        obj["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": _storage_versions(obj)[:1] or None,
        }

    def prepare_update(self, new: Obj, old: Obj, subresource: str) -> None:
        """Keep spec and status apart; record a new storage version in the status."""
        if subresource == "status":
            new["spec"] = old["spec"]
            kept = {key: new["metadata"][key] for key in ("managedFields", "resourceVersion") if key in new["metadata"]}
            new["metadata"] = {**old["metadata"], **kept}
            return
        new["status"] = dict(old["status"])
        stored = list(new["status"].get("storedVersions") or ())
        stored += [name for name in _storage_versions(new)[:1] if name not in stored]
        new["status"]["storedVersions"] = stored
        generation = old["metadata"].get("generation", 1)
        new["metadata"]["generation"] = generation + (new.get("spec") != old.get("spec"))

    def validate_create(self, obj: Obj) -> Sequence[Cause]:
        """Validate names, versions, schemas and rules."""
        return [*check_names(obj), *check_definition(obj), *check_stored(obj)]

    def validate_update(self, new: Obj, old: Obj, subresource: str) -> Sequence[Cause]:
        """The same for an update, including immutable fields."""
        if subresource == "status":
            return []
        changed = new["spec"] != old["spec"]
        return [*(check_definition(new) if changed else ()), *check_update(new, old)]

    def warnings(self, new: Obj, old: Obj | None) -> Sequence[str]:  # noqa: ARG002  # what the protocol gives
        """Definitions have no warnings."""
        return ()


def _storage_versions(crd: Obj) -> list[str]:
    return [version["name"] for version in _versions(crd) if version.get("storage")]


def _versions(crd: Obj) -> list[dict[str, Any]]:
    return (crd.get("spec") or {}).get("versions") or []
