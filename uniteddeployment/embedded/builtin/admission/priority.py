"""Priorities of pods: a pod names a class, and the class says how much the pod matters."""

from collections.abc import Sequence

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.admission.denial import forbidden
from uniteddeployment.embedded.builtin.prepare.pods import SYSTEM_PRIORITIES

_DEFAULT_PREEMPTION = "PreemptLowerPriority"


def assign(pod: Obj, classes: Sequence[Obj]) -> None:
    """Give a new pod the priority of its class, or of the class that is everybody's default."""
    spec = pod["spec"]
    name = spec.get("priorityClassName", "")
    chosen = next((one for one in classes if one["metadata"]["name"] == name), None) if name else _default(classes)
    if chosen is not None:
        name = spec["priorityClassName"] = chosen["metadata"]["name"]
        value, preemption = chosen.get("value", 0), chosen.get("preemptionPolicy") or _DEFAULT_PREEMPTION
    elif not name or name in SYSTEM_PRIORITIES:
        value, preemption = SYSTEM_PRIORITIES.get(name, 0), _DEFAULT_PREEMPTION
    else:
        raise forbidden("pods", pod, f"no PriorityClass with name {name} was found")
    for key, said, computed in (
        ("priority", "integer value of priority", value),
        ("preemptionPolicy", "string value of PreemptionPolicy", preemption),
    ):
        if spec.get(key) is not None and spec[key] != computed:
            text = (
                f"the {said} ({spec[key]}) must not be provided in pod spec; priority admission controller computed "
                f"{computed} from the given PriorityClass name"
            )
            raise forbidden("pods", pod, text)
        spec[key] = computed


def _default(classes: Sequence[Obj]) -> Obj | None:
    marked = [one for one in classes if one.get("globalDefault")]
    return min(marked, key=lambda one: one.get("value", 0)) if marked else None
