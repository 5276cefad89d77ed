"""Admission webhooks with kopf, in a thread and an event loop of their own.

kopf cancels every task of its loop when it ends, and copies each object that it watches. So it gets neither our loop
nor a watch: it only answers AdmissionReviews.
"""

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import kopf
import structlog

from uniteddeployment.controller.errors import WebhookError
from uniteddeployment.controller.queries import query_errors
from uniteddeployment.controller.settings import Settings
from uniteddeployment.controller.webhook_certificate import CHECK_SECONDS, WebhookCertificate
from uniteddeployment.controller.webhook_server import WebhookServer, listen
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.meta import utc_now
from uniteddeployment_api import (
    FieldError,
    InvalidObject,
    names,
    parse_cluster,
    parse_united_deployment,
    validate_united_deployment,
)
from uniteddeployment_api.validation.gates import parse_gate_template, validate_gate_template
from uniteddeployment_api.validation.rollout import parse_united_rollout, validate_united_rollout

T = TypeVar("T")
_log = structlog.get_logger(__name__)

START_SECONDS = 15.0


class Webhooks:
    """The webhooks of this process. ``problem`` says why they are not served; it is empty while they are served."""

    def __init__(self, port: int, certificate: WebhookCertificate, operator: "_Operator") -> None:
        self.port = port
        self._certificate = certificate
        self._operator = operator

    @property
    def ended(self) -> str:
        """Why they have ended permanently; empty while they are served."""
        return self._operator.ended

    @property
    def problem(self) -> str:
        return self.ended or self._certificate.problem


@contextlib.asynccontextmanager
async def admission(
    connection: Connection,
    client: Client,
    settings: Settings,
    *,
    now: Callable[[], datetime] = utc_now,
    check_seconds: float = CHECK_SECONDS,
) -> AsyncIterator[Webhooks]:
    """Serve the webhooks while the block runs, and renew their certificate. Raises WebhookError."""
    certificate = WebhookCertificate(client, settings.admission_namespace, now=now, check_seconds=check_seconds)
    await certificate.refresh()
    try:
        listener = listen(settings.admission_host, settings.admission_port)
    except OSError as error:
        where = f"{settings.admission_host}:{settings.admission_port}"
        raise WebhookError(
            f"cannot serve webhooks on {where}: {error.strerror}; choose another --admission-port"
        ) from None
    with listener:
        operator = _Operator(connection, listener, certificate.context())
        operator.start()
        renewing = asyncio.create_task(certificate.run())
        try:
            await asyncio.to_thread(operator.wait_ready)
            yield Webhooks(listener.getsockname()[1], certificate, operator)
        finally:
            renewing.cancel()
            await asyncio.to_thread(operator.stop)


class _Operator:
    """A kopf operator in a thread."""

    def __init__(self, connection: Connection, listener: socket.socket, context: ssl.SSLContext) -> None:
        self._stop = threading.Event()
        self._serving = threading.Event()
        self.ended = ""
        """Why it has ended; empty before."""
        self._registry = registry(connection)
        self._settings = _settings(WebhookServer(listener, context, self._serving.set))
        self._thread = threading.Thread(target=self._run, name="kopf", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wait_ready(self) -> None:
        """Wait until reviews are answered. Raises WebhookError if that fails or takes too long."""
        if not self._serving.wait(START_SECONDS):
            raise WebhookError(f"the webhook server was not ready within {START_SECONDS:g} s")
        if self.ended:
            raise WebhookError(self.ended)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(START_SECONDS)

    def _run(self) -> None:
        why = "it was stopped"
        try:
            asyncio.run(
                kopf.operator(
                    registry=self._registry,
                    settings=self._settings,
                    clusterwide=True,
                    standalone=True,
                    stop_flag=self._stop,
                )
            )
        except BaseException as error:  # noqa: BLE001  # the probes report it
            why = str(error) or type(error).__name__
            _log.error("the webhook server ended", error=why)
        finally:
            self.ended = f"the webhook server ended: {why}"
            self._serving.set()


def _settings(server: WebhookServer) -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.process.ultimate_exiting_timeout = None
    # kopf removes finalizers with this name, so it gets one that no object has.
    settings.persistence.finalizer = f"{names.GROUP}/never"
    settings.admission.server = server
    return settings


def registry(connection: Connection) -> kopf.OperatorRegistry:
    """The handlers for login, validation and mutation."""
    handlers = kopf.OperatorRegistry()

    @kopf.on.login(registry=handlers)
    async def login(**_: Any) -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(
            server=connection.server,
            ca_data=connection.ca,
            insecure=connection.insecure,
            token=await connection.tokens.token() if connection.tokens else None,
            certificate_data=connection.client_cert,
            private_key_data=connection.client_key,
        )

    # All kinds have the same path in the webhook configuration; kopf finds handlers by id and kind.
    @kopf.on.validate(names.GROUP, names.VERSION, names.UNITED_DEPLOYMENT_PLURAL, id="validate", registry=handlers)
    @kopf.on.validate(names.GROUP, names.VERSION, names.CLUSTER_PLURAL, id="validate", registry=handlers)
    @kopf.on.validate(names.GROUP, names.VERSION, names.UNITED_ROLLOUT_PLURAL, id="validate", registry=handlers)
    @kopf.on.validate(names.GROUP, names.VERSION, names.GATE_TEMPLATE_PLURAL, id="validate", registry=handlers)
    async def validate(body: kopf.Body, old: Any = None, **_: Any) -> None:
        before = dict(old) if old else None
        _REFUSALS[body["kind"]](dict(body), before)
        if not _is_deleted(dict(body)) and (errors := await query_errors(body, before)):
            _refuse(lambda: errors)

    @kopf.on.mutate(names.GROUP, names.VERSION, names.UNITED_DEPLOYMENT_PLURAL, id="mutate", registry=handlers)
    def mutate(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
        guard(body, patch)

    return handlers


def refuse_united_deployment(obj: dict[str, Any], old: dict[str, Any] | None) -> None:
    """Raises AdmissionError with all invalid fields (I11)."""
    if not _is_deleted(obj):
        before = _readable(old, parse_united_deployment)
        _refuse(lambda: validate_united_deployment(parse_united_deployment(_without_status(obj)), before))


def refuse_united_rollout(obj: dict[str, Any], old: dict[str, Any] | None) -> None:
    """Raises AdmissionError with all invalid fields."""
    if not _is_deleted(obj):
        before = _readable(old, parse_united_rollout)
        _refuse(lambda: validate_united_rollout(parse_united_rollout(_without_status(obj)), old=before))


def refuse_gate_template(obj: dict[str, Any], _old: dict[str, Any] | None = None) -> None:
    """Raises AdmissionError with all invalid fields."""
    if not _is_deleted(obj):
        _refuse(lambda: validate_gate_template(parse_gate_template(obj)))


def refuse_cluster(obj: dict[str, Any], _old: dict[str, Any] | None = None) -> None:
    """Raises AdmissionError with all invalid fields."""

    def validate() -> tuple[FieldError, ...]:
        parse_cluster(_without_status(obj))
        return ()

    _refuse(validate)


def _refuse(validate: Callable[[], Sequence[FieldError]]) -> None:
    try:
        errors = validate()
    except InvalidObject as error:
        raise kopf.AdmissionError(str(error), code=422) from None
    if errors:
        raise kopf.AdmissionError("; ".join(str(error) for error in errors), code=422)


def _is_deleted(obj: dict[str, Any]) -> bool:
    """Whether the object is being deleted: errors must not prevent that."""
    return bool(obj.get("metadata", {}).get("deletionTimestamp"))


def _readable(old: dict[str, Any] | None, parse: Callable[[dict[str, Any]], T]) -> T | None:
    """The old object; None if it is not valid, which must not prevent its correction."""
    if old is None:
        return None
    try:
        return parse(_without_status(old))
    except InvalidObject:
        return None


def _without_status(obj: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key != "status"}


_REFUSALS: Mapping[str, Callable[[dict[str, Any], dict[str, Any] | None], None]] = {
    names.UNITED_DEPLOYMENT_KIND: refuse_united_deployment,
    names.CLUSTER_KIND: refuse_cluster,
    names.UNITED_ROLLOUT_KIND: refuse_united_rollout,
    names.GATE_TEMPLATE_KIND: refuse_gate_template,
}


def guard(body: kopf.Body, patch: MutableMapping[str, Any]) -> None:
    """Add our finalizer on creation, so that the first pass need not write it."""
    finalizers = list(body.get("metadata", {}).get("finalizers") or ())
    if names.FINALIZER not in finalizers and not body.get("metadata", {}).get("deletionTimestamp"):
        patch.setdefault("metadata", {})["finalizers"] = [*finalizers, names.FINALIZER]
