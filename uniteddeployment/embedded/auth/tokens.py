"""Tokens of ServiceAccounts: time-limited, bound to objects, and invalid once these are gone.

Contract: a token is valid until it expires, while its ServiceAccount and the object that it is bound to exist with the
uids in the token. The token of a Secret of type ``kubernetes.io/service-account-token`` does not expire and is valid
while the Secret holds it. As on a real server, an accepted token is not checked again for :data:`CACHE_SECONDS`, so it
can outlive its objects by that time.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, Final

from uniteddeployment.embedded.apimachinery import meta
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth.jwt import UNKNOWN, InvalidTokenError, SigningKey
from uniteddeployment.embedded.auth.rules import quoted
from uniteddeployment.embedded.auth.users import AUTHENTICATED, service_account_groups, service_account_name
from uniteddeployment.embedded.http import Identity
from uniteddeployment.embedded.storage.state import Core

ISSUER: Final = "https://kubernetes.default.svc"
LEGACY_ISSUER: Final = "kubernetes/serviceaccount"
"""The issuer of the tokens in Secrets."""

AUDIENCES: Final = (ISSUER,)
"""The default audience of a token, and the only audience that this server accepts."""

CACHE_SECONDS: Final = 10.0
"""Seconds for which an accepted token is not checked again."""

LEEWAY: Final = timedelta(minutes=1)
"""Allowed clock difference in seconds; also the time for which an object that is being deleted still counts."""

TOKENS_REMEMBERED: Final = 4096
EXTRA: Final = "authentication.kubernetes.io"
_CLAIMS: Final = "kubernetes.io"
_INVALIDATED: Final = "service account token has been invalidated"


@dataclass(frozen=True, slots=True)
class Binding:
    """The object that a token is bound to and, for a pod, its node. Each is a name and a uid."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    node: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The user of a token, and the requested audiences for which the token is valid."""

    identity: Identity
    audiences: tuple[str, ...]


class ServiceAccountTokens:
    """Issues and verifies tokens."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._accepted: dict[tuple[str, tuple[str, ...]], tuple[float, Authenticated]] = {}
        """Accepted tokens by token and audiences, with the time until which they are cached."""

    @cached_property
    def key(self) -> SigningKey:
        """Created with the first token: most test clusters never issue one."""
        return SigningKey()

    def issue(self, account: Obj, seconds: int, audiences: Sequence[str], binding: Binding) -> str:
        """A token for a ServiceAccount that expires after ``seconds``."""
        metadata, now = account["metadata"], int(self._core.clock.now().timestamp())
        private: Obj = {"namespace": metadata["namespace"]}
        if binding.node is not None:
            private["node"] = _reference(*binding.node)
        if binding.kind:
            private[binding.kind.lower()] = _reference(binding.name, binding.uid)
        private["serviceaccount"] = _reference(metadata["name"], metadata["uid"])
        return self.key.sign(
            {
                "aud": list(audiences),
                "exp": now + seconds,
                "iat": now,
                "iss": ISSUER,
                "jti": meta.new_uid(self._core.random),
                _CLAIMS: private,
                "nbf": now,
                "sub": service_account_name(metadata["namespace"], metadata["name"]),
            }
        )

    def issue_lasting(self, account: Obj, secret: str) -> str:
        """The token of a ServiceAccount for a Secret; it does not expire."""
        metadata = account["metadata"]
        return self.key.sign(
            {
                "iss": LEGACY_ISSUER,
                f"{LEGACY_ISSUER}/namespace": metadata["namespace"],
                f"{LEGACY_ISSUER}/secret.name": secret,
                f"{LEGACY_ISSUER}/service-account.name": metadata["name"],
                f"{LEGACY_ISSUER}/service-account.uid": metadata["uid"],
                "sub": service_account_name(metadata["namespace"], metadata["name"]),
            }
        )

    def authenticate_token(self, token: str, audiences: tuple[str, ...] = AUDIENCES) -> Authenticated:
        """The user of a token. Raises InvalidTokenError, whose reason quotes nothing of the token."""
        cached = self._accepted.get((token, audiences))
        now = self._core.clock.monotonic()
        if cached is not None and now < cached[0]:
            return cached[1]
        if "key" not in self.__dict__:
            raise InvalidTokenError(UNKNOWN)
        claims = self.key.verify(token)
        meant = claims.get("aud", AUDIENCES)
        shared = tuple(audience for audience in audiences if audience in meant)
        if not shared:
            own, wanted = quoted(meant), quoted(audiences)
            raise InvalidTokenError(f"token audiences {own} is invalid for the target audiences {wanted}")
        if claims["iss"] == LEGACY_ISSUER:
            authenticated = Authenticated(self._lasting_identity(claims, token), shared)
        else:
            self._check_time(claims)
            authenticated = Authenticated(self._identity(claims), shared)
        if len(self._accepted) >= TOKENS_REMEMBERED:
            self._accepted.clear()
        self._accepted[token, audiences] = (now + CACHE_SECONDS, authenticated)
        return authenticated

    def _check_time(self, claims: Mapping[str, Any]) -> None:
        now, leeway = self._core.clock.now().timestamp(), LEEWAY.total_seconds()
        if now > claims["exp"] + leeway:
            raise InvalidTokenError("service account token has expired")
        if now < claims["nbf"] - leeway:
            raise InvalidTokenError("service account token is not valid yet")

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        private: Mapping[str, Any] = claims[_CLAIMS]
        namespace, account = private["namespace"], private["serviceaccount"]
        self._check_account(namespace, account)
        extra = [("credential-id", f"JTI={claims['jti']}")]
        node, pod = private.get("node"), private.get("pod")
        if secret := private.get("secret"):
            self._check_bound("secrets", namespace, secret)
        if pod:
            self._check_bound("pods", namespace, pod)
        elif node:
            self._check_bound("nodes", "", node)
        if node:
            extra += [("node-name", node["name"]), ("node-uid", node["uid"])]
        if pod:
            extra += [("pod-name", pod["name"]), ("pod-uid", pod["uid"])]
        return _account_identity(
            namespace, account, tuple((f"{EXTRA}/{key}", (value,)) for key, value in extra if value)
        )

    def _lasting_identity(self, claims: Mapping[str, Any], token: str) -> Identity:
        """The user of a Secret's token, while the Secret holds it."""
        name, uid, namespace, secret = (
            claims[f"{LEGACY_ISSUER}/{claim}"]
            for claim in ("service-account.name", "service-account.uid", "namespace", "secret.name")
        )
        stored = self._find("secrets", namespace, secret)
        if stored is None or stored["metadata"].get("deletionTimestamp"):
            raise InvalidTokenError("Token has been invalidated")
        held = (stored.get("data") or {}).get("token", "")
        if held != base64.b64encode(token.encode()).decode():
            raise InvalidTokenError("Token does not match server's copy")
        account = {"name": name, "uid": uid}
        self._check_account(namespace, account)
        return _account_identity(namespace, account)

    def _check_account(self, namespace: str, account: Obj) -> None:
        stored = self._find("serviceaccounts", namespace, account["name"])
        if stored is None:
            raise InvalidTokenError(f'serviceaccounts "{account["name"]}" not found')
        uid = stored["metadata"]["uid"]
        if uid != account["uid"]:
            raise InvalidTokenError(f"service account UID ({uid}) does not match claim ({account['uid']})")
        if self._deletion_due(stored):
            raise InvalidTokenError(f"service account {namespace}/{account['name']} has been deleted")

    def _check_bound(self, key: str, namespace: str, reference: Obj) -> None:
        stored = self._find(key, namespace, reference["name"])
        if stored is None or stored["metadata"]["uid"] != reference["uid"] or self._deletion_due(stored):
            raise InvalidTokenError(_INVALIDATED)

    def _find(self, key: str, namespace: str, name: str) -> Obj | None:
        registry = self._core.registry
        table = registry.table(registry.main(key))
        entry = table.entries.get((namespace, name))
        return None if entry is None else self._core.store.obj(table, entry)

    def _deletion_due(self, obj: Obj) -> bool:
        """Whether an object is being deleted and its grace period is over."""
        due = obj["metadata"].get("deletionTimestamp")
        return due is not None and meta.parse_timestamp(due) < self._core.clock.now() - LEEWAY


def _account_identity(namespace: str, account: Obj, extra: tuple[tuple[str, tuple[str, ...]], ...] = ()) -> Identity:
    """The user of a ServiceAccount."""
    groups = (*service_account_groups(namespace), AUTHENTICATED)
    return Identity(service_account_name(namespace, account["name"]), groups, account["uid"], extra)


def _reference(name: str, uid: str) -> Obj:
    return {"name": name, "uid": uid}
