"""Credentials of gates, from Secrets that were made for gates and for one server.

Whoever may write rollouts chooses the servers that gates send requests to. So a Secret says itself which server it is
for, and it is sent to no other one. Otherwise, a rollout could be used to read any Secret of its namespace.
"""

import base64
import binascii

from msgspec import Struct

from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import ApiError, NotFound
from uniteddeployment.kube.resource import SECRETS
from uniteddeployment.kube.web import origin
from uniteddeployment_api.v1alpha1.gates import GateSecretRef
from uniteddeployment_rollout.gates.measuring import CannotMeasure

SECRET_TYPE = "uniteddeployment.io/gate-credentials"  # noqa: S105  # the type of Secrets, not a secret
_LONGEST = 16384


class CredentialsSecret(Struct, frozen=True):
    """A Secret: its type, and its data in base64."""

    type: str = ""
    data: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"CredentialsSecret(type={self.type!r}, keys={sorted(self.data)})"


async def authorization(client: Client, namespace: str, ref: GateSecretRef | None, url: str) -> dict[str, str]:
    """Return the headers with the credentials for a URL; none without a reference. Raises CannotMeasure, KubeError."""
    if ref is None:
        return {}
    where = f"Secret {ref.name}"
    try:
        secret = await client.get(SECRETS, ref.name, CredentialsSecret, namespace=namespace)
    except NotFound:
        raise CannotMeasure(f"{where} does not exist") from None
    except ApiError as error:
        raise CannotMeasure(f"{where} cannot be read: {error.reason}") from None
    if secret.type != SECRET_TYPE:
        raise CannotMeasure(f"the type of {where} must be {SECRET_TYPE}")
    values = {key: _decoded(secret, key, where) for key in ("server", "token", "username", "password")}
    try:
        allowed = origin(values["server"].strip())
    except ValueError:
        raise CannotMeasure(f"the key server of {where} must be a URL such as https://host:port") from None
    if origin(url) != allowed:
        raise CannotMeasure(f"{where} is for another server: compare its key server with the gate")
    if token := values["token"].strip():
        return {"Authorization": f"Bearer {token}"}
    if values["username"]:
        if ":" in values["username"]:
            raise CannotMeasure(f"the key username of {where} must not have a colon")
        pair = f"{values['username']}:{values['password']}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    raise CannotMeasure(f"{where} must have the key token, or the keys username and password")


def _decoded(secret: CredentialsSecret, key: str, where: str) -> str:
    try:
        text = base64.b64decode(secret.data.get(key, ""), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise CannotMeasure(f"the key {key} of {where} is not text in base64") from None
    if len(text) > _LONGEST or any(ord(character) < 32 for character in text.strip()):
        raise CannotMeasure(f"the key {key} of {where} is too long or has control characters")
    return text
