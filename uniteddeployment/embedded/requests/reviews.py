"""Reviews: questions about users and rights that are posted like objects and kept nowhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from uniteddeployment.embedded import auth, meta
from uniteddeployment.embedded.core import Core
from uniteddeployment.embedded.errors import StatusError
from uniteddeployment.embedded.http import Identity
from uniteddeployment.embedded.patch import managed
from uniteddeployment.embedded.resources import Obj, RawSchema
from uniteddeployment.embedded.schema.node import node_of

AUTHORIZATION: Final = "authorization.k8s.io"
AUTHENTICATION: Final = "authentication.k8s.io"


@dataclass(frozen=True, slots=True)
class Question:
    """Who asks, and what the answer may depend on."""

    caller: auth.Caller
    review: Obj
    tokens: Mapping[str, Identity]


Answer = Callable[[Question], Obj]


@dataclass(frozen=True, slots=True)
class Review:
    """One kind of review."""

    group: str
    kind: str
    plural: str
    answer: Answer
    namespaced: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/v1"


def _own_access(question: Question) -> Obj:
    return _access(question.review, allowed=question.caller.admin)


def _access_of(question: Question) -> Obj:
    spec = question.review.get("spec") or {}
    user = Identity(spec.get("user") or "", tuple(spec.get("groups") or ()))
    return _access(question.review, allowed=auth.is_admin(user))


def _access(review: Obj, *, allowed: bool) -> Obj:
    spec = review.get("spec") or {}
    if bool(spec.get("resourceAttributes")) is bool(spec.get("nonResourceAttributes")):
        why = "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
        field = "spec.resourceAttributes"
        raise StatusError(
            422,
            "Invalid",
            f'.{AUTHORIZATION} "" is invalid: {field}: {why}',
            details={
                "group": AUTHORIZATION,
                "causes": [{"reason": "FieldValueInvalid", "message": why, "field": field}],
            },
        )
    return {"allowed": allowed}


def _rules(question: Question) -> Obj:
    resources: list[Obj] = [
        {
            "verbs": ["create"],
            "apiGroups": [AUTHORIZATION],
            "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        },
        {"verbs": ["create"], "apiGroups": [AUTHENTICATION], "resources": ["selfsubjectreviews"]},
    ]
    paths: list[Obj] = [{"verbs": ["get"], "nonResourceURLs": list(auth.DISCOVERY_PATHS)}]
    if question.caller.admin:
        resources.insert(0, {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]})
        paths.insert(0, {"verbs": ["*"], "nonResourceURLs": ["*"]})
    return {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}


def _myself(question: Question) -> Obj:
    return {"userInfo": _user_info(question.caller.identity)}


def _token(question: Question) -> Obj:
    user = question.tokens.get((question.review.get("spec") or {}).get("token", ""))
    if user is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": _user_info(auth.with_groups(user))}


def _user_info(user: Identity) -> Obj:
    info: Obj = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    return info


REVIEWS: Final = (
    Review(AUTHENTICATION, "SelfSubjectReview", "selfsubjectreviews", _myself),
    Review(AUTHENTICATION, "TokenReview", "tokenreviews", _token),
    Review(AUTHORIZATION, "LocalSubjectAccessReview", "localsubjectaccessreviews", _access_of, namespaced=True),
    Review(AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews", _own_access),
    Review(AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews", _rules),
    Review(AUTHORIZATION, "SubjectAccessReview", "subjectaccessreviews", _access_of),
)

_BY_PATH: Final = {(review.group, review.plural): review for review in REVIEWS}


def find(group: str, version: str, plural: str) -> Review | None:
    """The review served at a path."""
    return _BY_PATH.get((group, plural)) if version == "v1" else None


_STRUCT: Final[RawSchema] = {"type": "object", "additionalProperties": {"type": "string"}}
_SPEC: Final[RawSchema] = {
    "type": "object",
    "properties": {
        "resourceAttributes": _STRUCT,
        "nonResourceAttributes": _STRUCT,
        "user": {"type": "string"},
        "token": {"type": "string"},
        "uid": {"type": "string"},
        "namespace": {"type": "string"},
        "groups": {"type": "array", "items": {"type": "string"}},
        "audiences": {"type": "array", "items": {"type": "string"}},
    },
}
_SCHEMA: Final[RawSchema] = {
    "type": "object",
    "x-kubernetes-group-version-kind": [{"group": AUTHORIZATION, "version": "v1", "kind": "SubjectAccessReview"}],
    "properties": {"metadata": {"type": "object"}, "spec": {"$ref": "#/definitions/reviews.ReviewSpec"}},
}
"""What all reviews have in common, which is all that owning their fields takes."""

_NODE: Final = node_of(_SCHEMA, lambda _: _SPEC)


def answer(core: Core, review: Review, question: Question, manager: str) -> Obj:
    """The review with its status."""
    obj = question.review
    status = review.answer(question)
    now = core.clock.now()
    managed.update(
        None,
        obj,
        manager=manager,
        api_version=review.api_version,
        subresource="",
        now=now,
        node=_NODE,
    )
    if review.kind == "SelfSubjectReview":
        obj["metadata"]["creationTimestamp"] = meta.timestamp(now)
    answered: dict[str, Any] = {**obj, "status": status}
    return answered
