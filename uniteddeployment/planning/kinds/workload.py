"""The workload of a subset as it is applied: the user's template, with the subset's names, labels and changes.

A body is sent by server-side apply, so it has only the fields that we own. Its digest does not cover the numbers that
change all the time (replicas, partition): comparing two strings shows whether anything else has to be applied.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uniteddeployment.planning import templates
from uniteddeployment.planning.application import Application, Kind
from uniteddeployment.planning.observed import RevisionData
from uniteddeployment_api import Subset, names
from uniteddeployment_api.placement import placed

ON_DELETE = "OnDelete"
"""The type of updateStrategy that waits for users to delete pods; a partition means nothing to it."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A workload without its numbers, which :func:`with_numbers` adds."""

    kind: Kind
    name: str
    revision: str
    digest: str
    body: Mapping[str, Any]


def render(
    app: Application,
    subset: Subset,
    data: RevisionData,
    revision: str,
    *,
    adopted: str = "",
    ordinals_start: int | None = None,
) -> Rendered:
    """The workload of ``subset`` at a revision whose content is ``data``. Memoised in ``app``.

    ``adopted`` is the name of a workload that existed before: it keeps its name and its selector, and its pods get none
    of our labels, since those would restart them. Raises PatchError with the path from the root of the subset.
    """
    memo = (subset.name, revision, id(data.template), adopted, ordinals_start)
    known = app.rendered.get(memo)
    if known is None:
        body = _body(app, subset, data, revision, adopted)
        if ordinals_start is not None:
            ordinals = body["spec"].get("ordinals") or {}
            body["spec"]["ordinals"] = {**ordinals, "start": ordinals_start}
        digest = templates.digest(body)
        body["metadata"]["annotations"][names.ANNOTATION_APPLIED] = digest
        known = app.rendered[memo] = Rendered(app.workload_kind, body["metadata"]["name"], revision, digest, body)
    result: Rendered = known
    return result


def with_numbers(
    rendered: Rendered,
    *,
    replicas: int,
    partition: int | None = None,
    uid: str | None = None,
    stable: str | None = None,
) -> dict[str, Any]:
    """The body to apply. With ``uid``, the write fails if another object has the name by now (I13).

    ``stable`` is the revision of the pods that are held. Kinds with priorities update the others first.
    """
    metadata = dict(rendered.body["metadata"])
    if uid:
        metadata["uid"] = uid
    spec = {**rendered.body["spec"], "replicas": replicas}
    if partition is not None:
        strategy = {"type": rendered.kind.update_type, **(spec.get("updateStrategy") or {})}
        if strategy["type"] != ON_DELETE:
            if rendered.kind.prioritised and stable and not strategy.get("priorityStrategy"):
                strategy["priorityStrategy"] = _all_before(stable)
            spec["updateStrategy"] = _with_value(strategy, rendered.kind.partition, partition)
    if (spec.get("strategy") or {}).get("type") == "Recreate" and rendered.kind.per_revision:
        # A Deployment of one revision never updates pods, so the type means nothing to it. And an API server refuses it
        # if it has set the defaults of the other type before.
        del spec["strategy"]
    return {**rendered.body, "metadata": metadata, "spec": spec}


def _all_before(stable: str) -> dict[str, Any]:
    """The priority that updates the pods of an abandoned canary before those that are held at the stable revision."""
    others = {"key": names.LABEL_REVISION, "operator": "NotIn", "values": [stable]}
    return {"weightPriority": [{"weight": 100, "matchSelector": {"matchExpressions": [others]}}]}


def _with_value(tree: Mapping[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    head, *rest = path
    return {**tree, head: _with_value(tree.get(head) or {}, tuple(rest), value) if rest else value}


def _body(app: Application, subset: Subset, data: RevisionData, revision: str, adopted: str) -> dict[str, Any]:
    labels = {names.LABEL_NAME: app.label, names.LABEL_SUBSET: subset.name, names.LABEL_REVISION: revision}
    kind = app.workload_kind
    changed = _changed(app, subset, data, revision)
    spec = {key: value for key, value in changed["spec"].items() if key not in ("replicas", "template", "selector")}
    selected = {names.LABEL_SUBSET: subset.name} | ({names.LABEL_REVISION: revision} if kind.per_revision else {})
    spec["selector"] = _selector(app, {} if adopted else selected)
    spec["template"] = _labelled(changed["spec"]["template"], {} if adopted else labels)
    metadata = changed.get("metadata") or {}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": adopted or app.workload_name(subset.name, revision),
            "namespace": app.namespace,
            "labels": {**(metadata.get("labels") or {}), names.LABEL_MANAGED_BY: names.MANAGER, **labels},
            "annotations": {
                **(metadata.get("annotations") or {}),
                names.ANNOTATION_OWNER: app.key,
                names.ANNOTATION_OWNER_UID: app.uid,
                names.ANNOTATION_CLUSTER: app.cluster_of(subset),
            },
        },
        "spec": spec,
    }


def _changed(app: Application, subset: Subset, data: RevisionData, revision: str) -> Mapping[str, Any]:
    """The user's workload with the subset's changes: the pod template at the revision, the rest as it is now."""
    metadata, spec = app.workload_template.get("metadata") or {}, app.workload_template["spec"]
    base = {"metadata": {"labels": {}, "annotations": {}, **metadata}}
    workload = {**base, "spec": {**spec, "template": placed(app.pod_template, subset)}}
    operations = app.operations.get(subset.name, ())
    if revision == app.revision_of(subset.name):
        return templates.with_all_changes(workload, subset.patch, operations)
    old = {**base, "spec": {**spec, "template": placed(data.template, subset)}}
    if data.knows(subset.name):
        patch, kept = data.patches.get(subset.name), data.overrides.get(subset.name, ())
    else:
        patch, kept = app.patches.get(subset.name), app.overrides.get(subset.name, ())
    template = templates.with_template_changes(old, patch, kept)
    now = templates.with_all_changes(workload, subset.patch, operations)
    return {**now, "spec": {**now["spec"], "template": template}}


def _selector(app: Application, labels: Mapping[str, str]) -> dict[str, Any]:
    selector = app.model.spec.selector.model_dump(by_alias=True, exclude_none=True)
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), **labels}
    return {field: value for field, value in selector.items() if value}


def _labelled(template: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """Add our labels last: the subset's changes must not take a pod out of its subset."""
    metadata = template.get("metadata") or {}
    return {**template, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}}
