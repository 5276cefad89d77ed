"""JSON Web Tokens (ES256): signing, verification and the public key."""

import base64
import hashlib
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

ALGORITHM: Final = "ES256"
UNKNOWN: Final = "invalid bearer token"
"""The error for a token that this server has not signed."""

_HALF: Final = 32
"""Size in bytes of each of the two integers of a signature."""

_encode = msgspec.json.encode
_HASH: Final = ec.ECDSA(hashes.SHA256())


class InvalidTokenError(Exception):
    """The token was not signed by this key. The message never quotes the token."""


def _to_text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _from_text(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class SigningKey:
    """A key pair that signs tokens and verifies its own signatures."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        numbers = self._key.public_key().public_numbers()
        x, y = (_to_text(number.to_bytes(_HALF)) for number in (numbers.x, numbers.y))
        digest = hashlib.sha256(_encode({"crv": "P-256", "kty": "EC", "x": x, "y": y})).digest()
        self.public: Final = {
            "use": "sig", "kty": "EC", "kid": _to_text(digest), "crv": "P-256", "alg": ALGORITHM, "x": x, "y": y,
        }  # fmt: skip
        """The public key as a JSON Web Key."""
        self._header = _to_text(_encode({"alg": ALGORITHM, "kid": self.public["kid"]}))

    def sign(self, claims: dict[str, Any]) -> str:
        """A token with these claims."""
        signed = f"{self._header}.{_to_text(_encode(claims))}"
        r, s = decode_dss_signature(self._key.sign(signed.encode(), _HASH))
        return f"{signed}.{_to_text(r.to_bytes(_HALF) + s.to_bytes(_HALF))}"

    def verify(self, token: str) -> dict[str, Any]:
        """The claims of a token. Raises InvalidTokenError unless this key signed it."""
        signed, _, signature = token.rpartition(".")
        header, _, payload = signed.partition(".")
        if header != self._header:
            raise InvalidTokenError(UNKNOWN)
        try:
            raw = _from_text(signature)
            pair = encode_dss_signature(int.from_bytes(raw[:_HALF]), int.from_bytes(raw[_HALF:]))
            if _to_text(raw) != signature:
                raise InvalidTokenError(UNKNOWN)
            self._key.public_key().verify(pair, signed.encode(), _HASH)
            claims: dict[str, Any] = msgspec.json.decode(_from_text(payload), type=dict[str, Any])
        except (ValueError, InvalidSignature, msgspec.DecodeError) as error:
            raise InvalidTokenError(UNKNOWN) from error
        return claims
