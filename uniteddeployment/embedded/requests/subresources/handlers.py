"""Handlers of subresources: status, finalize, scale, and those of pods and ServiceAccounts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth.security import Security
from uniteddeployment.embedded.discovery.routes import Address, Route
from uniteddeployment.embedded.errors import StatusError, qualified
from uniteddeployment.embedded.http import Request, Response
from uniteddeployment.embedded.requests import answer, negotiate, read, write
from uniteddeployment.embedded.requests import body as bodies
from uniteddeployment.embedded.requests import patch as patches
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.requests.context import Context, missing_path, wrong_method
from uniteddeployment.embedded.requests.subresources import pods, scale, token_request
from uniteddeployment.embedded.requests.subresources.token_request import TokenRequests
from uniteddeployment.embedded.requests.write import Target
from uniteddeployment.embedded.storage.state import Core

PODS: Final = "pods"

_PARTS: Final = frozenset({"ephemeralcontainers", "resize"})
"""Subresources of pods that change a part of their spec."""

Handler = Callable[[Context], Response]
Act = Callable[[Core, Target, Obj, Call], None]

_POSTED: Final[Mapping[str, tuple[str, str, Act]]] = {
    "eviction": ("Eviction", "policy/v1", pods.evict),
    "binding": ("Binding", "v1", pods.bind),
}
"""Kind, apiVersion and function of the objects that are posted to pods."""


def _unsupported(context: Context) -> StatusError:
    """405 for a method of a subresource; for custom resources it names the method."""
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


class Subresources:
    """Answers paths with a subresource. Subresources of the whole object use ``update`` and ``patch``."""

    def __init__(self, core: Core, security: Security, *, update: Handler, patch: Handler) -> None:
        self._core = core
        self._tokens = TokenRequests(core, security)
        self._update = update
        self._patch = patch

    def answer(self, context: Context) -> Response:
        """Answer one request."""
        name, resource = context.address.subresource, context.resource
        if (name == "status" and resource.status) or (resource.key == PODS and name in _PARTS):
            return self._whole(context)
        if name == "scale" and resource.scale is not None:
            return self._scale(context)
        if name == "finalize" and resource.key == write.NAMESPACES:
            if context.request.method != "PUT":
                raise wrong_method()
            return self._update(context)
        if resource.key == PODS and name in _POSTED:
            return self._post(context)
        if resource.key == PODS and name == "log":
            return self._log(context)
        if resource.key == token_request.ACCOUNTS and name == token_request.SUBRESOURCE:
            return self._tokens.answer(context)
        if resource.custom:
            raise context.target.missing()
        raise missing_path()

    def _whole(self, context: Context) -> Response:
        """A subresource that reads and writes the whole object."""
        method = context.request.method
        if method == "GET":
            return read.get(self._core, context.route, context.accepted, context.query)
        if method == "PUT":
            return self._update(context)
        if method == "PATCH":
            return self._patch(context)
        raise _unsupported(context)

    def _scale(self, context: Context) -> Response:
        core, target, method = self._core, context.target, context.request.method
        if method == "GET":
            return self._shown(context, scale.get(core, target))
        if method == "PUT":
            call = context.call("UpdateOptions")
            media = negotiate.body_type(context.header("content-type"))
            scaled = scale.update(core, target, scale.read(core, target, context.request.body, media, call), call)
        elif method == "PATCH":
            media = negotiate.content_type(context.header("content-type"))
            patches.check_media(media, custom=context.resource.custom)
            call = context.call("PatchOptions", apply=media == patches.APPLY_PATCH)
            scaled = scale.patch(core, target, media, context.request.body, call)
        else:
            raise _unsupported(context)
        return self._shown(context, scaled, call.warnings)

    def _shown(self, context: Context, scaled: Obj, warnings: Sequence[str] = ()) -> Response:
        """A Scale, which has table columns of its own."""
        columns = scale.CUSTOM_COLUMNS if context.resource.custom else scale.COLUMNS
        shape = replace(context.resource, columns=columns, extra={})
        return answer.object_(self._core, shape, scaled, context.accepted, context.query, warnings=warnings)

    def _post(self, context: Context) -> Response:
        if context.request.method != "POST":
            raise wrong_method()
        kind, api_version, act = _POSTED[context.address.subresource]
        call = context.call("CreateOptions")
        media = negotiate.body_type(context.header("content-type"))
        obj = bodies.read_plain(self._core.registry, kind, api_version, context.request.body, media)
        act(self._core, context.target, obj, call)
        return answer.value(pods.CREATED, context.accepted, 201, call.warnings)

    def bind(self, request: Request, address: Address, query: Mapping[str, str]) -> Response:
        """A Binding that is posted to its collection: the same as one posted to its pod."""
        media = negotiate.body_type(request.headers.get("content-type", ""))
        obj = bodies.read_plain(self._core.registry, "Binding", "v1", request.body, media)
        where = Address("", "v1", PODS, address.namespace, obj["metadata"].get("name", ""), "binding")
        return self._post(Context(request, Route(where, self._core.registry.main(PODS)), query))

    def _log(self, context: Context) -> Response:
        """The log of a simulated container, which is empty."""
        if context.request.method != "GET":
            raise wrong_method()
        if write.live(self._core, context.target) is None:
            raise context.target.missing()
        return answer.text("")
