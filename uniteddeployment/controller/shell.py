"""kopf as the operator's shell: login, start-up, clean-up and admission webhooks, in a thread and loop of its own.

kopf cancels every task of its loop when it ends, and copies each object that it watches; so it gets neither our loop
nor a watch. What it is asked here is what it is good at: to answer the API server about what users write.
"""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, MutableMapping
from typing import Any

import kopf
import structlog

from uniteddeployment.controller import certificates
from uniteddeployment.controller.settings import WEBHOOK, Settings
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment_api import (
    InvalidObject,
    UnitedDeployment,
    names,
    parse_cluster,
    parse_united_deployment,
    validate_united_deployment,
)

_log = structlog.get_logger(__name__)

START_SECONDS = 15.0
POLL_SECONDS = 0.05


@contextlib.asynccontextmanager
async def admission(connection: Connection, client: Client, settings: Settings) -> AsyncIterator[None]:
    """Serve the webhooks while the block runs. Raises CertificateError, TimeoutError."""
    serving = await certificates.ensure(client, settings.admission_namespace, WEBHOOK, configuration=names.MANAGER)
    with certificates.as_files(serving) as (certfile, keyfile):
        server = kopf.WebhookServer(
            addr=settings.admission_host, port=settings.admission_port, certfile=certfile, pkeyfile=keyfile
        )
        operator = _Operator(connection, server)
        operator.start()
        try:
            await asyncio.to_thread(operator.wait_ready)
            await _listening(settings.admission_port)
            yield
        finally:
            await asyncio.to_thread(operator.stop)


async def _listening(port: int) -> None:
    """Until connections are taken: kopf calls itself ready before its webhook server is."""
    try:
        async with asyncio.timeout(START_SECONDS):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except ConnectionRefusedError:
                    await asyncio.sleep(POLL_SECONDS)
                    continue
                writer.close()
                return
    except TimeoutError:
        raise TimeoutError(f"the webhook server did not listen on port {port} within {START_SECONDS:g} s") from None


class _Operator:
    """A kopf operator in a thread."""

    def __init__(self, connection: Connection, server: kopf.WebhookServer) -> None:
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._registry = registry(connection)
        self._settings = _settings(server)
        self._thread = threading.Thread(target=self._run, name="kopf", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wait_ready(self) -> None:
        """Returns when the operator is up; raises what kept it from coming up."""
        if not self._ready.wait(START_SECONDS) and self._error is None:
            raise TimeoutError(f"the webhook server was not ready within {START_SECONDS:g} s")
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(START_SECONDS)

    def _run(self) -> None:
        try:
            asyncio.run(
                kopf.operator(
                    registry=self._registry,
                    settings=self._settings,
                    clusterwide=True,
                    standalone=True,
                    stop_flag=self._stop,
                    ready_flag=self._ready,
                )
            )
        except BaseException as error:  # noqa: BLE001  # handed to whoever waits for the thread
            self._error = error
            _log.error("the webhook server ended", error=str(error))
        finally:
            self._ready.set()


def _settings(server: kopf.WebhookServer) -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.process.ultimate_exiting_timeout = None
    # It removes finalizers that it takes for its own; with this name there are none.
    settings.persistence.finalizer = f"{names.GROUP}/never"
    settings.admission.server = server
    return settings


def registry(connection: Connection) -> kopf.OperatorRegistry:
    """The handlers: who we are, what is refused, what is filled in."""
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

    # One path for both kinds, as the webhook configuration has it: kopf finds handlers by id and by kind.
    @kopf.on.validate(names.GROUP, names.VERSION, names.UNITED_DEPLOYMENT_PLURAL, id="validate", registry=handlers)
    @kopf.on.validate(names.GROUP, names.VERSION, names.CLUSTER_PLURAL, id="validate", registry=handlers)
    def validate(body: kopf.Body, old: Any = None, **_: Any) -> None:
        if body.get("kind") == names.CLUSTER_KIND:
            refuse_cluster(dict(body))
        else:
            refuse_united_deployment(dict(body), dict(old) if old else None)

    @kopf.on.mutate(names.GROUP, names.VERSION, names.UNITED_DEPLOYMENT_PLURAL, id="mutate", registry=handlers)
    def mutate(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
        guard(body, patch)

    return handlers


def refuse_united_deployment(obj: dict[str, Any], old: dict[str, Any] | None) -> None:
    """Raises AdmissionError with every field that is wrong (I11)."""
    if obj.get("metadata", {}).get("deletionTimestamp"):
        return  # whatever is wrong with it, it must be able to go
    try:
        errors = validate_united_deployment(parse_united_deployment(_without_status(obj)), _readable(old))
    except InvalidObject as error:
        raise kopf.AdmissionError(str(error), code=422) from None
    if errors:
        raise kopf.AdmissionError("; ".join(str(error) for error in errors), code=422)


def _readable(old: dict[str, Any] | None) -> UnitedDeployment | None:
    """The object as it was; None for one that cannot be read, which must not keep anybody from mending it."""
    if old is None:
        return None
    try:
        return parse_united_deployment(_without_status(old))
    except InvalidObject:
        return None


def _without_status(obj: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key != "status"}


def refuse_cluster(obj: dict[str, Any]) -> None:
    """Raises AdmissionError with every field that is wrong."""
    try:
        parse_cluster(_without_status(obj))
    except InvalidObject as error:
        raise kopf.AdmissionError(str(error), code=422) from None


def guard(body: kopf.Body, patch: MutableMapping[str, Any]) -> None:
    """Put our finalizer on before the object exists: the first pass then need not write it."""
    finalizers = list(body.get("metadata", {}).get("finalizers") or ())
    if names.FINALIZER not in finalizers and not body.get("metadata", {}).get("deletionTimestamp"):
        patch.setdefault("metadata", {})["finalizers"] = [*finalizers, names.FINALIZER]
