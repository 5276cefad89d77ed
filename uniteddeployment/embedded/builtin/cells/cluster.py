"""Cells of cluster objects: names and ages, events, nodes, classes, roles, quotas."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from uniteddeployment.embedded.apimachinery.duration import since
from uniteddeployment.embedded.apimachinery.resources import Obj

_ROLE_PREFIX = "node-role.kubernetes.io/"


def name(obj: Obj, _now: datetime) -> str:
    return str(obj["metadata"].get("name", ""))


def age(obj: Obj, now: datetime) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


def created(obj: Obj, _now: datetime) -> str | None:
    moment: str | None = obj["metadata"].get("creationTimestamp")
    return moment


def data_count(obj: Obj, _now: datetime) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


def event_last_seen(obj: Obj, now: datetime) -> str:
    series = obj.get("series") or {}
    last = series.get("lastObservedTime") or _either(obj, "lastTimestamp", "deprecatedLastTimestamp")
    return since(last or _first_seen(obj), now)


def event_first_seen(obj: Obj, now: datetime) -> str:
    return since(_first_seen(obj), now)


def _first_seen(obj: Obj) -> str | None:
    first: str | None = _either(obj, "firstTimestamp", "deprecatedFirstTimestamp") or obj.get("eventTime")
    return first


def _either(obj: Obj, core: str, newer: str) -> Any:
    return obj.get(core) or obj.get(newer)


def event_object(obj: Obj, _now: datetime) -> str:
    about = _either(obj, "involvedObject", "regarding") or {}
    kind, named = str(about.get("kind", "")).lower(), about.get("name", "")
    return f"{kind}/{named}" if named else kind


def event_subobject(obj: Obj, _now: datetime) -> str:
    return str((_either(obj, "involvedObject", "regarding") or {}).get("fieldPath", ""))


def event_source(obj: Obj, _now: datetime) -> str:
    source = _either(obj, "source", "deprecatedSource") or {}
    component = source.get("component") or _either(obj, "reportingComponent", "reportingController") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component}, {host}" if host else str(component)


def event_message(obj: Obj, _now: datetime) -> str:
    return str(_either(obj, "message", "note") or "").strip()


def event_count(obj: Obj, _now: datetime) -> int:
    series = obj.get("series") or {}
    return int(series.get("count") or _either(obj, "count", "deprecatedCount") or 1)


def node_status(obj: Obj, _now: datetime) -> str:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    ready = next((condition.get("status") for condition in conditions if condition.get("type") == "Ready"), None)
    state = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if (obj.get("spec") or {}).get("unschedulable") else state


def node_roles(obj: Obj, _now: datetime) -> str:
    roles = {
        label.removeprefix(_ROLE_PREFIX) if label.startswith(_ROLE_PREFIX) else value
        for label, value in (obj["metadata"].get("labels") or {}).items()
        if label.startswith(_ROLE_PREFIX) or label == "kubernetes.io/role"
    }
    return ",".join(sorted(role for role in roles if role)) or "<none>"


def node_internal_ip(obj: Obj, _now: datetime) -> str:
    return _node_address(obj, "InternalIP")


def node_external_ip(obj: Obj, _now: datetime) -> str:
    return _node_address(obj, "ExternalIP")


def _node_address(obj: Obj, kind: str) -> str:
    addresses = (obj.get("status") or {}).get("addresses") or ()
    return next((str(address.get("address")) for address in addresses if address.get("type") == kind), "<none>")


def quota_requests(obj: Obj, _now: datetime) -> str:
    return _quota(obj, limits=False)


def quota_limits(obj: Obj, _now: datetime) -> str:
    return _quota(obj, limits=True)


def _quota(obj: Obj, *, limits: bool) -> str:
    status = obj.get("status") or {}
    used: Mapping[str, str] = status.get("used") or {}
    return ", ".join(
        f"{resource}: {used.get(resource, '0')}/{bound}"
        for resource, bound in sorted((status.get("hard") or {}).items())
        if resource.startswith("limits.") is limits
    )


def webhook_count(obj: Obj, _now: datetime) -> int:
    return len(obj.get("webhooks") or ())


def binding_role(obj: Obj, _now: datetime) -> str:
    role = obj.get("roleRef") or {}
    return f"{role.get('kind', '')}/{role.get('name', '')}"


def binding_users(obj: Obj, _now: datetime) -> str:
    return _subjects(obj, "User")


def binding_groups(obj: Obj, _now: datetime) -> str:
    return _subjects(obj, "Group")


def binding_accounts(obj: Obj, _now: datetime) -> str:
    return _subjects(obj, "ServiceAccount")


def _subjects(obj: Obj, kind: str) -> str:
    subjects = [subject for subject in obj.get("subjects") or () if subject.get("kind") == kind]
    return ", ".join(
        f"{subject['namespace']}/{subject.get('name', '')}"
        if subject.get("namespace")
        else str(subject.get("name", ""))
        for subject in subjects
    )


def flag_global_default(obj: Obj, _now: datetime) -> bool:
    return bool(obj.get("globalDefault"))


def flag_volume_expansion(obj: Obj, _now: datetime) -> bool:
    return bool(obj.get("allowVolumeExpansion"))


CELLS: dict[str, Callable[[Obj, datetime], Any]] = {
    function.__name__: function
    for function in (
        name, age, created, data_count, event_last_seen, event_first_seen, event_object,
        event_subobject, event_source, event_message, event_count, node_status, node_roles, node_internal_ip,
        node_external_ip, quota_requests, quota_limits, webhook_count, binding_role, binding_users, binding_groups,
        binding_accounts, flag_global_default, flag_volume_expansion,
    )
}  # fmt: skip
