"""Token Secrets of ServiceAccounts: filled in when they are created, deleted with their account."""

import base64
from typing import ClassVar, Final

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.controller import Controller, Key
from uniteddeployment.embedded.errors import StatusError

MANAGER: Final = "kube-controller-manager"
SECRETS: Final = "secrets"
ACCOUNTS: Final = "serviceaccounts"
TYPE: Final = "kubernetes.io/service-account-token"
NAME: Final = "kubernetes.io/service-account.name"
UID: Final = "kubernetes.io/service-account.uid"


class TokenSecrets(Controller):
    """Keys are Secrets of the token type."""

    name: ClassVar[str] = "serviceaccount-token-controller"

    def setup(self) -> None:
        self._of_account: dict[Key, dict[Key, None]] = {}
        self._unsubscribe.append(self.access.subscribe(SECRETS, self._on_secret))
        self._unsubscribe.append(self.access.subscribe(ACCOUNTS, self._on_account))
        for secret in self.access.list(SECRETS):
            self._on_secret(Change("ADDED", SECRETS, secret, None))

    def _on_secret(self, change: Change) -> None:
        secret = change.obj
        if secret.get("type") != TYPE:
            return
        metadata = secret["metadata"]
        key = (metadata["namespace"], metadata["name"])
        account = (metadata["namespace"], _annotation(secret, NAME))
        secrets = self._of_account.setdefault(account, {})
        if change.type != "DELETED":
            secrets[key] = None
            self.enqueue(key)
            return
        secrets.pop(key, None)
        if not secrets:
            del self._of_account[account]

    def _on_account(self, change: Change) -> None:
        metadata = change.obj["metadata"]
        for key in self._of_account.get((metadata["namespace"], metadata["name"]), ()):
            self.enqueue(key)

    def sync(self, key: Key) -> None:
        secret = self.access.get(SECRETS, *key)
        if secret is None or secret.get("type") != TYPE or secret["metadata"].get("deletionTimestamp"):
            return
        account = self.access.get(ACCOUNTS, key[0], _annotation(secret, NAME))
        uid = _annotation(secret, UID)
        if account is None or (uid and uid != account["metadata"]["uid"]):
            self._delete(key, secret)
            return
        self._fill(secret, account)

    def _delete(self, key: Key, secret: Obj) -> None:
        try:
            self.access.delete(SECRETS, *key, uid=secret["metadata"]["uid"])
        except StatusError as error:
            if error.code not in (404, 409):
                raise

    def _fill(self, secret: Obj, account: Obj) -> None:
        metadata, held = secret["metadata"], secret.get("data") or {}
        wanted = dict(held)
        authority = self.access.authority()
        if authority:
            wanted["ca.crt"] = _encoded(authority)
        wanted.setdefault("namespace", _encoded(metadata["namespace"].encode()))
        if not held.get("token"):
            wanted["token"] = _encoded(self.access.issue_token(account, metadata["name"]).encode())
        if wanted == held:
            return
        own = {NAME: account["metadata"]["name"], UID: account["metadata"]["uid"]}
        annotations = {**(metadata.get("annotations") or {}), **own}
        filled = {**secret, "metadata": {**metadata, "annotations": annotations}, "data": wanted}
        self.access.update(SECRETS, filled, manager=MANAGER)


def _annotation(obj: Obj, name: str) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(name, ""))


def _encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
