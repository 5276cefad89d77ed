"""The host's own objects as they are watched: UnitedDeployments and their ControllerRevisions."""

from typing import Any

import msgspec
import structlog
from cachetools import LRUCache
from msgspec import Raw, Struct

from uniteddeployment.kube.decoding import decode
from uniteddeployment.kube.meta import OwnerReference
from uniteddeployment.kube.resource import Resource
from uniteddeployment.planning.application import Application, Subject
from uniteddeployment.planning.kinds import kind_of
from uniteddeployment.planning.observed import Metadata, RevisionData, RevisionRecord
from uniteddeployment.planning.stored import read_status
from uniteddeployment_api import FieldError, InvalidObject, names, parse_united_deployment
from uniteddeployment_api.validation import ignored_paths_errors, stored_errors

UNITED_DEPLOYMENTS = Resource(names.GROUP, names.VERSION, names.UNITED_DEPLOYMENT_PLURAL, names.UNITED_DEPLOYMENT_KIND)
REVISION_SELECTOR = f"{names.LABEL_MANAGED_BY}={names.MANAGER},{names.LABEL_NAME}"
ORPHAN_FINALIZER = "orphan"
"""Kubernetes' finalizer for ``--cascade=orphan``. Its garbage collector removes the owner references of the object's
dependents on the host, and then this finalizer, within milliseconds."""
_log = structlog.get_logger(__name__)
_EMPTY = Raw(b"{}")


class Stored(Struct, rename="camel", frozen=True, gc=False):
    """A UnitedDeployment. Spec and status stay bytes until they are needed."""

    metadata: Metadata
    spec: Raw = _EMPTY
    status: Raw = _EMPTY

    def __post_init__(self) -> None:
        """Copy spec and status, so that the bytes of the event can be freed. The copies are a third of them."""
        msgspec.structs.force_setattr(self, "spec", self.spec.copy())
        msgspec.structs.force_setattr(self, "status", self.status.copy())

    @property
    def key(self) -> tuple[str, str]:
        return self.metadata.namespace, self.metadata.name


class RevisionMetadata(Metadata, rename="camel", frozen=True, gc=False):
    """The metadata of a ControllerRevision."""

    owner_references: tuple[OwnerReference, ...] = ()


class StoredRevision(Struct, rename="camel", frozen=True, gc=False):
    """A ControllerRevision without its data."""

    metadata: RevisionMetadata
    revision: int = 0

    def record(self) -> RevisionRecord | None:
        """The record of a revision; None if it is not a UnitedDeployment's (a StatefulSet's also has our labels)."""
        labels, annotations = self.metadata.labels, self.metadata.annotations
        template = annotations.get(names.ANNOTATION_TEMPLATE_REVISION)
        if template is None:
            return None
        patched, problem = _subset_revisions(annotations.get(names.ANNOTATION_SUBSET_REVISIONS))
        return RevisionRecord(
            name=self.metadata.name,
            number=self.revision,
            hash=labels.get(names.LABEL_REVISION, ""),
            template_hash=template,
            patched=patched,
            cause=annotations.get(names.ANNOTATION_CHANGE_CAUSE, ""),
            owned=bool(self.metadata.owner_references),
            problem=problem,
            uid=self.metadata.uid,
        )


def _subset_revisions(annotation: str | None) -> tuple[dict[str, str], str]:
    """Subset -> revision, and why the annotation is unreadable: many users may write it."""
    if not annotation:
        return {}, ""
    try:
        return msgspec.json.decode(annotation, type=dict[str, str]), ""
    except (msgspec.MsgspecError, RecursionError) as error:
        return {}, f"its annotation {names.ANNOTATION_SUBSET_REVISIONS} is unreadable: {error}"


class RevisionContent(Struct, rename="camel", frozen=True):
    """``data`` of a ControllerRevision."""

    template: dict[str, Any] = {}
    patches: dict[str, dict[str, Any]] = {}
    overrides: dict[str, tuple[dict[str, Any], ...]] = {}
    subsets: frozenset[str] = frozenset()


class FullRevision(Struct, frozen=True):
    """A ControllerRevision with its data, which is decoded separately: many users may write it."""

    data: Raw = _EMPTY

    def content(self) -> RevisionData:
        """The data. Raises DecodingError."""
        content = decode(self.data, RevisionContent)
        return RevisionData(content.template, content.patches, content.overrides, content.subsets)


def revision_content(data: RevisionData) -> dict[str, Any]:
    """``data`` of a ControllerRevision as it is written."""
    content: dict[str, Any] = {"template": data.template, "subsets": sorted(data.subsets)}
    return content | {name: part for name in ("patches", "overrides") if (part := getattr(data, name))}


def written_content(data: RevisionData) -> Raw:
    """The same in the bytes that API servers themselves write: sorted keys, and letters of HTML as escapes.

    An API server compares the bytes of ``data`` when somebody patches a ControllerRevision, and encodes them again
    before. Other bytes would count as a change of an immutable field, so nobody could change its labels or owners; the
    garbage collector could not even orphan it.
    """
    written = msgspec.json.encode(revision_content(data), order="sorted")
    for letter in "<>&\u2028\u2029":
        written = written.replace(letter.encode(), f"\\u{ord(letter):04x}".encode())
    return Raw(written)


class Parser:
    """Parses specs, and keeps the last ``size`` results by uid and generation.

    Parsed and rendered, an application takes 40 KB, so only those in use are kept. Parsing one again takes a third of a
    millisecond.
    """

    def __init__(self, size: int = 512) -> None:
        self._parsed: LRUCache[tuple[str, int], tuple[Application | None, tuple[FieldError, ...]]] = LRUCache(size)

    def subject(self, stored: Stored, *, orphaning: bool = False) -> Subject:
        """The input of the planner. Errors of feasibility do not prevent planning.

        ``orphaning`` is set if an earlier state asked for the workloads to stay.
        """
        meta = stored.metadata
        memo = (meta.uid, meta.generation)
        known = self._parsed.get(memo)
        if known is None:
            known = self._parsed[memo] = parse(stored)
        app, errors = known
        if excess := ignored_paths_errors(meta.annotations):
            app, errors = None, (*errors, *excess)
        document = _document(stored.status)
        return Subject(
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            generation=meta.generation,
            app=app,
            errors=errors,
            finalizers=meta.finalizers,
            deleting=meta.deletion_timestamp is not None,
            orphan=orphaning or ORPHAN_FINALIZER in meta.finalizers or names.ANNOTATION_ORPHAN in meta.annotations,
            keeps_workloads=_deletion_policy(stored) == names.ORPHAN_POLICY,
            annotations=meta.annotations,
            status=read_status(document),
            document=document,
        )


def _document(raw: Raw) -> dict[str, Any]:
    """The status as JSON. A status that is no object counts as empty, and is replaced."""
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return {}


class _DeletionPolicy(Struct, rename="camel", frozen=True):
    deletion_policy: str = ""


def _deletion_policy(stored: Stored) -> str:
    """The deletion policy. It is read separately, since it also counts if the rest of the spec is not valid."""
    try:
        return msgspec.json.decode(stored.spec, type=_DeletionPolicy).deletion_policy
    except msgspec.ValidationError:
        return ""


def parse(stored: Stored) -> tuple[Application | None, tuple[FieldError, ...]]:
    """The application, or the errors in its spec (I11)."""
    try:
        return _parsed(stored)
    except Exception as error:  # noqa: BLE001  # logged, and reported as an error of the spec
        _log.exception("spec not parsed", namespace=stored.metadata.namespace, name=stored.metadata.name)
        return None, (FieldError("spec", f"it cannot be processed ({type(error).__name__})"),)


def _parsed(stored: Stored) -> tuple[Application | None, tuple[FieldError, ...]]:
    meta = stored.metadata
    document = {
        "apiVersion": names.API_VERSION,
        "kind": names.UNITED_DEPLOYMENT_KIND,
        "metadata": {"name": meta.name, "namespace": meta.namespace},
        "spec": msgspec.json.decode(stored.spec),
    }
    try:
        model = parse_united_deployment(document)
    except InvalidObject as error:
        return None, error.errors
    if errors := stored_errors(model):
        return None, errors
    return Application(meta.namespace, meta.name, meta.uid, meta.generation, model, kind_of(model)), ()
