"""What a free-form pod template needs at the least for a workload to be made of it.

API servers of members check the rest: a member may run a newer Kubernetes than we know of.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.rules import rule


def pod_template_errors(path: str, template: Any) -> Iterator[FieldError]:
    """What keeps ``template`` from being one; ``path`` is where it stands."""
    if not isinstance(template, Mapping):
        yield FieldError(path, "required")
        return
    metadata = template.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    if not isinstance(labels, Mapping) or not labels:
        yield FieldError(f"{path}.metadata.labels", "required: the selector has to match them")
    elif not all(isinstance(value, str) for value in labels.values()):
        yield FieldError(f"{path}.metadata.labels", "must be strings")
    spec = template.get("spec")
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    if not isinstance(containers, list) or not containers:
        yield FieldError(f"{path}.spec.containers", rule("pod-template").message, "pod-template")
        return
    for index, container in enumerate(containers):
        where = f"{path}.spec.containers[{index}]"
        for field in ("name", "image"):
            if not isinstance(container, Mapping) or not container.get(field):
                yield FieldError(f"{where}.{field}", "required", "pod-template")
