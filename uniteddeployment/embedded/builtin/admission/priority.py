"""Pod priority: resolves the priority class of a pod."""

from collections.abc import Sequence

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.admission.denial import forbidden
from uniteddeployment.embedded.builtin.prepare.pods import SYSTEM_PRIORITIES

_DEFAULT_PREEMPTION = "PreemptLowerPriority"


def assign(pod: Obj, classes: Sequence[Obj]) -> None:
    """Set the priority of a new pod from its class, or from the global default class."""
    spec = pod["spec"]
    name = spec.get("priorityClassName", "")
    chosen = (
        next((candidate for candidate in classes if candidate["metadata"]["name"] == name), None)
        if name
        else _default(classes)
    )
    if chosen is not None:
        name = spec["priorityClassName"] = chosen["metadata"]["name"]
        value, preemption = chosen.get("value", 0), chosen.get("preemptionPolicy") or _DEFAULT_PREEMPTION
    elif not name or name in SYSTEM_PRIORITIES:
        value, preemption = SYSTEM_PRIORITIES.get(name, 0), _DEFAULT_PREEMPTION
    else:
        raise forbidden("pods", pod, f"no PriorityClass with name {name} was found")
    for key, field, computed in (
        ("priority", "integer value of priority", value),
        ("preemptionPolicy", "string value of PreemptionPolicy", preemption),
    ):
        if spec.get(key) is not None and spec[key] != computed:
            text = (
                f"the {field} ({spec[key]}) must not be provided in pod spec; priority admission controller computed "
                f"{computed} from the given PriorityClass name"
            )
            raise forbidden("pods", pod, text)
        spec[key] = computed


def _default(classes: Sequence[Obj]) -> Obj | None:
    marked = [candidate for candidate in classes if candidate.get("globalDefault")]
    return min(marked, key=lambda candidate: candidate.get("value", 0)) if marked else None
