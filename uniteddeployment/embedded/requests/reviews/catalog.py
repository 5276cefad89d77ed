"""The kinds of reviews."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from uniteddeployment.embedded.apimachinery import meta
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin import shapes
from uniteddeployment.embedded.managed_fields import field_manager as managed
from uniteddeployment.embedded.requests.reviews import access as access_reviews
from uniteddeployment.embedded.requests.reviews import identity as token_reviews
from uniteddeployment.embedded.requests.reviews.question import AUTHENTICATION, AUTHORIZATION, Question
from uniteddeployment.embedded.schema.node import node_of
from uniteddeployment.embedded.storage.state import Core

Answer = Callable[[Question], Obj]


@dataclass(frozen=True, slots=True)
class Review:
    """One kind of review: ``answer`` returns its status; ``repeats``: the response includes the request."""

    group: str
    kind: str
    plural: str
    answer: Answer
    namespaced: bool = False
    repeats: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/v1"

    @property
    def definition(self) -> str:
        """The name of the definition that decodes it; a local review shares that of the cluster-wide one."""
        return f"io.k8s.api.{self.group.partition('.')[0]}.v1.{self.kind.removeprefix('Local')}"


REVIEWS: Final = (
    Review(AUTHENTICATION, "SelfSubjectReview", "selfsubjectreviews", token_reviews.who_am_i),
    Review(AUTHENTICATION, "TokenReview", "tokenreviews", token_reviews.token),
    Review(
        AUTHORIZATION, "LocalSubjectAccessReview", "localsubjectaccessreviews", access_reviews.local, namespaced=True
    ),
    Review(AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews", access_reviews.own),
    Review(AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews", access_reviews.own_rules, repeats=False),
    Review(AUTHORIZATION, "SubjectAccessReview", "subjectaccessreviews", access_reviews.of_subject),
)

_BY_PATH: Final = {(review.group, review.plural): review for review in REVIEWS}


def find(group: str, version: str, plural: str) -> Review | None:
    """The review at a path."""
    return _BY_PATH.get((group, plural)) if version == "v1" else None


def answer(core: Core, review: Review, question: Question, manager: str) -> Obj:
    """The review with its status."""
    obj = question.review
    status = review.answer(question)
    if not review.repeats:
        return {"kind": review.kind, "apiVersion": review.api_version, "metadata": {}, "spec": {}, "status": status}
    now = core.clock.now()
    node = node_of(shapes.resolve(review.definition), shapes.resolve)
    managed.update(None, obj, manager=manager, api_version=review.api_version, subresource="", now=now, node=node)
    if review.kind == "SelfSubjectReview":
        obj["metadata"]["creationTimestamp"] = meta.timestamp(now)
    answered: dict[str, Any] = {**obj, "status": status}
    return answered
