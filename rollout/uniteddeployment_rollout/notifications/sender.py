"""Sends notifications beside the decisions. The outcomes are inputs of the next decision.

URLs may be secrets, and so may the texts of errors that contain them: an outcome has only words of its own.
"""

import asyncio
import base64
import binascii
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from weakref import WeakValueDictionary

import structlog
from msgspec import Struct

from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Forbidden, KubeError, NotFound
from uniteddeployment.kube.resource import SECRETS
from uniteddeployment.kube.web import RequestFailed, Web
from uniteddeployment_api import notification_texts
from uniteddeployment_api.v1alpha1.notifications import (
    HTTP_URL_PATTERN,
    PendingNotification,
    RolloutNotification,
    SecretKeyRef,
)
from uniteddeployment_api.v1alpha1.rollout import UnitedRollout, UnitedRolloutStatus
from uniteddeployment_rollout.loop.metrics import RolloutMetrics
from uniteddeployment_rollout.loop.objects import Key, StoredRollout
from uniteddeployment_rollout.notifications.body import body
from uniteddeployment_rollout.notifications.outbox import Outcome, due

SECONDS = 10.0
"""Time limit of a request."""
CONCURRENT = 64
"""Number of requests at the same time."""
CONCURRENT_OF_NAMESPACE = 4
"""Number of them for one namespace, so that slow receivers of one delay no other."""
_URL = re.compile(HTTP_URL_PATTERN)
_LONGEST_URL = 2048
_TEMPORARY = frozenset({408, 425, 429})
_log = structlog.get_logger(__name__)

_Attempt = tuple[Key, str, int]
"""A rollout, its uid, and the id of a notification."""


class _Secret(Struct, frozen=True):
    data: dict[str, str] = {}


class Sender:
    """Sends the notifications that are due, each at most once at a time. ``done(key)`` is called after each attempt."""

    def __init__(
        self, web: Web, client: Client, done: Callable[[Key], None], metrics: RolloutMetrics | None = None
    ) -> None:
        self._web = web
        self._client = client
        self._done = done
        self._metrics = metrics
        self._places = asyncio.Semaphore(CONCURRENT)
        self._of_namespace: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """Those that are in use."""
        self._running: dict[_Attempt, asyncio.Task[None]] = {}
        self._outcomes: dict[_Attempt, Outcome] = {}
        self._changed = asyncio.Event()
        self._stopped = False

    def outcomes(self, key: Key, uid: str) -> dict[int, Outcome]:
        """The outcomes that are not recorded yet, by the id of the notification."""
        return {id_: outcome for (at, of, id_), outcome in self._outcomes.items() if (at, of) == (key, uid)}

    def recorded(self, key: Key, uid: str, outcomes: Mapping[int, Outcome]) -> None:
        """Forget outcomes that the status contains now, and those of other rollouts that had this name."""
        self._outcomes = {
            (at, of, id_): outcome
            for (at, of, id_), outcome in self._outcomes.items()
            if at != key or (of == uid and id_ not in outcomes)
        }
        self._changed.set()

    def send(self, rollout: StoredRollout, model: UnitedRollout, status: UnitedRolloutStatus, now: datetime) -> None:
        """Start to send what is due in a status that is stored."""
        if self._stopped:
            return
        specs = {notification.name: notification for notification in model.spec.notifications}
        for entry in due(status, now):
            attempt = (rollout.key, rollout.metadata.uid, entry.id)
            if attempt not in self._running and attempt not in self._outcomes and entry.name in specs:
                sending = self._attempt(attempt, rollout, specs[entry.name], entry)
                self._running[attempt] = asyncio.create_task(sending)

    async def settle(self) -> None:
        """Start nothing more, and wait until the outcomes of what is under way are recorded."""
        self._stopped = True
        while self._running or self._outcomes:
            self._changed.clear()
            await self._changed.wait()

    def cancel(self) -> None:
        """End all requests."""
        self._stopped = True
        for task in self._running.values():
            task.cancel()

    async def _attempt(
        self, attempt: _Attempt, rollout: StoredRollout, notification: RolloutNotification, entry: PendingNotification
    ) -> None:
        try:
            async with self._share(rollout.metadata.namespace), self._places:
                outcome = await self._deliver(rollout, notification, entry)
        except Exception as error:  # noqa: BLE001  # an error of one stops no others, and its text may have a secret
            outcome = Outcome(f"unexpected {type(error).__name__}", permanent=True)
        finally:
            del self._running[attempt]
            self._changed.set()
        self._outcomes[attempt] = outcome
        self._report(rollout, entry, outcome)
        self._done(rollout.key)

    def _share(self, namespace: str) -> asyncio.Semaphore:
        """The places of a namespace. They are forgotten when no request holds or awaits one."""
        return self._of_namespace.setdefault(namespace, asyncio.Semaphore(CONCURRENT_OF_NAMESPACE))

    def _report(self, rollout: StoredRollout, entry: PendingNotification, outcome: Outcome) -> None:
        if self._metrics is not None:
            self._metrics.notified(delivered=not outcome.problem)
        if outcome.problem:
            namespace, name = rollout.key
            what = {"notification": entry.name, "of": entry.event, "problem": outcome.problem}
            _log.warning("notification failed", namespace=namespace, name=name, **what)

    async def _deliver(
        self, rollout: StoredRollout, notification: RolloutNotification, entry: PendingNotification
    ) -> Outcome:
        try:
            content = body(rollout, notification, entry)
        except notification_texts.InvalidTemplate as error:
            return Outcome(f"the template is invalid: {error}", permanent=True)
        url: str | Outcome = notification.url or ""
        if notification.url_from is not None:
            url = await self._secret_url(rollout.metadata.namespace, notification.url_from.secret_key_ref)
        if isinstance(url, Outcome):
            return url
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "uniteddeployment-rollout",
            "Idempotency-Key": f"{rollout.metadata.uid}-{entry.id}",
        }
        return await post(self._web, url, content, headers)

    async def _secret_url(self, namespace: str, reference: SecretKeyRef) -> str | Outcome:
        """The URL in a Secret, or why there is none."""
        name = f"Secret {reference.name}"
        try:
            secret = await self._client.get(SECRETS, reference.name, _Secret, namespace=namespace)
        except NotFound:
            return Outcome(f"there is no {name}")
        except Forbidden:
            return Outcome(f"the rollout controller may not get {name}; grant it with a Role for this name")
        except KubeError:
            return Outcome(f"{name} cannot be read at present")
        if reference.key not in secret.data:
            return Outcome(f"{name} has no key {reference.key}")
        try:
            url = base64.b64decode(secret.data[reference.key], validate=True).decode().strip()
        except (binascii.Error, UnicodeDecodeError):
            url = ""
        if len(url) > _LONGEST_URL or not _URL.fullmatch(url):
            return Outcome(f"key {reference.key} of {name} is not an HTTP URL")
        return url


async def post(web: Web, url: str, content: bytes, headers: Mapping[str, str], seconds: float = SECONDS) -> Outcome:
    """Send a request. The answer decides whether another attempt makes sense."""
    try:
        status = await web.send(url, headers=headers, body=content, seconds=seconds)
    except RequestFailed as error:
        return Outcome(str(error), permanent=error.permanent)
    if 200 <= status < 300:
        return Outcome()
    if 300 <= status < 400:
        return Outcome(f"HTTP {status}: redirects are not followed", permanent=True)
    return Outcome(f"HTTP {status}", permanent=status < 500 and status not in _TEMPORARY)
