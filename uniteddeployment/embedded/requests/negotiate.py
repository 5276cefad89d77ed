"""Content negotiation: Accept and Content-Type.

Contract: pure functions on header values, with the real server's error messages. Protobuf is read but never written: a
client that also accepts JSON gets JSON.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from uniteddeployment.embedded.errors import StatusError

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
AVAILABLE: Final = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
META_GROUP: Final = "meta.k8s.io"

Form = Literal["", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"]
_FORMS: Final[Mapping[str, Form]] = {
    "Table": "Table",
    "PartialObjectMetadata": "PartialObjectMetadata",
    "PartialObjectMetadataList": "PartialObjectMetadataList",
}
_ALIASES: Final = {"*/*": JSON, "application/*": JSON, JSON: JSON, YAML: YAML}

DISCOVERY: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class Accepted:
    """The negotiated form of a response: its media type, and a Table or metadata in place of the object."""

    media: str = JSON
    form: Form = ""


@dataclass(frozen=True, slots=True)
class _Clause:
    media: str
    parameters: Mapping[str, str]
    quality: float


def _clauses(accept: str) -> list[_Clause]:
    clauses = []
    for part in accept.split(","):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        named = dict(piece.split("=", 1) for piece in parameters if "=" in piece)
        try:
            quality = float(named.pop("q", "1"))
        except ValueError:
            quality = 1.0
        clauses.append(_Clause(media.lower(), named, quality))
    return sorted(clauses, key=lambda clause: -clause.quality)


@lru_cache(maxsize=256)
def accepted(accept: str) -> Accepted:
    """Choose among the types that the client accepts. Raises StatusError (406)."""
    if not accept:
        return Accepted()
    known = False
    for clause in _clauses(accept):
        media = _ALIASES.get(clause.media)
        if media is None:
            continue
        known = True
        kind = clause.parameters.get("as")
        if kind is None:
            return Accepted(media)
        form = _FORMS.get(kind)
        if form and clause.parameters.get("g") == META_GROUP and clause.parameters.get("v") in ("v1", "v1beta1"):
            return Accepted(media, form)
    if known:
        text = f"only the following media types are accepted: {AVAILABLE}"
        raise StatusError(406, "NotAcceptable", text)
    text = f"406: Not Acceptable\n\nAvailable representations: {AVAILABLE}"
    raise StatusError(406, "NotAcceptable", text, details={})


@lru_cache(maxsize=256)
def wants_group_discovery(accept: str) -> bool:
    """Whether the client asks for aggregated discovery."""
    for clause in _clauses(accept):
        if clause.media == JSON and clause.parameters.get("as") == "APIGroupDiscoveryList":
            return clause.parameters.get("g") == "apidiscovery.k8s.io" and clause.parameters.get("v") == "v2"
        if clause.media in (JSON, "*/*"):
            return False
    return False


@lru_cache(maxsize=256)
def content_type(header: str) -> str:
    """The media type of a body without its parameters; JSON by default."""
    return header.split(";", 1)[0].strip().lower() or JSON


def body_type(header: str, *, custom: bool = False) -> str:
    """The media type of an object in a body. Raises StatusError (415)."""
    media = content_type(header)
    if media in (JSON, YAML) or (media == PROTOBUF and not custom):
        return media
    raise StatusError(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {AVAILABLE}",
    )
