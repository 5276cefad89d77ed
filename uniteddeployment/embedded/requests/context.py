"""One request to a resource, parsed."""

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
    """404 for a path that leads to no resource."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


def wrong_method() -> StatusError:
    """405 for a method that a path does not support."""
    text = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", text, details={})


class Context:
    """A request with its route, query and headers."""

    __slots__ = ("accepted", "address", "dry_runs", "gate", "query", "request", "resource", "route", "warnings")

    def __init__(self, request: Request, route: Route, query: Mapping[str, str], gate: Gate | None = None) -> None:
        self.request = request
        self.gate = gate
        self.route = route
        self.address = route.address
        self.resource: Resource = route.resource
        self.query = query
        self.warnings: list[str] = []
        """Warnings of a write, which are sent even if it is refused."""
        self.dry_runs = [value for name, value in request.query if name == "dryRun"]
        self.accepted: Accepted = negotiate.accepted(request.headers.get("accept", ""))

    @property
    def target(self) -> Target:
        address = self.address
        return Target(self.resource, address.namespace, address.name, address.subresource)

    def header(self, name: str) -> str:
        return self.request.headers.get(name, "")

    def call(self, kind: str, *, apply: bool = False) -> Call:
        """The options of a write; ``kind`` is CreateOptions, UpdateOptions or PatchOptions."""
        call = options.write_options(kind, self.query, self.dry_runs, self.header("user-agent"), apply=apply)
        call.gate = self.gate
        call.warnings = self.warnings
        return call


def deprecations(resource: Resource) -> list[str]:
    """Deprecation warnings for a resource."""
    text = resource.extra.get("deprecation") or DEPRECATED.get(resource.key)
    return [str(text)] if text else []
