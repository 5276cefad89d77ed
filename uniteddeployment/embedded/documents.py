"""OpenAPI v3 over HTTP: the index, and one document for each group version, computed when it is first asked for."""

from collections.abc import Mapping

from uniteddeployment.embedded.http import Response
from uniteddeployment.embedded.registry import Registry


class Documents:
    """Answers paths under /openapi/v3."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def answer(self, path: str, query: Mapping[str, str]) -> Response | None:
        return None
