"""The object that a subset wants in its cluster: the user's template with what makes it this subset's.

A body is what is sent by server-side apply: only the fields that we own. Its digest leaves out the numbers that move
all the time (replicas, partition), so that "is the rest still what we applied" is one comparison of strings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uniteddeployment.planning import revision as revisions
from uniteddeployment.planning.application import STATEFUL_SET, Application
from uniteddeployment.planning.observed import RevisionData
from uniteddeployment_api import Subset, names, strategic
from uniteddeployment_api.placement import placed


@dataclass(frozen=True, slots=True)
class Rendered:
    """A workload without its numbers. Use :func:`with_numbers` to get what is sent."""

    kind: str
    name: str
    revision: str
    digest: str
    body: Mapping[str, Any]


def render(app: Application, subset: Subset, data: RevisionData, revision: str) -> Rendered:
    """The workload of ``subset`` at a revision whose template is ``data``. Memoised in ``app``.

    A subset that the revision did not know uses its present patch. Raises :class:`strategic.PatchError`.
    """
    memo = (subset.name, revision, id(data.template))
    known = app.rendered.get(memo)
    if known is None:
        known = app.rendered[memo] = _render(app, subset, data, revision)
    result: Rendered = known
    return result


def with_numbers(
    rendered: Rendered, *, replicas: int, partition: int | None = None, uid: str | None = None
) -> dict[str, Any]:
    """The body to apply. ``uid`` makes the write fail if the object is another one by now (I13)."""
    metadata = dict(rendered.body["metadata"])
    if uid:
        metadata["uid"] = uid
    spec = {**rendered.body["spec"], "replicas": replicas}
    if partition is not None:
        strategy = spec.get("updateStrategy") or {"type": "RollingUpdate"}
        if strategy.get("type", "RollingUpdate") == "RollingUpdate":
            rolling = {**(strategy.get("rollingUpdate") or {}), "partition": partition}
            spec["updateStrategy"] = {**strategy, "type": "RollingUpdate", "rollingUpdate": rolling}
    return {**rendered.body, "metadata": metadata, "spec": spec}


def _render(app: Application, subset: Subset, data: RevisionData, revision: str) -> Rendered:
    template = app.workload_template
    labels = {names.LABEL_NAME: app.label, names.LABEL_SUBSET: subset.name, names.LABEL_REVISION: revision}
    per_revision = app.kind != STATEFUL_SET
    selected = {names.LABEL_SUBSET: subset.name} | ({names.LABEL_REVISION: revision} if per_revision else {})
    selector = app.model.spec.selector.model_dump(by_alias=True, exclude_none=True)
    spec = {key: value for key, value in template["spec"].items() if key not in ("replicas", "template", "selector")}
    spec["selector"] = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **selected}}
    spec["template"] = _pod_template(subset, data, labels)
    name = names.workload_name(app.name, subset.name, revision if per_revision else None)
    metadata = template.get("metadata") or {}
    body: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": app.kind,
        "metadata": {
            "name": name,
            "namespace": app.namespace,
            "labels": {**(metadata.get("labels") or {}), names.LABEL_MANAGED_BY: names.MANAGER, **labels},
            "annotations": {
                **(metadata.get("annotations") or {}),
                names.ANNOTATION_OWNER: app.key,
                names.ANNOTATION_OWNER_UID: app.uid,
            },
        },
        "spec": spec,
    }
    digest = revisions.digest(body)
    body["metadata"]["annotations"][names.ANNOTATION_APPLIED] = digest
    return Rendered(kind=app.kind, name=name, revision=revision, digest=digest, body=body)


def _pod_template(subset: Subset, data: RevisionData, labels: Mapping[str, str]) -> dict[str, Any]:
    template = placed(data.template, subset)
    patch = data.patches.get(subset.name) or subset.patch
    if patch:
        template = strategic.merge(template, patch)
    metadata = dict(template.get("metadata") or {})
    # After the patch: it must not take a pod out of its subset.
    metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
    template["metadata"] = metadata
    return template
