"""OpenAPI over HTTP: the index and the documents of version 3, and a minimal version 2.

Contract: documents are encoded on first use and cached until the served resources change.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from uniteddeployment.embedded.discovery import openapi
from uniteddeployment.embedded.http import Response
from uniteddeployment.embedded.storage.registry import Registry

INDEX: Final = "/openapi/v3"
PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

_encode = msgspec.json.Encoder().encode


class Documents:
    """Answers paths under /openapi."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._known: dict[str, bytes | None] = {}

    def answer(self, path: str, accept: str) -> Response | None:
        """The document at a path; None if there is none."""
        if path == "/openapi/v2":
            if "protobuf" in accept:
                return Response(200, {"content-type": PROTOBUF}, openapi.legacy_protobuf())
            return _json(_encode(openapi.legacy()))
        if path == INDEX:
            body = self._encoded(path, lambda: openapi.index(self._registry))
        else:
            body = self._encoded(path, lambda: self._document(path))
        return None if body is None else _json(body)

    def _document(self, path: str) -> Mapping[str, Any] | None:
        parts = path.removeprefix(f"{INDEX}/").split("/")
        if parts[0] == "api" and len(parts) == 2:
            return openapi.document("", parts[1], self._registry)
        if parts[0] == "apis" and len(parts) == 3:
            return openapi.document(parts[1], parts[2], self._registry)
        return None

    def _encoded(self, path: str, make: Callable[[], Mapping[str, Any] | None]) -> bytes | None:
        if self._generation != self._registry.generation:
            self._generation = self._registry.generation
            self._known.clear()
        if path not in self._known:
            document = make()
            self._known[path] = None if document is None else _encode(document)
        return self._known[path]


def _json(body: bytes) -> Response:
    return Response(200, {"content-type": "application/json"}, body)
