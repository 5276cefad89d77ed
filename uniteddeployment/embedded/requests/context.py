"""One request to a resource, taken apart."""

from collections.abc import Mapping
from typing import Final

from uniteddeployment.embedded.apimachinery.resources import Resource
from uniteddeployment.embedded.discovery.routes import Route
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.http import Request
from uniteddeployment.embedded.requests import negotiate, options
from uniteddeployment.embedded.requests.call import Call, Gate
from uniteddeployment.embedded.requests.negotiate import Accepted
from uniteddeployment.embedded.requests.write import Target

DEPRECATED: Final = {
    "endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}


def missing_path() -> StatusError:
    """404 for what no resource is."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


def wrong_method() -> StatusError:
    """405 for a method that a path does not know."""
    text = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", text, details={})


class Context:
    """A request together with where its path leads and what its query and headers say."""

    __slots__ = ("accepted", "address", "dry_runs", "gate", "query", "request", "resource", "route", "warnings")

    def __init__(self, request: Request, found: Route, query: Mapping[str, str], gate: Gate | None = None) -> None:
        self.request = request
        self.gate = gate
        self.route = found
        self.address = found.address
        self.resource: Resource = found.resource
        self.query = query
        self.warnings: list[str] = []
        """What a write warns of, also if it is refused in the end."""
        self.dry_runs = [value for name, value in request.query if name == "dryRun"]
        self.accepted: Accepted = negotiate.accepted(request.headers.get("accept", ""))

    @property
    def target(self) -> Target:
        address = self.address
        return Target(self.resource, address.namespace, address.name, address.subresource)

    def header(self, name: str) -> str:
        return self.request.headers.get(name, "")

    def call(self, kind: str, *, apply: bool = False) -> Call:
        """How this write is asked for; ``kind`` is CreateOptions, UpdateOptions or PatchOptions."""
        call = options.write_options(kind, self.query, self.dry_runs, self.header("user-agent"), apply=apply)
        call.gate = self.gate
        call.warnings = self.warnings
        return call


def deprecations(resource: Resource) -> list[str]:
    """What to warn of whoever uses a resource."""
    said = resource.extra.get("deprecation") or DEPRECATED.get(resource.key)
    return [str(said)] if said else []
