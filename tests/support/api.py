"""Requests of tests to one API server, over a connection that stays open.

kubectl takes a tenth of a second of CPU time for each request; these take a millisecond.
"""

import base64
import json
import ssl
import tempfile
from collections.abc import Mapping
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from uniteddeployment.controller.objects import UNITED_DEPLOYMENTS
from uniteddeployment.fleet.clusters import CLUSTERS
from uniteddeployment.kube import resource
from uniteddeployment.kube.resource import Resource
from uniteddeployment_rollout.loop.objects import UNITED_ROLLOUTS

SECONDS = 30.0
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
NAMES = {
    "ud": UNITED_DEPLOYMENTS,
    "udc": CLUSTERS,
    "uro": UNITED_ROLLOUTS,
    "sts": resource.STATEFULSETS,
    "deploy": resource.DEPLOYMENTS,
    "pods": resource.PODS,
    "secret": resource.SECRETS,
    "namespace": resource.NAMESPACES,
    "lease": resource.LEASES,
    "events": resource.EVENTS,
    "controllerrevisions": resource.CONTROLLERREVISIONS,
    "role": resource.ROLES,
    "clusterrole": resource.CLUSTERROLES,
    "clusterrolebinding": resource.CLUSTERROLEBINDINGS,
    "crd": resource.CUSTOMRESOURCEDEFINITIONS,
}
"""What kubectl calls the resources that tests look at."""
_BY_KIND = {one.kind: one for one in NAMES.values()}


class ApiError(AssertionError):
    """The API server refused a request."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Api:
    """The API server of the first cluster of a kubeconfig, as its first user sees it."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._cluster: dict[str, Any] = config["clusters"][0]["cluster"]
        self._user: dict[str, Any] = config["users"][0]["user"]
        self._open: HTTPConnection | None = None

    def request(self, method: str, path: str, document: Any = None, content: str = "application/json") -> Any:
        """The document that it answers with. Raises ApiError."""
        body = None if document is None else json.dumps(document)
        answer = self._answer(method, path, body, {"Content-Type": content, **self.authorization})
        text = answer.read()
        if answer.status >= 300:
            raise ApiError(answer.status, text.decode())
        return json.loads(text) if text else None

    def get(self, name: str, namespace: str | None = None, one: str | None = None) -> Any:
        """An object, or the list of a collection; ``name`` is a key of NAMES. Raises ApiError."""
        return self.request("GET", NAMES[name].path(namespace, one))

    def exists(self, name: str, namespace: str | None, one: str) -> bool:
        try:
            self.get(name, namespace, one)
        except ApiError as error:
            if error.code != 404:
                raise
            return False
        return True

    def create(self, document: Mapping[str, Any], namespace: str | None = None) -> Any:
        return self.request("POST", f"{_of(document).path(namespace)}?fieldValidation=Strict", document)

    def apply(self, document: Mapping[str, Any], namespace: str | None = None) -> Any:
        """Server-side apply, over whatever others have set."""
        path = _of(document).path(namespace, document["metadata"]["name"])
        return self.request("PATCH", f"{path}?fieldManager=tests&force=true&fieldValidation=Strict", document, APPLY)

    def merge(self, name: str, namespace: str | None, one: str, patch: Mapping[str, Any]) -> Any:
        """Apply a merge patch."""
        return self.request("PATCH", NAMES[name].path(namespace, one), patch, MERGE)

    def delete(self, name: str, namespace: str | None, one: str, policy: str = "Background") -> None:
        """Begin a deletion."""
        self.request("DELETE", NAMES[name].path(namespace, one), {"propagationPolicy": policy})

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _answer(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> HTTPResponse:
        try:
            return self._ask(method, path, body, headers)
        except (HTTPException, ConnectionError, ssl.SSLError):
            self.close()  # the server gave up the connection while nobody used it
            return self._ask(method, path, body, headers)

    def _ask(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> HTTPResponse:
        there = urlsplit(self._cluster["server"])
        if self._open is None:
            self._open = HTTPSConnection(str(there.hostname), there.port, timeout=SECONDS, context=self.tls)
        try:
            self._open.request(method, there.path + path, body, headers)
            return self._open.getresponse()
        except BaseException:
            self.close()  # half of an answer may be left in it
            raise

    @property
    def authorization(self) -> dict[str, str]:
        """The header with the token."""
        token = self._user.get("token")
        return {"Authorization": f"Bearer {token}"} if token else {}

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """Trusts the authority of the server, and has the certificate of the user."""
        authority = self._cluster.get("certificate-authority-data")
        made = ssl.create_default_context(cadata=base64.b64decode(authority).decode() if authority else None)
        if "client-certificate-data" in self._user:
            with tempfile.NamedTemporaryFile() as file:
                parts = (self._user["client-certificate-data"], self._user["client-key-data"])
                Path(file.name).write_bytes(b"\n".join(base64.b64decode(part) for part in parts))
                made.load_cert_chain(file.name)
        return made


def _of(document: Mapping[str, Any]) -> Resource:
    return _BY_KIND[document["kind"]]
