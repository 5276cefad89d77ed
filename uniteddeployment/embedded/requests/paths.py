"""Paths without a stored resource: health, version, discovery, OpenAPI and reviews."""

from collections.abc import Mapping
from typing import Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth.security import Security
from uniteddeployment.embedded.discovery.documents import Documents
from uniteddeployment.embedded.discovery.groups import Discovery
from uniteddeployment.embedded.discovery.routes import Address
from uniteddeployment.embedded.http import Identity, Request, Response
from uniteddeployment.embedded.requests import answer, negotiate, options, unstored
from uniteddeployment.embedded.requests.context import missing_path, wrong_method
from uniteddeployment.embedded.requests.negotiate import Accepted
from uniteddeployment.embedded.requests.reviews import catalog as reviews
from uniteddeployment.embedded.requests.reviews.question import Question
from uniteddeployment.embedded.storage.state import Core

VERSION: Final = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.0",
    "gitCommit": "0000000000000000000000000000000000000000",
    "gitTreeState": "clean",
    "buildDate": "2026-04-22T00:00:00Z",
    "goVersion": "go1.26.0",
    "compiler": "gc",
    "platform": "linux/amd64",
}

HEALTH: Final = ("/healthz", "/livez", "/readyz")
ROOT: Final = ("/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version")


def page_not_found() -> Response:
    """404 for an unknown group."""
    return answer.text("404 page not found\n", 404)


class Paths:
    """Answers all paths that are not those of a stored resource."""

    def __init__(self, core: Core, security: Security) -> None:
        self._registry = core.registry
        self._core = core
        self._security = security
        self._discovery = Discovery(core.registry, reviews.REVIEWS)
        self._documents = Documents(core.registry)

    def plain(self, request: Request, query: Mapping[str, str]) -> Response:
        """Answer a path that cannot be the path of a resource."""
        path = request.path.rstrip("/") or "/"
        accept = request.headers.get("accept", "")
        if path.startswith(HEALTH):
            return _health(path, query)
        response: Response | None
        if path == "/version":
            response = answer.value(VERSION, Accepted())
        elif path.startswith("/openapi/"):
            response = self._documents.answer(request.path, accept)
        else:
            response = self._discovered(path, accept)
        if response is not None:
            return response
        if path.startswith("/api/") or (path.startswith("/apis/") and self._discovery.serves_group(path.split("/")[2])):
            raise missing_path()
        return page_not_found()

    def _discovered(self, path: str, accept: str) -> Response | None:
        parts = path.strip("/").split("/")
        discovery = self._discovery
        if path in ("/api", "/apis"):
            if negotiate.wants_group_discovery(accept):
                body = answer.encode(discovery.aggregated(core=path == "/api"))
                return Response(200, {"content-type": negotiate.DISCOVERY}, body)
            return answer.value(discovery.api_versions() if path == "/api" else discovery.groups(), Accepted())
        document: Obj | None = None
        if path == "/":
            document = {"paths": list(ROOT)}
        elif parts[0] == "api" and len(parts) == 2:
            document = discovery.resources("", parts[1])
        elif parts[0] == "apis" and len(parts) == 2:
            document = discovery.group(parts[1])
        elif parts[0] == "apis" and len(parts) == 3:
            document = discovery.resources(parts[1], parts[2])
        return None if document is None else answer.value(document, Accepted())

    def unserved(self, request: Request, address: Address, identity: Identity) -> Response:
        """Answer an address without a stored resource: a review, or 404."""
        if address.watched and not address.plural:
            return _undetermined(request.path)
        review = reviews.find(address.group, address.version, address.plural)
        if review is not None and not address.name and not address.watched:
            return self._review(request, review, identity, address.namespace)
        builtin = any(not resource.custom and resource.group == address.group for resource in self._registry)
        if builtin or review is not None:
            raise missing_path()
        return page_not_found()

    def _review(self, request: Request, review: reviews.Review, identity: Identity, namespace: str) -> Response:
        if request.method != "POST":
            raise wrong_method()
        media = negotiate.body_type(request.headers.get("content-type", ""))
        query = dict(reversed(request.query))
        dry_runs = [value for name, value in request.query if name == "dryRun"]
        call = options.write_options(
            "CreateOptions", query, dry_runs, request.headers.get("user-agent", ""), apply=False
        )
        obj = unstored.read(
            self._registry, review.definition, review.kind, request.body, media, namespace=namespace, call=call
        )
        unstored.without_server_fields(obj)
        answered = reviews.answer(self._core, review, Question(self._security, identity, obj), call.manager)
        return answer.value(answered, Accepted(), 201, call.warnings)


def _undetermined(path: str) -> Response:
    """500 for a watch without a resource."""
    why = f"failed to create RequestInfo: unable to determine kind and namespace from url, {path}"
    return answer.text(f'Internal Server Error: "{path}": {why}\n', 500)


def _health(path: str, query: Mapping[str, str]) -> Response:
    if "verbose" in query:
        name = path.strip("/").split("/")[0]
        return answer.text(f"[+]ping ok\n[+]etcd ok\n{name} check passed\n")
    return answer.text("ok")
