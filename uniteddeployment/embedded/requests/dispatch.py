"""From a request to its answer: who asks, where the path leads, which handler does it.

Contract: :meth:`Dispatcher.handle` never raises and never waits. Everything that is refused becomes a Status.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from uniteddeployment.embedded import auth, selectors
from uniteddeployment.embedded.core import Call, Core
from uniteddeployment.embedded.discovery import Discovery
from uniteddeployment.embedded.errors import StatusError, qualified
from uniteddeployment.embedded.http import Identity, Request, Response
from uniteddeployment.embedded.requests import (
    answer,
    negotiate,
    options,
    pods,
    read,
    reviews,
    route,
    scale,
    watch,
    write,
)
from uniteddeployment.embedded.requests import body as bodies
from uniteddeployment.embedded.requests import delete as deletion
from uniteddeployment.embedded.requests import patch as patches
from uniteddeployment.embedded.requests.negotiate import Accepted
from uniteddeployment.embedded.requests.route import Address, Route
from uniteddeployment.embedded.requests.write import Target
from uniteddeployment.embedded.resources import Obj, Resource

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
RETURNED: Final = frozenset(
    {
        "pods", "services", "serviceaccounts", "persistentvolumes", "persistentvolumeclaims", "podtemplates",
        "resourcequotas", "namespaces",
    }
)  # fmt: skip
"""Kinds whose deletion answers with the object; the others answer with a Status."""

CREATED_BY_UPDATE: Final = frozenset(
    {
        "endpoints", "events", "events.events.k8s.io", "leases.coordination.k8s.io", "limitranges", "podtemplates",
        "services", "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
    }
)  # fmt: skip
"""Kinds that a PUT creates if they are not there."""

ORPHANED: Final = frozenset({"jobs.batch"})
"""Kinds whose dependents stay unless a deletion says what is to become of them."""

ORPHAN_WARNING: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
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


class _Context:
    """One request to a resource, taken apart."""

    __slots__ = ("accepted", "address", "dry_runs", "query", "request", "resource", "route", "user")

    def __init__(self, request: Request, found: Route, query: Mapping[str, str], user: Identity) -> None:
        self.request = request
        self.route = found
        self.address = found.address
        self.resource: Resource = found.resource
        self.query = query
        self.dry_runs = [value for name, value in request.query if name == "dryRun"]
        self.user = user
        self.accepted: Accepted = negotiate.accepted(request.headers.get("accept", ""))

    @property
    def target(self) -> Target:
        address = self.address
        return Target(self.resource, address.namespace, address.name, address.subresource)

    def header(self, name: str) -> str:
        return self.request.headers.get(name, "")

    def write_options(self, kind: str, *, apply: bool = False) -> options.WriteOptions:
        return options.write_options(kind, self.query, self.dry_runs, self.header("user-agent"), apply=apply)

    def call(self, chosen: options.WriteOptions) -> Call:
        return Call(chosen.manager, chosen.dry_run, _deprecations(self.resource))


def _deprecations(resource: Resource) -> list[str]:
    said = resource.extra.get("deprecation") or DEPRECATED.get(resource.key)
    return [str(said)] if said else []


Handler = Callable[[_Context], Response]


class Dispatcher:
    """The doors of one cluster."""

    def __init__(self, core: Core, tokens: Mapping[str, Identity]) -> None:
        self._core = core
        self._tokens = tokens
        self._discovery = Discovery(core.registry)
        self.documents: Callable[[str, Mapping[str, str]], Response | None] = lambda _path, _query: None
        """Answers paths under /openapi."""
        self._subresources: dict[str, Handler] = {
            "scale": self._scale,
            "eviction": partial(self._post_to_pod, "policy", "Eviction", "policy/v1", pods.evict),
            "binding": partial(self._post_to_pod, "", "Binding", "v1", pods.bind),
            "log": self._log,
        }

    def handle(self, request: Request) -> Response:
        """Answer a request."""
        try:
            return self._handle(request)
        except StatusError as failure:
            return answer.error(failure)

    def _handle(self, request: Request) -> Response:
        user = auth.authenticate(request, self._tokens)
        query = dict(reversed(request.query))
        address = route.address(request.path)
        watching = options.flag(query, "watch")
        auth.authorize(user, request, address, watch=watching)
        if address is None:
            return self._plain(request, query)
        found = route.find(self._core.registry, address)
        if found is None:
            return self._unserved(request, address, user)
        context = _Context(request, found, query, user)
        if address.subresource:
            return self._subresource(context)
        return self._object(context) if address.name else self._collection(context, watching=watching)

    # Paths that are not resources

    def _plain(self, request: Request, query: Mapping[str, str]) -> Response:
        path = request.path.rstrip("/") or "/"
        if path == "/version":
            return answer.value(VERSION, Accepted())
        if path.startswith(HEALTH):
            return self._health(path, query)
        if path.startswith("/openapi/"):
            found = self.documents(path, query)
            return found if found is not None else answer.text("404 page not found\n", 404)
        document = self._discovered(path, request.headers.get("accept", ""))
        if document is not None:
            return document
        if path.startswith("/api/") or (path.startswith("/apis/") and self._discovery.serves_group(path.split("/")[2])):
            raise missing_path()
        return answer.text("404 page not found\n", 404)

    @staticmethod
    def _health(path: str, query: Mapping[str, str]) -> Response:
        if "verbose" in query:
            name = path.strip("/").split("/")[0]
            return answer.text(f"[+]ping ok\n[+]etcd ok\n{name} check passed\n")
        return answer.text("ok")

    def _discovered(self, path: str, accept: str) -> Response | None:
        parts = path.strip("/").split("/")
        discovery = self._discovery
        if path in ("/api", "/apis"):
            if negotiate.wants_group_discovery(accept):
                body = answer.encode(discovery.aggregated(core=path == "/api"))
                return Response(200, {"content-type": negotiate.DISCOVERY}, body)
            return answer.value(discovery.api_versions() if path == "/api" else discovery.groups(), Accepted())
        found: Obj | None = None
        if path == "/":
            found = {"paths": ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]}
        elif parts[0] == "api" and len(parts) == 2:
            found = discovery.resources("", parts[1])
        elif parts[0] == "apis" and len(parts) == 2:
            found = discovery.group(parts[1])
        elif parts[0] == "apis" and len(parts) == 3:
            found = discovery.resources(parts[1], parts[2])
        return None if found is None else answer.value(found, Accepted())

    def _unserved(self, request: Request, address: Address, user: Identity) -> Response:
        review = reviews.find(address.group, address.version, address.plural)
        if review is not None and not address.name:
            return self._review(request, review, user)
        if address.group == "" and address.plural == "bindings" and request.method == "POST":
            return self._bindings(request, address, user)
        builtin = any(not resource.custom and resource.group == address.group for resource in self._core.registry)
        if builtin or review is not None:
            raise missing_path()
        return answer.text("404 page not found\n", 404)

    def _review(self, request: Request, review: reviews.Review, user: Identity) -> Response:
        if request.method != "POST":
            raise wrong_method()
        media = negotiate.body_type(request.headers.get("content-type", ""))
        obj = bodies.read_plain(self._core.registry, review.group, review.kind, review.api_version, request.body, media)
        manager = options.default_manager(request.headers.get("user-agent", ""))
        answered = reviews.answer(self._core, review, reviews.Question(user, obj, self._tokens), manager)
        return answer.value(answered, Accepted(), 201)

    def _bindings(self, request: Request, address: Address, user: Identity) -> Response:
        media = negotiate.body_type(request.headers.get("content-type", ""))
        obj = bodies.read_plain(self._core.registry, "", "Binding", "v1", request.body, media)
        name = obj["metadata"].get("name", "")
        where = Address("", "v1", "pods", address.namespace, name, "binding")
        context = _Context(request, Route(where, self._core.registry.main("pods")), {}, user)
        return self._post_to_pod("", "Binding", "v1", pods.bind, context)

    # Collections

    def _collection(self, context: _Context, *, watching: bool) -> Response:
        method, resource = context.request.method, context.resource
        verb = route.COLLECTION_VERBS.get(method, "")
        whole = resource.namespaced and not context.address.namespace
        if verb not in resource.verbs or (whole and verb != "list"):
            raise wrong_method()
        if verb == "list":
            if watching:
                return watch.watch(self._core, context.route, context.accepted, context.query)
            return read.list_(self._core, context.route, context.accepted, context.query)
        return self._create(context) if verb == "create" else self._delete_collection(context)

    def _create(self, context: _Context) -> Response:
        resource = context.resource
        media = negotiate.body_type(context.header("content-type"))
        chosen = context.write_options("CreateOptions")
        call = context.call(chosen)
        obj = bodies.read_object(
            self._core.registry, resource, context.request.body, media, chosen.validation, call.warnings
        )
        created = write.create(self._core, context.target, obj, call)
        return self._one(context, created, call, 201)

    def _one(self, context: _Context, obj: Obj, call: Call, status: int = 200) -> Response:
        return answer.object_(
            self._core,
            context.resource,
            obj,
            context.accepted,
            context.query,
            status=status,
            warnings=call.warnings,
        )

    def _delete_collection(self, context: _Context) -> Response:
        core, resource = self._core, context.resource
        listed = options.list_options(context.query)
        request = self._delete_request(context)
        selector = selectors.parse(listed.labels, listed.fields, resource)
        table = core.registry.table(resource)
        entries = table.select(context.address.namespace or None)
        chosen = [
            obj for obj in core.store.objects(table, entries) if selector.matches(core.registry.show(resource, obj))
        ]
        call = Call("unknown", request.dry_run)
        for obj in chosen:
            metadata = obj["metadata"]
            target = Target(resource, metadata.get("namespace", ""), metadata["name"])
            deletion.delete(core, target, request.options, call)
        shown = [core.registry.show(resource, obj) for obj in chosen]
        metadata = {"resourceVersion": str(core.store.rv)}
        return answer.list_(core, resource, shown, metadata, context.accepted, context.query)

    # Objects

    def _object(self, context: _Context) -> Response:
        method = context.request.method
        if route.OBJECT_VERBS.get(method, "") not in context.resource.verbs or method == "POST":
            raise wrong_method()
        if method == "GET":
            if options.flag(context.query, "watch"):
                return self._watch_one(context)
            return read.get(self._core, context.route, context.accepted, context.query)
        if method == "PUT":
            return self._update(context)
        return self._patch(context) if method == "PATCH" else self._delete(context)

    def _watch_one(self, context: _Context) -> Response:
        """A watch of one object by its path is a watch of its collection by its name."""
        address = context.address
        where = Address(address.group, address.version, address.plural, address.namespace)
        query = {**context.query, "fieldSelector": f"metadata.name={address.name}"}
        return watch.watch(self._core, Route(where, context.resource), context.accepted, query)

    def _update(self, context: _Context) -> Response:
        core, resource, target = self._core, context.resource, context.target
        media = negotiate.body_type(context.header("content-type"))
        chosen = context.write_options("UpdateOptions")
        call = context.call(chosen)
        obj = bodies.read_object(core.registry, resource, context.request.body, media, chosen.validation, call.warnings)
        bodies.check_name(obj, target.name, target.namespace)
        if not target.subresource and resource.key in CREATED_BY_UPDATE and write.live(core, target) is None:
            return self._one(context, write.create(core, target, obj, call), call, 201)
        resource.strategy.default(obj)
        updated = write.update(core, target, lambda _: obj, call, versioned=True)
        return self._one(context, updated, call)

    def _patch(self, context: _Context) -> Response:
        media = negotiate.content_type(context.header("content-type"))
        patches.check_media(media, custom=context.resource.custom)
        chosen = context.write_options("PatchOptions", apply=media == patches.APPLY_PATCH)
        call = context.call(chosen)
        patched = patches.patch(self._core, context.target, media, context.request.body, chosen, call)
        return self._one(context, patched.obj, call, 201 if patched.created else 200)

    def _delete_request(self, context: _Context) -> options.DeleteRequest:
        body = bodies.read_options(context.request.body, negotiate.content_type(context.header("content-type")))
        return options.delete_request(body, context.query, context.dry_runs)

    def _delete(self, context: _Context) -> Response:
        resource, name = context.resource, context.address.name
        request = self._delete_request(context)
        chosen = request.options
        call = Call("unknown", request.dry_run, _deprecations(resource))
        if resource.key in ORPHANED and chosen.propagation is None:
            chosen = deletion.DeleteOptions(chosen.grace_seconds, "Orphan", chosen.uid, chosen.resource_version)
            call.warnings.append(ORPHAN_WARNING)
        deleted = deletion.delete(self._core, context.target, chosen, call)
        if deleted.gone and resource.key not in RETURNED:
            status = answer.success(resource, name, deleted.obj["metadata"]["uid"])
            return answer.value(status, Accepted(), warnings=call.warnings)
        return self._one(context, deleted.obj, call)

    # Subresources

    def _subresource(self, context: _Context) -> Response:
        name, resource = context.address.subresource, context.resource
        if name == "status" and resource.status:
            return self._status(context)
        if name == "finalize" and resource.key == write.NAMESPACES:
            if context.request.method != "PUT":
                raise wrong_method()
            return self._update(context)
        if (name == "scale" and resource.scale is not None) or (name != "scale" and resource.key == "pods"):
            handler = self._subresources.get(name)
            if handler is not None:
                return handler(context)
        raise missing_path()

    def _status(self, context: _Context) -> Response:
        method = context.request.method
        if method == "GET":
            return read.get(self._core, context.route, context.accepted, context.query)
        if method == "PUT":
            return self._update(context)
        if method == "PATCH":
            return self._patch(context)
        raise self._unsupported(context)

    @staticmethod
    def _unsupported(context: _Context) -> StatusError:
        """405 for a method on a subresource; custom resources say which."""
        resource = context.resource
        if not resource.custom:
            return wrong_method()
        verb = {"POST": "create", "DELETE": "delete"}.get(context.request.method, context.request.method.lower())
        kind = qualified(resource.plural, resource.group)
        return StatusError(
            405,
            "MethodNotAllowed",
            f'{verb} is not supported on resources of kind "{kind}"',
            details={"group": resource.group, "kind": resource.plural},
        )

    def _scale(self, context: _Context) -> Response:
        core, target, paths = self._core, context.target, context.resource.scale
        if paths is None:
            raise missing_path()
        method = context.request.method
        if method == "GET":
            return answer.value(scale.get(core, target, paths), context.accepted)
        if method == "PUT":
            chosen = context.write_options("UpdateOptions")
            call = context.call(chosen)
            media = negotiate.body_type(context.header("content-type"))
            wanted = scale.read(core, context.request.body, media)
            scaled = scale.update(core, target, paths, wanted, call)
        elif method == "PATCH":
            media = negotiate.content_type(context.header("content-type"))
            patches.check_media(media, custom=context.resource.custom)
            chosen = context.write_options("PatchOptions", apply=media == patches.APPLY_PATCH)
            call = context.call(chosen)
            scaled = scale.patch(core, target, paths, media, context.request.body, chosen, call)
        else:
            raise self._unsupported(context)
        return answer.value(scaled, context.accepted, warnings=call.warnings)

    def _post_to_pod(
        self, group: str, kind: str, api_version: str, act: Callable[[Core, Target, Obj, Call], None], context: _Context
    ) -> Response:
        if context.request.method != "POST":
            raise wrong_method()
        call = context.call(context.write_options("CreateOptions"))
        media = negotiate.body_type(context.header("content-type"))
        obj = bodies.read_plain(self._core.registry, group, kind, api_version, context.request.body, media)
        act(self._core, context.target, obj, call)
        return answer.value(pods.CREATED, context.accepted, 201, call.warnings)

    def _log(self, context: _Context) -> Response:
        """Simulated containers say nothing."""
        if context.request.method != "GET":
            raise wrong_method()
        if write.live(self._core, Target(context.resource, context.address.namespace, context.address.name)) is None:
            raise context.target.missing()
        return answer.text("")
