"""The UnitedDeployments of manifests, as the planner reads them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec

from uniteddeployment.cli import manifests
from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.manifests import Manifest
from uniteddeployment.controller.objects import Stored, parse
from uniteddeployment.planning.observed import Metadata
from uniteddeployment_api import (
    FieldError,
    InvalidObject,
    UnitedDeployment,
    parse_united_deployment,
    validate_united_deployment,
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A UnitedDeployment of a manifest."""

    stored: Stored
    model: UnitedDeployment | None = None
    """None if the manifest is not valid; ``errors`` explains why."""
    errors: tuple[FieldError, ...] = field(default=())
    """Errors whatever exists already; :meth:`invalid` has all of them."""

    def invalid(self, existing: UnitedDeployment | None = None) -> tuple[FieldError, ...]:
        """The errors of a manifest that creates or changes an object, without those of feasibility."""
        if self.errors or self.model is None:
            return self.errors
        return tuple(error for error in validate_united_deployment(self.model, existing) if not error.feasibility)

    @property
    def namespace(self) -> str:
        return self.stored.metadata.namespace

    @property
    def name(self) -> str:
        return self.stored.metadata.name


def read(files: Sequence[str], namespace: str, *, required: str, recursive: bool) -> list[Wanted]:
    """The UnitedDeployments of manifests. ``namespace`` is for those that name none.

    Raises CommandError for a manifest of another version, and for one that names another namespace than ``required``
    if that is not empty.
    """
    return [
        of_manifest(manifest, namespace, required)
        for manifest in manifests.united_deployments(files, recursive=recursive)
    ]


def of_manifest(manifest: Manifest, default: str, required: str = "") -> Wanted:
    """A UnitedDeployment with a name. Raises CommandError as :func:`read` does."""
    document = {key: value for key, value in manifest.document.items() if key != "status"}
    metadata = document["metadata"]
    namespace = metadata.get("namespace") or default
    if not isinstance(namespace, str) or (required and namespace != required):
        raise CommandError(f"{manifest.file}: {manifest.title} is in namespace {namespace}, not in {required}", USAGE)
    meta = Metadata(name=metadata["name"], namespace=namespace, uid="planned", generation=1)
    invalid = Wanted(Stored(meta))
    try:
        model = parse_united_deployment(document)
    except InvalidObject as error:
        return replace(invalid, errors=error.errors)
    meta = msgspec.structs.replace(meta, annotations=dict(model.metadata.annotations))
    stored = Stored(meta, spec=msgspec.Raw(msgspec.json.encode(document["spec"])))
    return Wanted(stored, model, parse(stored)[1])
