"""Minimum requirements on pod templates, which have an open schema.

The API servers of members check everything else, because a member may run a newer Kubernetes than this project knows.
"""

from collections.abc import Iterator, Mapping
from typing import Any


def labels_of(template: Any) -> Mapping[str, str] | None:
    """Return the labels of a pod template; None if it has none, or if they are malformed."""
    metadata = template.get("metadata") if isinstance(template, Mapping) else None
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    well_formed = isinstance(labels, Mapping) and all(isinstance(value, str) for value in labels.values())
    return labels if well_formed and labels else None


def pod_template_errors(template: Any) -> Iterator[str]:
    """Yield the paths of invalid or missing fields, relative to the template, such as ``.spec.containers[0].image``."""
    if labels_of(template) is None:
        yield ".metadata.labels"
    spec = template.get("spec") if isinstance(template, Mapping) else None
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(containers, list) or not containers:
        yield ".spec.containers"
        return
    for index, container in enumerate(containers):
        for field in ("name", "image"):
            if not isinstance(container, Mapping) or not container.get(field):
                yield f".spec.containers[{index}].{field}"
    if not isinstance(spec.get("tolerations", []), list | None):
        yield ".spec.tolerations"
    yield from _affinity_errors(spec.get("affinity"))


def _affinity_errors(affinity: Any) -> Iterator[str]:
    """Yield the path of the first malformed part of the node affinity, to which terms of subsets are added."""
    value, path = affinity, ".spec.affinity"
    for step in ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"):
        if value is not None and not isinstance(value, Mapping):
            yield path
            return
        value, path = (value or {}).get(step), f"{path}.{step}"
    terms = value.get("nodeSelectorTerms") if isinstance(value, Mapping) else value
    if terms is not None and not (isinstance(terms, list) and all(isinstance(term, Mapping) for term in terms)):
        yield path
