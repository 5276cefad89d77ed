"""OpenAPI over HTTP: the index and the documents of version 3, and the document of version 2.

Contract: documents are encoded on first use and cached until the served resources change.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from uniteddeployment.embedded.discovery import openapi, swagger, swagger_protobuf
from uniteddeployment.embedded.http import Response
from uniteddeployment.embedded.storage.registry import Registry

INDEX: Final = "/openapi/v3"
LEGACY: Final = "/openapi/v2"
PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_JSON: Final = "application/json"

_encode = msgspec.json.Encoder().encode


class Documents:
    """Answers paths under /openapi."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._known: dict[tuple[str, str], bytes] = {}

    def answer(self, path: str, accept: str) -> Response | None:
        """The document at a path; None if nothing is served there."""
        if path == LEGACY:
            if "protobuf" in accept:
                return self._response(path, PROTOBUF, lambda: swagger_protobuf.encode(swagger.document(self._registry)))
            return self._response(path, _JSON, lambda: _encode(swagger.document(self._registry)))
        if path == INDEX:
            return self._response(path, _JSON, lambda: _encode(openapi.index(self._registry)))
        if path.startswith(f"{INDEX}/"):
            return self._response(path, _JSON, lambda: _encoded(self._document(path)))
        return None

    def _document(self, path: str) -> Mapping[str, Any] | None:
        parts = path.removeprefix(f"{INDEX}/").split("/")
        if parts[0] == "api" and len(parts) == 2:
            return openapi.document("", parts[1], self._registry)
        if parts[0] == "apis" and len(parts) == 3:
            return openapi.document(parts[1], parts[2], self._registry)
        return None

    def _response(self, path: str, content_type: str, make: Callable[[], bytes | None]) -> Response:
        if self._generation != self._registry.generation:
            self._generation = self._registry.generation
            self._known.clear()
        body = self._known.get((path, content_type))
        if body is None:
            body = make()
            if body is None:
                return Response(404, {})
            self._known[path, content_type] = body
        return Response(200, {"content-type": content_type}, body)


def _encoded(document: Mapping[str, Any] | None) -> bytes | None:
    return None if document is None else _encode(document)
