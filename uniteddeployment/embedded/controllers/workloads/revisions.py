"""ControllerRevisions: the numbered templates of a StatefulSet, between which a rollout can stop.

The newest revision is the one of the set's template. When the template is reverted, its old revision gets a new number
instead of a second copy.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from uniteddeployment.embedded.access import Access
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.workloads.hashing import template_hash
from uniteddeployment.embedded.controllers.workloads.ownership import MANAGER, controller_of, controller_reference

RESOURCE: Final = "controllerrevisions.apps"
HASH_LABEL: Final = "controller.kubernetes.io/hash"
LONGEST_PREFIX: Final = 223
"""Maximum length of the owner's name within a revision's name; the rest of 253 is for the hash."""


@dataclass(frozen=True, slots=True)
class Revisions:
    """The current revision of a set, its update revision, and all revisions, oldest first."""

    current: Obj
    update: Obj
    collisions: int
    history: Sequence[Obj]


def ordered(revisions: Collection[Obj]) -> list[Obj]:
    """Oldest first."""
    return sorted(revisions, key=lambda r: (r["revision"], r["metadata"]["creationTimestamp"], r["metadata"]["name"]))


def revision_data(owner: Obj) -> Obj:
    """The data of a revision: a patch that restores the pod template."""
    return {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}


def template_of(revision: Obj) -> Obj:
    """The pod template in a revision."""
    template = revision["data"]["spec"]["template"]
    return {key: value for key, value in template.items() if key != "$patch"}


def resolve(access: Access, owner: Obj, history: Sequence[Obj]) -> Revisions:
    """Find or write the revision of the owner's template, and find the current one of its status.

    ``history`` is in the order of :func:`ordered`.
    """
    data = revision_data(owner)
    status = owner.get("status") or {}
    collisions = status.get("collisionCount") or 0
    number = history[-1]["revision"] + 1 if history else 1
    equal = [revision for revision in history if revision["data"] == data]
    if not equal:
        update, collisions = _create(access, owner, data, number, collisions)
        history = [*history, update]
    elif equal[-1] is history[-1]:
        update = history[-1]
    else:
        update = access.update(RESOURCE, {**equal[-1], "revision": number}, manager=MANAGER)
        name = update["metadata"]["name"]
        history = ordered([update if r["metadata"]["name"] == name else r for r in history])
    named = status.get("currentRevision")
    current = next((revision for revision in history if revision["metadata"]["name"] == named), update)
    return Revisions(current, update, collisions, history)


def truncate(access: Access, owner: Obj, revisions: Revisions, in_use: Collection[str]) -> None:
    """Delete the oldest unused revisions until no more than ``revisionHistoryLimit`` are left."""
    live = {revisions.current["metadata"]["name"], revisions.update["metadata"]["name"], *in_use}
    past = [revision for revision in revisions.history if revision["metadata"]["name"] not in live]
    limit = owner["spec"].get("revisionHistoryLimit", 10)
    for revision in past[: max(0, len(past) - limit)]:
        metadata = revision["metadata"]
        access.delete(RESOURCE, metadata["namespace"], metadata["name"], uid=metadata["uid"])


def _create(access: Access, owner: Obj, data: Obj, number: int, collisions: int) -> tuple[Obj, int]:
    metadata = owner["metadata"]
    while True:
        digest = template_hash(data, collisions)
        name = f"{metadata['name'][:LONGEST_PREFIX]}-{digest}"
        taken = access.get(RESOURCE, metadata["namespace"], name)
        if taken is None:
            break
        reference = controller_of(taken)
        if taken["data"] == data and reference is not None and reference["uid"] == metadata["uid"]:
            return taken, collisions
        collisions += 1
    revision_metadata: Obj = {
        "namespace": metadata["namespace"],
        "name": name,
        "labels": {**(owner["spec"]["template"]["metadata"].get("labels") or {}), HASH_LABEL: digest},
        "ownerReferences": [controller_reference(owner)],
    }
    if metadata.get("annotations"):
        revision_metadata["annotations"] = dict(metadata["annotations"])
    revision = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": revision_metadata,
        "data": data,
        "revision": number,
    }
    return access.create(RESOURCE, revision, manager=MANAGER), collisions
