"""Dispatches requests: authentication and authorization, routing, handlers.

Contract: :meth:`Dispatcher.handle` never raises StatusError and never blocks. A refusal becomes a Status.
"""

from collections.abc import Sequence
from typing import Final

from uniteddeployment.embedded.apimachinery import selectors
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth.audit import Auditor
from uniteddeployment.embedded.auth.security import Accessed, Security
from uniteddeployment.embedded.discovery import routes as route
from uniteddeployment.embedded.errors import StatusError, bad_request
from uniteddeployment.embedded.http import Request, Response
from uniteddeployment.embedded.requests import answer, negotiate, options, read, watch, write
from uniteddeployment.embedded.requests import body as bodies
from uniteddeployment.embedded.requests import delete as deletion
from uniteddeployment.embedded.requests import patch as patches
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.requests.context import Context, deprecations, wrong_method
from uniteddeployment.embedded.requests.continue_token import Pages
from uniteddeployment.embedded.requests.negotiate import Accepted
from uniteddeployment.embedded.requests.paths import Paths
from uniteddeployment.embedded.requests.subresources.handlers import Subresources
from uniteddeployment.embedded.requests.write import Target
from uniteddeployment.embedded.storage.state import Core

RETURNED: Final = frozenset(
    {
        "pods", "services", "serviceaccounts", "persistentvolumes", "persistentvolumeclaims", "podtemplates",
        "resourcequotas", "namespaces",
    }
)  # fmt: skip
"""Kinds whose deletion returns the object; the others return a Status."""

CREATED_BY_UPDATE: Final = frozenset(
    {
        "endpoints", "events", "events.events.k8s.io", "leases.coordination.k8s.io", "limitranges", "podtemplates",
        "services", "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
    }
)  # fmt: skip
"""Kinds that a PUT creates if they do not exist."""

ORPHAN_WARNING: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
JOBS: Final = "jobs.batch"
DELETER: Final = "unknown"
"""Deletions own no fields, so the name of the manager does not matter."""


class Dispatcher:
    """Answers the requests of one cluster. Every function in ``audit`` is called with each request and its response."""

    def __init__(self, core: Core, security: Security, audit: Sequence[Auditor]) -> None:
        self._core = core
        self._security = security
        self._audit = audit
        self._paths = Paths(core, security)
        self._subresources = Subresources(core, security, update=self._update, patch=self._patch)

    def handle(self, request: Request) -> Response:
        """Answer a request."""
        query = dict(reversed(request.query))
        watching = options.flag(query, "watch")
        access = Accessed(self._security, request, route.address(request.path), query, watch=watching)
        try:
            access.check()
            response = self._handle(access, watching=watching)
        except StatusError as failure:
            response = answer.error(failure)
        if self._audit:
            event = access.event(self._core.clock.now(), response)
            for auditor in self._audit:
                auditor(event)
        return response

    def _handle(self, access: Accessed, *, watching: bool) -> Response:
        request, query, address = access.request, access.query, access.address
        if address is None:
            return self._paths.plain(request, query)
        match = route.find(self._core.registry, address)
        if match is None:
            if address.plural == "bindings" and not address.group and not address.name and request.method == "POST":
                return self._subresources.bind(request, address, query)
            return self._paths.unserved(request, address, access.identity)
        context = Context(request, match, query, access.gate())
        deprecated = deprecations(match.resource)
        try:
            response = self._routed(context, watching=watching)
        except StatusError as failure:
            response = answer.error(failure)
            response.warnings = answer.warning_values(context.warnings)
        if deprecated:
            response.warnings = (*answer.warning_values(deprecated), *response.warnings)
        return response

    def _routed(self, context: Context, *, watching: bool) -> Response:
        if context.address.watched:
            return self._watch_path(context)
        if context.address.subresource:
            return self._subresources.answer(context)
        if context.address.name:
            return self._object(context)
        return self._collection(context, watching=watching)

    def _watch_path(self, context: Context) -> Response:
        """A path below ``watch/``: a watch of a collection, or of one object in it."""
        address, query = context.address, dict(context.query)
        if context.request.method != "GET":
            raise wrong_method()
        if address.name:
            selected = query.get("fieldSelector", "")
            if selected and selectors.parse("", selected, context.resource).name != address.name:
                raise bad_request("fieldSelector metadata.name doesn't match requested name")
            query["fieldSelector"] = f"metadata.name={address.name}"
        return watch.watch(self._core, context.route, context.accepted, query)

    # Collections

    def _collection(self, context: Context, *, watching: bool) -> Response:
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

    def _create(self, context: Context) -> Response:
        media = negotiate.body_type(context.header("content-type"), custom=context.resource.custom)
        call = context.call("CreateOptions")
        obj = bodies.read_object(self._core.registry, context.resource, context.request.body, media, call)
        return self._one(context, write.create(self._core, context.target, obj, call), call, 201)

    def _one(self, context: Context, obj: Obj, call: Call, status: int = 200) -> Response:
        return answer.object_(
            self._core,
            context.resource,
            obj,
            context.accepted,
            context.query,
            status=status,
            warnings=call.warnings,
        )

    def _delete_collection(self, context: Context) -> Response:
        core, resource = self._core, context.resource
        listed = options.list_options(context.query)
        if listed.token:
            Pages(resource, context.address.namespace).read(listed.token)
        request = self._delete_request(context)
        selector = selectors.parse(listed.labels, listed.fields, resource)
        table = core.registry.table(resource)
        stored = core.store.objects(table, table.select(context.address.namespace or None))
        chosen = [shown for shown in (core.registry.show(resource, obj) for obj in stored) if selector.matches(shown)]
        call = Call(DELETER, request.dry_run)
        self._warn(context, request, call)
        for obj in chosen:
            metadata = obj["metadata"]
            target = Target(resource, metadata.get("namespace", ""), metadata["name"])
            deletion.delete(core, target, request.options, call)
        metadata = read.list_metadata(resource, core.store.rv)
        response = answer.list_(core, resource, chosen, metadata, accepted=context.accepted, query=context.query)
        response.warnings = answer.warning_values(call.warnings)
        return response

    @staticmethod
    def _warn(context: Context, request: options.DeleteRequest, call: Call) -> None:
        """Warn that pods of a Job are orphaned if the client sets no propagation policy."""
        if context.resource.key == JOBS and request.options.propagation is None:
            call.warnings.append(ORPHAN_WARNING)

    # Objects

    def _object(self, context: Context) -> Response:
        method = context.request.method
        if route.OBJECT_VERBS.get(method, "") not in context.resource.verbs or method == "POST":
            raise wrong_method()
        if method == "GET":
            return read.get(self._core, context.route, context.accepted, context.query)
        if method == "PUT":
            return self._update(context)
        return self._patch(context) if method == "PATCH" else self._delete(context)

    def _update(self, context: Context) -> Response:
        core, resource, target = self._core, context.resource, context.target
        media = negotiate.body_type(context.header("content-type"), custom=resource.custom)
        call = context.call("UpdateOptions")
        obj = bodies.read_object(core.registry, resource, context.request.body, media, call)
        bodies.check_name(obj, target.name, target.namespace)
        if not target.subresource and resource.key in CREATED_BY_UPDATE and write.live(core, target) is None:
            return self._one(context, write.create(core, target, obj, call), call, 201)
        resource.strategy.default(obj)
        return self._one(context, write.update(core, target, lambda _: obj, call, versioned=True), call)

    def _patch(self, context: Context) -> Response:
        media = negotiate.content_type(context.header("content-type"))
        patches.check_media(media, custom=context.resource.custom)
        call = context.call("PatchOptions", apply=media == patches.APPLY_PATCH)
        patched = patches.patch(self._core, context.target, media, context.request.body, call)
        return self._one(context, patched.obj, call, 201 if patched.created else 200)

    @staticmethod
    def _delete_request(context: Context) -> options.DeleteRequest:
        body = bodies.read_options(context.request.body, negotiate.content_type(context.header("content-type")))
        return options.delete_request(body, context.query, context.dry_runs)

    def _delete(self, context: Context) -> Response:
        resource = context.resource
        request = self._delete_request(context)
        call = Call(DELETER, request.dry_run)
        self._warn(context, request, call)
        deleted = deletion.delete(self._core, context.target, request.options, call)
        if deleted.gone and resource.key not in RETURNED:
            status = answer.success(resource, context.address.name, deleted.obj["metadata"]["uid"])
            return answer.value(status, Accepted(), warnings=call.warnings)
        return self._one(context, deleted.obj, call)
