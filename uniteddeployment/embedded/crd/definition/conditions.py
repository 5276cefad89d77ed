"""Conditions of CustomResourceDefinitions, and the effect of a DELETE on them."""

from collections.abc import Mapping
from typing import Any, Final

from uniteddeployment.embedded.apimachinery.resources import Obj

KEY: Final = "customresourcedefinitions.apiextensions.k8s.io"
FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"

ESTABLISHED: Final = "Established"
NAMES_ACCEPTED: Final = "NamesAccepted"
TERMINATING: Final = "Terminating"


def condition(crd: Obj, type_: str) -> Mapping[str, Any]:
    """A condition of a definition; empty if it does not exist."""
    for item in (crd.get("status") or {}).get("conditions") or ():
        if item.get("type") == type_:
            match: Mapping[str, Any] = item
            return match
    return {}


def is_true(crd: Obj, type_: str) -> bool:
    """Whether a condition of a definition is true."""
    return condition(crd, type_).get("status") == "True"


def set_condition(crd: Obj, type_: str, *, status: bool, reason: str, message: str, now: str) -> None:
    """Set a condition in place; its transition time stays unless its status changes."""
    text = "True" if status else "False"
    present = condition(crd, type_)
    since = present["lastTransitionTime"] if present.get("status") == text else now
    wanted = {"type": type_, "status": text, "lastTransitionTime": since, "reason": reason, "message": message}
    conditions = [dict(item) for item in crd["status"].get("conditions") or ()]
    for index, item in enumerate(conditions):
        if item["type"] == type_:
            conditions[index] = wanted
            break
    else:
        conditions.append(wanted)
    crd["status"]["conditions"] = conditions


def terminate(crd: Obj, now: str) -> None:
    """Mark a definition as terminating, in place: its objects must be deleted first."""
    metadata = crd["metadata"]
    metadata.setdefault("deletionTimestamp", now)
    finalizers = metadata.setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        metadata["finalizers"] = [*finalizers, FINALIZER]
    set_condition(
        crd,
        TERMINATING,
        status=True,
        reason="InstanceDeletionPending",
        message="CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        now=now,
    )
