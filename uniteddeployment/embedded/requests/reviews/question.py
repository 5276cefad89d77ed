"""A review as it was posted, with the requesting user."""

from dataclasses import dataclass
from typing import Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth.security import Security
from uniteddeployment.embedded.http import Identity

AUTHORIZATION: Final = "authorization.k8s.io"
AUTHENTICATION: Final = "authentication.k8s.io"


@dataclass(frozen=True, slots=True)
class Question:
    """``review`` is private; its spec and metadata are objects, if they exist."""

    security: Security
    identity: Identity
    review: Obj

    @property
    def spec(self) -> Obj:
        spec: Obj = self.review.get("spec") or {}
        return spec
