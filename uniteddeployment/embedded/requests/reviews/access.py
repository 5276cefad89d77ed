"""Access reviews: whether a user may do something, and the rules of the requesting user."""

import json
from collections.abc import Mapping
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth.attributes import Attributes
from uniteddeployment.embedded.auth.rbac import aggregated
from uniteddeployment.embedded.errors import Cause, StatusError, bad_request
from uniteddeployment.embedded.http import Identity
from uniteddeployment.embedded.requests.reviews.question import AUTHORIZATION, Question

_RESOURCE: Final = "spec.resourceAttributes"
_PATH: Final = "spec.nonResourceAttributes"


def own(question: Question) -> Obj:
    """SelfSubjectAccessReview: may the requesting user do this?"""
    _refuse(_spec_causes(question.spec) + _metadata_causes(question.review, "must be empty"))
    return _decided(question, question.identity)


def of_subject(question: Question) -> Obj:
    """SubjectAccessReview: may the given user do this?"""
    causes = _spec_causes(question.spec) + _subject_causes(question.spec) + _selector_causes(question.spec)
    _refuse(causes + _metadata_causes(question.review, "must be empty"))
    return _decided(question, _subject(question.spec))


def local(question: Question) -> Obj:
    """LocalSubjectAccessReview: may the given user do this in the namespace of the request?"""
    spec, metadata = question.spec, question.review["metadata"]
    causes = _spec_causes(spec) + _subject_causes(spec) + _selector_causes(spec)
    bare = {**question.review, "metadata": {**metadata, "namespace": ""}}
    causes += _metadata_causes(bare, "must be empty except for namespace")
    attributes, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if attributes is not None and attributes.get("namespace", "") != metadata["namespace"]:
        where = f"{_RESOURCE}.namespace"
        causes.append(_invalid(where, attributes.get("namespace", ""), "must match metadata.namespace"))
    if path is not None:
        causes.append(_invalid(_PATH, _shown(path), "disallowed on this kind of request"))
    _refuse(causes)
    return _decided(question, _subject(spec))


def own_rules(question: Question) -> Obj:
    """SelfSubjectRulesReview: the user's rules in a namespace. Raises StatusError (400) without a namespace."""
    namespace = question.spec.get("namespace") or ""
    if not namespace:
        raise bad_request("no namespace on request")
    held = question.security.authorizer.rules(question.identity, namespace)
    resources = [_part(rule, "verbs", "apiGroups", "resources", "resourceNames") for rule in held.rules]
    paths = [_part(rule, "verbs", "nonResourceURLs") for rule in held.rules]
    status: Obj = {
        "resourceRules": [rule for rule in resources if rule.get("resources")],
        "nonResourceRules": [rule for rule in paths if rule.get("nonResourceURLs")],
        "incomplete": False,
    }
    if held.errors:
        status["evaluationError"] = aggregated(held.errors)
    return status


def _part(rule: Mapping[str, Any], *fields: str) -> Obj:
    return {field: rule[field] for field in fields if rule.get(field)}


def _subject(spec: Obj) -> Identity:
    """The user that a review names, with no groups other than those in the review."""
    extra = tuple((key, tuple(values or ())) for key, values in sorted((spec.get("extra") or {}).items()))
    return Identity(spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "", extra)


def _decided(question: Question, identity: Identity) -> Obj:
    decision = question.security.authorizer.decide(identity, _asked(question.spec))
    status: Obj = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    return status


def _asked(spec: Obj) -> Attributes:
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return Attributes(path.get("verb", ""), path=path.get("path") or "/")
    of = spec["resourceAttributes"]
    parts = (of.get(part) or "" for part in ("verb", "group", "resource", "subresource", "namespace", "name"))
    return Attributes(*parts)


# Validation


def _invalid(field: str, value: Any, why: str) -> Cause:
    shown = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {why}", field)


def _shown(path: Obj) -> Obj:
    """The attributes of a path in messages."""
    return {"Path": path.get("path", ""), "Verb": path.get("verb", "")}


def _spec_causes(spec: Obj) -> list[Cause]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        return [_invalid(_PATH, _shown(path), "cannot be specified in combination with resourceAttributes")]
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [_invalid(_RESOURCE, None, why)]
    return []


def _subject_causes(spec: Obj) -> list[Cause]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [_invalid("spec.user", "", "at least one of user or group must be specified")]


def _selector_causes(spec: Obj) -> list[Cause]:
    causes: list[Cause] = []
    for kind in ("fieldSelector", "labelSelector"):
        selector, at = (spec.get("resourceAttributes") or {}).get(kind), f"{_RESOURCE}.{kind}"
        if selector is None:
            continue
        raw, requirements = selector.get("rawSelector"), selector.get("requirements")
        if raw and requirements:
            causes.append(_invalid(f"{at}.rawSelector", raw, "may not specified at the same time as requirements"))
        if not raw and not requirements:
            text = f"Required value: when {at} is specified, requirements or rawSelector is required"
            causes.append(Cause("FieldValueRequired", text, f"{at}.requirements"))
    return causes


def _metadata_causes(review: Obj, why: str) -> list[Cause]:
    metadata = {field: value for field, value in review["metadata"].items() if value and field != "managedFields"}
    return [_invalid("metadata", metadata, why)] if metadata else []


def _refuse(causes: list[Cause]) -> None:
    """422 that names a group and no kind, as in the real server. Raises StatusError if there are causes."""
    if not causes:
        return
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    listed = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
    details = {"group": AUTHORIZATION, "causes": listed}
    raise StatusError(422, "Invalid", f'.{AUTHORIZATION} "" is invalid: {text}', details=details)
