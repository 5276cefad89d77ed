"""Continue tokens: the start of a list's next page, and the state of the cluster that it shows.

The format is the real server's: URL-safe base64 of a JSON object, with the key of the last object and a NUL.
"""

import base64
import posixpath
import string
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from uniteddeployment.embedded.apimachinery.resources import Resource
from uniteddeployment.embedded.errors import StatusError, bad_request
from uniteddeployment.embedded.requests.body import json_type
from uniteddeployment.embedded.requests.json_body import parse_json
from uniteddeployment.embedded.storage.store import Key

FORMAT: Final = "meta.k8s.io/v1"
_ALPHABET: Final = string.ascii_letters + string.digits + "-_"
_FIELDS: Final = (("v", str, "string"), ("rv", int, "int64"), ("start", str, "string"))


@dataclass(frozen=True, slots=True)
class ContinueToken:
    """The page starts at ``start``, in the state of ``version`` (negative: the latest)."""

    version: int
    start: Key


@dataclass(frozen=True, slots=True)
class Pages:
    """The tokens of one list: of a resource, in one namespace or (empty) in all."""

    resource: Resource
    namespace: str

    def write(self, version: int, last: Key) -> str:
        """The token of the page after an object."""
        namespace, name = last
        whole = self.resource.namespaced and not self.namespace
        return self._encoded(version, f"{namespace}/{name}\0" if whole else f"{name}\0")

    def rewrite(self, version: int, text: str) -> str:
        """The same page in the state of another version."""
        return self._encoded(version, _decoded(text)["start"])

    @staticmethod
    def _encoded(version: int, start: str) -> str:
        token = msgspec.json.encode({"v": FORMAT, "rv": version, "start": start})
        return base64.urlsafe_b64encode(token).rstrip(b"=").decode()

    def read(self, text: str) -> ContinueToken:
        """Read a client's token. Raises StatusError (400)."""
        token = _decoded(text)
        if token["v"] != FORMAT:
            raise _bad(f"server does not recognize this encoded version {token['v']}")
        if token["rv"] == 0:
            raise _bad(f"incorrect encoded start resourceVersion (version {FORMAT})")
        start = token["start"]
        if not start:
            raise _bad(f"encoded start key empty (version {FORMAT})")
        key = "/" + start.removeprefix("/")
        if posixpath.normpath(key) != key:
            raise _bad(start)
        return ContinueToken(token["rv"], self._key(key[1:]))

    def _key(self, path: str) -> Key:
        if self.namespace or not self.resource.namespaced:
            return self.namespace, path
        namespace, _, name = path.partition("/")
        return namespace, name


def _decoded(text: str) -> dict[str, Any]:
    """The fields of a token, with their expected types."""
    wrong = next((index for index, char in enumerate(text) if char not in _ALPHABET), None)
    if wrong is None and len(text) % 4 == 1:
        wrong = len(text)
    if wrong is not None:
        raise _bad(f"illegal base64 data at input byte {wrong}")
    try:
        given = parse_json(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_"))
    except ValueError as error:
        raise _bad(str(error)) from error
    given = {} if given is None else given
    if not isinstance(given, dict):
        raise _bad(f"json: cannot unmarshal {json_type(given)} into Go value of type storage.continueToken")
    for name, wanted, go in _FIELDS:
        value = given.get(name)
        if value is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
            why = f"json: cannot unmarshal {json_type(value)} into Go struct field continueToken.{name} of type {go}"
            raise _bad(why)
    return {name: given.get(name) or wanted() for name, wanted, _ in _FIELDS}


def _bad(why: str) -> StatusError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")
