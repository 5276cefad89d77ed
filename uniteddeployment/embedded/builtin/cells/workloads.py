"""Cells of workloads, jobs, budgets, autoscalers and templates."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from uniteddeployment.embedded.apimachinery.duration import human, since
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin import autoscalers

_OPERATORS = {"In": "in", "NotIn": "notin"}


def format_selector(selector: Obj | None) -> str:
    """A label selector in one line: ``app=x,tier in (a,b),!old``."""
    if selector is None:
        return "<none>"
    parts = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for term in selector.get("matchExpressions") or ():
        key, operator, values = term.get("key", ""), term.get("operator"), sorted(term.get("values") or ())
        if operator in _OPERATORS:
            parts.append((key, f"{key} {_OPERATORS[operator]} ({','.join(values)})"))
        else:
            parts.append((key, key if operator == "Exists" else f"!{key}"))
    return ",".join(text for _, text in sorted(parts)) or "<none>"


def _spec(obj: Obj) -> Obj:
    return obj.get("spec") or {}


def _status(obj: Obj) -> Obj:
    return obj.get("status") or {}


def _containers(obj: Obj) -> Sequence[Obj]:
    spec = _spec(obj)
    holder = (spec.get("jobTemplate") or {}).get("spec") if "jobTemplate" in spec else spec or obj
    template = (holder or {}).get("template") or {}
    return (template.get("spec") or {}).get("containers") or ()


def container_names(obj: Obj, _now: datetime) -> str:
    return ",".join(container.get("name", "") for container in _containers(obj))


def container_images(obj: Obj, _now: datetime) -> str:
    return ",".join(container.get("image", "") for container in _containers(obj))


def label_selector(obj: Obj, _now: datetime) -> str:
    return format_selector(_spec(obj).get("selector"))


def policy_selector(obj: Obj, _now: datetime) -> str:
    return format_selector(_spec(obj).get("podSelector"))


def template_labels(obj: Obj, _now: datetime) -> str:
    return _pairs(((obj.get("template") or {}).get("metadata") or {}).get("labels"))


def node_selector(obj: Obj, _now: datetime) -> str:
    return _pairs(((_spec(obj).get("template") or {}).get("spec") or {}).get("nodeSelector"))


def _pairs(labels: dict[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or "<none>"


def replicas_ready(obj: Obj, _now: datetime) -> str:
    return f"{_status(obj).get('readyReplicas', 0)}/{_spec(obj).get('replicas', 0)}"


def revision_controller(obj: Obj, _now: datetime) -> str:
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            group = str(owner.get("apiVersion", "")).rpartition("/")[0]
            kind = str(owner.get("kind", "")).lower()
            return f"{kind}.{group}/{owner.get('name', '')}" if group else f"{kind}/{owner.get('name', '')}"
    return "<none>"


def job_status(obj: Obj, _now: datetime) -> str:
    true = {
        condition.get("type") for condition in _status(obj).get("conditions") or () if condition.get("status") == "True"
    }
    for kind, text in (("Complete", "Complete"), ("Failed", "Failed")):
        if kind in true:
            return text
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if kind in true:
            return kind
    return "Running"


def job_completions(obj: Obj, _now: datetime) -> str:
    spec, succeeded = _spec(obj), _status(obj).get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def job_duration(obj: Obj, now: datetime) -> str:
    status = _status(obj)
    started = status.get("startTime")
    if not started:
        return ""
    ended = status.get("completionTime")
    if not ended:
        failed = (condition for condition in status.get("conditions") or () if condition.get("type") == "Failed")
        ended = next(
            (condition.get("lastTransitionTime") for condition in failed if condition.get("status") == "True"), None
        )
    if not ended:
        return since(started, now)
    return human((datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds())


def cronjob_suspend(obj: Obj, _now: datetime) -> str:
    return str(bool(_spec(obj).get("suspend")))


def cronjob_active(obj: Obj, _now: datetime) -> int:
    return len(_status(obj).get("active") or ())


def cronjob_last_schedule(obj: Obj, now: datetime) -> str:
    last = _status(obj).get("lastScheduleTime")
    return since(last, now) if last else "<none>"


def cronjob_selector(obj: Obj, _now: datetime) -> str:
    return format_selector(((_spec(obj).get("jobTemplate") or {}).get("spec") or {}).get("selector"))


def hpa_reference(obj: Obj, _now: datetime) -> str:
    target = _spec(obj).get("scaleTargetRef") or {}
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def hpa_min(obj: Obj, _now: datetime) -> str:
    least = _spec(obj).get("minReplicas")
    return "<unset>" if least is None else str(least)


def hpa_targets(obj: Obj, _now: datetime) -> str:
    """Current and target value of each metric: the first two, and the number of the rest."""
    if obj.get("apiVersion") == "autoscaling/v1":
        obj = autoscalers.to_v2(obj)
    spec, status = _spec(obj), _status(obj)
    current = status.get("currentMetrics") or ()
    shown = [
        _metric(metric, current[index] if index < len(current) else {})
        for index, metric in enumerate(spec.get("metrics") or ())
    ]
    if not shown:
        return "<none>"
    more = f" + {len(shown) - 2} more..." if len(shown) > 2 else ""
    return ", ".join(shown[:2]) + more


_METRIC_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _metric(metric: Obj, current: Obj) -> str:
    source = _METRIC_SOURCES.get(metric.get("type", ""), "")
    wanted, known = metric.get(source) or {}, (current.get(source) or {}).get("current") or {}
    target = wanted.get("target") or {}
    prefix = f"{wanted.get('name', '')}: " if source in ("resource", "containerResource") else ""
    if "averageUtilization" in target:
        used = known.get("averageUtilization")
        return f"{prefix}{'<unknown>' if used is None else f'{used}%'}/{target['averageUtilization']}%"
    if target.get("averageValue"):
        average = " (avg)" if source in ("external", "object") else ""
        return f"{prefix}{known.get('averageValue') or '<unknown>'}/{target['averageValue']}{average}"
    return f"{prefix}{known.get('value') or '<unknown>'}/{target.get('value') or '<auto>'}"


CELLS: dict[str, Callable[[Obj, datetime], Any]] = {
    function.__name__: function
    for function in (
        container_names, container_images, label_selector, policy_selector, template_labels, node_selector,
        replicas_ready, revision_controller, job_status, job_completions, job_duration, cronjob_suspend, cronjob_active,
        cronjob_last_schedule, cronjob_selector, hpa_reference, hpa_min, hpa_targets,
    )
}  # fmt: skip
