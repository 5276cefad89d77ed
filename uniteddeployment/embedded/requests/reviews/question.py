"""A question that was posted: the review, and who asks."""

from dataclasses import dataclass
from typing import Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth.security import Security
from uniteddeployment.embedded.http import Identity

AUTHORIZATION: Final = "authorization.k8s.io"
AUTHENTICATION: Final = "authentication.k8s.io"


@dataclass(frozen=True, slots=True)
class Question:
    """``review`` is private; its spec and metadata are objects, if they are there."""

    security: Security
    identity: Identity
    review: Obj

    @property
    def spec(self) -> Obj:
        found: Obj = self.review.get("spec") or {}
        return found
