"""The certificate of the webhooks, which all replicas share through a Secret and API servers trust.

Any replica creates it if it is missing, and replaces it before it expires. Each write names the version that was read,
so of two replicas one takes the certificate of the other. Before a replica serves with a certificate, its authority is
in the webhook configurations, together with the one that other replicas may still use.
"""

import asyncio
import base64
import binascii
import ssl
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
import structlog

from uniteddeployment.controller import certificates
from uniteddeployment.controller.certificates import Serving
from uniteddeployment.controller.errors import WebhookError
from uniteddeployment.controller.settings import WEBHOOK
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Conflict, KubeError, NotFound
from uniteddeployment.kube.meta import ObjectMeta, rfc3339, utc_now
from uniteddeployment.kube.resource import SECRETS, Resource
from uniteddeployment_api import names

CHECK_SECONDS = 600.0
"""The interval at which the certificate and the configurations are checked."""
CONFIGURATIONS = tuple(
    Resource("admissionregistration.k8s.io", "v1", plural, kind, namespaced=False)
    for plural, kind in (
        ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    )
)
_TRIES = 5
_log = structlog.get_logger(__name__)


class _Secret(msgspec.Struct):
    metadata: ObjectMeta
    data: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Secret({self.metadata.name})"

    def serving(self) -> Serving:
        """The certificate in the Secret; missing and unreadable parts are empty."""
        try:
            data = {key: base64.b64decode(value, validate=True) for key, value in self.data.items()}
        except binascii.Error:
            data = {}
        return Serving(data.get("ca.crt", b""), data.get("tls.crt", b""), data.get("tls.key", b""))


class _Webhook(msgspec.Struct, rename="camel"):
    client_config: dict[str, Any] = {}


class _Configuration(msgspec.Struct):
    metadata: ObjectMeta
    webhooks: list[_Webhook] = []


class WebhookCertificate:
    """The certificate with which this replica serves. ``run`` renews it."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        *,
        now: Callable[[], datetime] = utc_now,
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = f"{WEBHOOK}.{namespace}.svc"
        self._now = now
        self._check_seconds = check_seconds
        self._serving: Serving | None = None
        self._context: ssl.SSLContext | None = None

    @property
    def problem(self) -> str:
        """Why API servers do not accept it; empty if they do."""
        if self._serving is not None and self._serving.expires <= self._now():
            return f"the certificate of the webhooks expired at {rfc3339(self._serving.expires)}"
        return ""

    def context(self) -> ssl.SSLContext:
        """TLS settings for a server. Each handshake uses the newest certificate. Call :meth:`refresh` first."""
        if self._serving is None:
            raise WebhookError("the certificate was not loaded yet")
        outer = self._serving.context()

        def newest(handshake: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
            if self._context is not None:
                handshake.context = self._context

        outer.sni_callback = newest
        return outer

    async def run(self) -> None:
        """Check it at intervals, until cancelled."""
        while True:
            await asyncio.sleep(self._check_seconds)
            try:
                await self.refresh()
            except WebhookError as error:
                _log.warning("the webhooks' certificate could not be checked", error=str(error))

    async def refresh(self) -> None:
        """Take the certificate from the Secret, or replace it there, and publish its authority.

        Raises WebhookError if the Secret cannot be read or written. A missing webhook configuration is no error.
        """
        try:
            serving = await self._shared()
            for resource in CONFIGURATIONS:
                await self._publish(resource, serving.authorities)
        except KubeError as error:
            raise WebhookError(f"cannot set up the admission webhooks: {error}") from None
        if serving != self._serving:
            self._context = serving.context()
            self._serving = serving
            _log.info("certificate of the webhooks", expires=rfc3339(serving.expires))

    async def _shared(self) -> Serving:
        for _ in range(_TRIES):
            secret = await self._client.get(SECRETS, WEBHOOK, _Secret, namespace=self._namespace)
            known = secret.serving()
            now = self._now()
            if known.valid(self._name, now):
                return known
            fresh = certificates.renewed(self._name, now, known.authorities)
            values = {"ca.crt": fresh.authorities, "tls.crt": fresh.certificate, "tls.key": fresh.key}
            patch = {
                "metadata": {"resourceVersion": secret.metadata.resource_version},
                "data": {key: base64.b64encode(value).decode() for key, value in values.items()},
            }
            try:
                await self._client.merge_patch(SECRETS, WEBHOOK, patch, _Secret, namespace=self._namespace)
            except Conflict:
                continue  # another replica wrote first: take its certificate
            return fresh
        raise WebhookError(f"Secret {self._namespace}/{WEBHOOK} changes too often")

    async def _publish(self, resource: Resource, authorities: bytes) -> None:
        bundle = base64.b64encode(authorities).decode()
        for _ in range(_TRIES):
            try:
                configuration = await self._client.get(resource, names.MANAGER, _Configuration)
            except NotFound:
                return
            bundles = [webhook.client_config.get("caBundle") for webhook in configuration.webhooks]
            stale = [index for index, present in enumerate(bundles) if present != bundle]
            if not stale:
                return
            version = configuration.metadata.resource_version
            at_version = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
            operations = [{"op": "add", "path": f"/webhooks/{i}/clientConfig/caBundle", "value": bundle} for i in stale]
            try:
                await self._client.json_patch(resource, names.MANAGER, [at_version, *operations], _Configuration)
            except Conflict:
                continue
            return
        raise WebhookError(f"{resource.kind} {names.MANAGER} changes too often")
