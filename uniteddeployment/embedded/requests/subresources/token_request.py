"""The token subresource of ServiceAccounts: a POST returns a token and stores nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from uniteddeployment.embedded.apimachinery import meta
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth.security import Security
from uniteddeployment.embedded.auth.tokens import AUDIENCES, Binding
from uniteddeployment.embedded.builtin import shapes
from uniteddeployment.embedded.errors import Cause, StatusError, bad_request, conflict, invalid, not_found
from uniteddeployment.embedded.http import Response
from uniteddeployment.embedded.managed_fields import field_manager as managed
from uniteddeployment.embedded.requests import answer, negotiate, unstored, write
from uniteddeployment.embedded.requests.call import Call
from uniteddeployment.embedded.requests.context import Context, wrong_method
from uniteddeployment.embedded.requests.reviews.question import AUTHENTICATION
from uniteddeployment.embedded.requests.write import Target
from uniteddeployment.embedded.schema.node import node_of
from uniteddeployment.embedded.storage.state import Core

KIND: Final = "TokenRequest"
VERSION: Final = f"{AUTHENTICATION}/v1"
SUBRESOURCE: Final = "token"
ACCOUNTS: Final = "serviceaccounts"

DEFAULT_SECONDS: Final = 3600
SHORTEST: Final = 600
LONGEST: Final = 1 << 32

_DEFINITION: Final = "io.k8s.api.authentication.v1.TokenRequest"
_BOUND: Final[Mapping[str, tuple[str, bool]]] = {
    "Pod": ("pods", True),
    "Secret": ("secrets", True),
    "Node": ("nodes", False),
}
"""Kinds that a token can be bound to: the resource, and whether it is in the namespace of the account."""


@dataclass(frozen=True, slots=True)
class TokenRequests:
    """Answers POSTs to the token subresource."""

    core: Core
    security: Security

    def answer(self, context: Context) -> Response:
        """Answer one request. Raises StatusError."""
        if context.request.method != "POST":
            raise wrong_method()
        call = context.call("CreateOptions")
        issued = self._request(context.target, _read(self.core, context, call), call)
        return answer.value(issued, context.accepted, 201, call.warnings)

    def _request(self, target: Target, request: Obj, call: Call) -> Obj:
        metadata, spec = request["metadata"], request["spec"]
        self._check_names(target, metadata)
        account = write.live(self.core, Target(target.resource, target.namespace, target.name))
        if account is None:
            raise target.missing()
        own = account["metadata"]
        if metadata.get("uid", own["uid"]) != own["uid"]:
            why = f"the UID in the token request ({metadata['uid']}) does not match the UID of the service account "
            raise conflict(KIND, AUTHENTICATION, target.name, f"{why}({own['uid']})")
        spec.setdefault("expirationSeconds", DEFAULT_SECONDS)
        bound = spec.pop("boundObjectRef", None)
        if bound is not None:
            spec["boundObjectRef"] = bound
        self._own(request, call)
        spec["boundObjectRef"] = bound
        spec["audiences"] = spec.get("audiences") or list(AUDIENCES)
        now = self.core.clock.now()
        metadata |= {
            "name": target.name,
            "uid": own["uid"],
            "creationTimestamp": meta.timestamp(now),
        }
        seconds = spec["expirationSeconds"]
        _check_seconds(seconds)
        binding = self._binding(target, bound)
        request["status"] = {
            "token": self.security.accounts.issue(account, seconds, spec["audiences"], binding),
            "expirationTimestamp": meta.timestamp(now + timedelta(seconds=seconds)),
        }
        return request

    @staticmethod
    def _check_names(target: Target, metadata: Obj) -> None:
        if metadata.get("name", target.name) != target.name:
            shown = f'Invalid value: "{metadata["name"]}": must match the service account name if specified'
            raise _invalid(target.name, Cause("FieldValueInvalid", shown, "metadata.name"))

    def _own(self, request: Obj, call: Call) -> None:
        managed.update(
            None,
            request,
            manager=call.manager,
            api_version=VERSION,
            subresource=SUBRESOURCE,
            now=self.core.clock.now(),
            node=node_of(shapes.resolve(_DEFINITION), shapes.resolve),
            status=False,
        )

    def _binding(self, target: Target, reference: Obj | None) -> Binding:
        """The object that the token is bound to. Raises StatusError if it does not exist or has another uid."""
        if reference is None:
            return Binding()
        group, _, version = reference.get("apiVersion", "").rpartition("/")
        kind, name = reference.get("kind", ""), reference.get("name", "")
        if group or kind not in _BOUND:
            raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        if not name:
            raise bad_request("Name parameter required.")
        key, namespaced = _BOUND[kind]
        stored = self._find(key, target.namespace if namespaced else "", name)
        if stored is None:
            raise not_found(key, "", name)
        node: tuple[str, str] | None = None
        if kind == "Pod":
            node = self._node_of(target, stored)
        uid = stored["metadata"]["uid"]
        if reference.get("uid") and reference["uid"] != uid:
            why = f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            raise conflict(kind, "", name, f"{why}The object might have been deleted and then recreated")
        return Binding(kind, name, uid, node)

    def _node_of(self, target: Target, pod: Obj) -> tuple[str, str] | None:
        """Name and uid of the node of a pod; a node that no longer exists has no uid."""
        spec = pod["spec"]
        if spec.get("serviceAccountName", "") != target.name:
            why = f'cannot bind token for serviceaccount "{target.name}" to pod running with different serviceaccount '
            raise bad_request(f"{why}name.")
        name = spec.get("nodeName", "")
        if not name:
            return None
        node = self._find("nodes", "", name)
        return (name, "" if node is None else node["metadata"]["uid"])

    def _find(self, key: str, namespace: str, name: str) -> Obj | None:
        return write.live(self.core, Target(self.core.registry.main(key), namespace, name))


def _read(core: Core, context: Context, call: Call) -> Obj:
    """The TokenRequest in the body."""
    media, namespace = negotiate.body_type(context.header("content-type")), context.address.namespace
    body = context.request.body
    request = unstored.read(core.registry, _DEFINITION, KIND, body, media, namespace=namespace, call=call)
    request.pop("status", None)
    return request


def _check_seconds(seconds: int) -> None:
    why = ""
    if seconds < SHORTEST:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > LONGEST:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        raise _invalid("", Cause("FieldValueInvalid", f"Invalid value: {seconds}: {why}", "spec.expirationSeconds"))


def _invalid(name: str, cause: Cause) -> StatusError:
    return invalid(KIND, AUTHENTICATION, name, [cause])
