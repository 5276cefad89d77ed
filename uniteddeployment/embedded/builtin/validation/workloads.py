"""Validation of Deployments, ReplicaSets, StatefulSets, DaemonSets and ControllerRevisions."""

from collections.abc import Sequence

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import (
    IMMUTABLE,
    forbidden,
    invalid,
    invalids,
    not_supported,
    required,
)
from uniteddeployment.embedded.builtin.validation.fields import (
    MISMATCH,
    at_most_all,
    int_or_percent,
    is_zero,
    label_selector,
    labels_of,
    mismatched,
    non_negative,
    one_of,
    ordered_selector,
    selects_all,
)
from uniteddeployment.embedded.builtin.validation.pods import template as pod_template
from uniteddeployment.embedded.builtin.validation.storage import claim_spec
from uniteddeployment.embedded.errors import Cause

_RETENTION = ("Retain", "Delete")
_STATEFUL_SET_MUTABLE = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip
_STATEFUL_SET_TEXT = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def _counts(spec: Obj, keys: Sequence[str]) -> list[Cause]:
    return [cause for key in keys for cause in non_negative(spec, key, "spec")]


def _selector(spec: Obj, kind: str) -> list[Cause]:
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    causes = label_selector(selector, "spec.selector")
    if selects_all(selector):
        causes.append(invalid("spec.selector", {}, f"empty selector is invalid for {kind}"))
    return causes


def _matches(spec: Obj) -> list[Cause]:
    """The selector must match the template's labels, unless it matches everything."""
    selector, labels = spec.get("selector"), labels_of(spec.get("template") or {})
    if selects_all(selector) or not mismatched(selector, labels or {}):
        return []
    return [invalid("spec.template.metadata.labels", labels, MISMATCH)]


def _always_running(spec: Obj, kind: str) -> list[Cause]:
    """Pods of long-running workloads must restart always."""
    pod = (spec.get("template") or {}).get("spec") or {}
    path = "spec.template.spec"
    causes: list[Cause] = []
    policy = pod.get("restartPolicy")
    if policy != "Always":
        causes.append(not_supported(f"{path}.restartPolicy", policy, ("Always",)))
    if pod.get("activeDeadlineSeconds") is not None:
        causes.append(forbidden(f"{path}.activeDeadlineSeconds", f"activeDeadlineSeconds in {kind} is not Supported"))
    return causes


def selector_unchanged(new: Obj, old: Obj) -> list[Cause]:
    """The selector of a workload is immutable."""
    selector, before = new["spec"].get("selector"), old["spec"].get("selector")
    return [] if selector == before else [invalid("spec.selector", ordered_selector(selector), IMMUTABLE)]


def deployment(obj: Obj) -> list[Cause]:
    spec = obj["spec"]
    causes = _counts(spec, ("replicas",))
    causes += _selector(spec, "deployment")
    causes += _matches(spec)
    causes += pod_template(spec.get("template") or {}, "spec.template")
    causes += _always_running(spec, "ReplicaSet")
    causes += _deployment_strategy(spec.get("strategy") or {}, "spec.strategy")
    causes += _counts(spec, ("minReadySeconds", "revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        causes += _counts(spec, ("progressDeadlineSeconds",))
        if deadline <= spec.get("minReadySeconds", 0):
            causes.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return causes


def deployment_update(new: Obj, old: Obj, subresource: str) -> list[Cause]:
    if subresource == "status":
        return _status_counts(new, ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"))
    return deployment(new) + selector_unchanged(new, old)


def _status_counts(obj: Obj, keys: Sequence[str]) -> list[Cause]:
    """Counts of a status: none is negative, and no part exceeds the whole."""
    status = obj.get("status") or {}
    causes = [cause for key in keys for cause in non_negative(status, key, "status")]
    total = status.get("replicas", 0)
    causes += [
        invalid(f"status.{key}", status[key], "cannot be greater than status.replicas")
        for key in keys[1:]
        if status.get(key, 0) > total
    ]
    if "readyReplicas" in keys and status.get("availableReplicas", 0) > status.get("readyReplicas", 0):
        causes.append(
            invalid("status.availableReplicas", status["availableReplicas"], "cannot be greater than readyReplicas")
        )
    return causes


def _deployment_strategy(strategy: Obj, path: str) -> list[Cause]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is None:
            return []
        return [forbidden(f"{path}.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")]
    if kind != "RollingUpdate":
        return [not_supported(path, _as_shown(strategy), ("Recreate", "RollingUpdate"))]
    return _rolling(rolling or {}, f"{path}.rollingUpdate")


def _as_shown(strategy: Obj) -> Obj:
    """A strategy of an unknown type as messages print it: with the server's internal field names."""
    return {"Type": strategy.get("type", ""), "RollingUpdate": strategy.get("rollingUpdate")}


def _rolling(rolling: Obj, path: str) -> list[Cause]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    causes = int_or_percent(unavailable, f"{path}.maxUnavailable")
    causes += int_or_percent(surge, f"{path}.maxSurge")
    if is_zero(unavailable) and is_zero(surge):
        causes.append(invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return causes + at_most_all(unavailable, f"{path}.maxUnavailable")


def replica_set(obj: Obj) -> list[Cause]:
    spec = obj["spec"]
    causes = _counts(spec, ("replicas", "minReadySeconds"))
    causes += _selector(spec, "deployment")
    causes += _matches(spec)
    causes += pod_template(spec.get("template") or {}, "spec.template")
    return causes + _always_running(spec, "ReplicaSet")


def replica_set_update(new: Obj, old: Obj, subresource: str) -> list[Cause]:
    if subresource == "status":
        keys = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
        return _status_counts(new, keys)
    return replica_set(new) + selector_unchanged(new, old)


def replication_controller(obj: Obj) -> list[Cause]:
    """A ReplicationController has a plain label map as its selector; no controller runs it here."""
    spec = obj["spec"]
    causes = _counts(spec, ("replicas", "minReadySeconds"))
    selector, template = spec.get("selector") or {}, spec.get("template")
    if not selector:
        causes.append(required("spec.selector"))
    if template is None:
        return [*causes, required("spec.template")]
    labels = labels_of(template) or {}
    if not selector.items() <= labels.items():
        causes.append(invalid("spec.template.metadata.labels", labels, MISMATCH))
    return causes + pod_template(template, "spec.template") + _always_running(spec, "ReplicationController")


def stateful_set(obj: Obj) -> list[Cause]:
    return _stateful_set_spec(obj) + _stateful_set_template(obj["spec"])


def _stateful_set_template(spec: Obj) -> list[Cause]:
    """The pod template, whose pods have a volume for each claim template, and the claim templates."""
    claims = spec.get("volumeClaimTemplates") or ()
    claimed = {(claim.get("metadata") or {}).get("name", "") for claim in claims}
    causes = pod_template(spec.get("template") or {}, "spec.template", claimed)
    for index, claim in enumerate(claims):
        causes += claim_spec(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec")
    return causes


def _stateful_set_spec(obj: Obj) -> list[Cause]:
    spec = obj["spec"]
    path = "spec"
    causes: list[Cause] = []
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        causes.append(invalid(f"{path}.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"))
    causes += _stateful_set_strategy(spec.get("updateStrategy") or {}, f"{path}.updateStrategy")
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        for key in ("whenDeleted", "whenScaled"):
            causes += one_of(retention, key, f"{path}.persistentVolumeClaimRetentionPolicy", _RETENTION)
    causes += _counts(spec, ("replicas", "minReadySeconds", "revisionHistoryLimit"))
    if spec.get("ordinals"):
        causes += non_negative(spec["ordinals"], "start", f"{path}.ordinals")
    causes += _selector(spec, "statefulset")
    causes += _matches(spec)
    if spec.get("serviceName"):
        causes += invalids("spec.serviceName", spec["serviceName"], names.label(spec["serviceName"]))
    return causes + _always_running(spec, "StatefulSet")


def _stateful_set_strategy(strategy: Obj, path: str) -> list[Cause]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is None:
            return []
        shown = {"Partition": rolling.get("partition"), "MaxUnavailable": rolling.get("maxUnavailable")}
        return [invalid(f"{path}.rollingUpdate", shown, "only allowed for updateStrategy 'RollingUpdate'")]
    if kind == "RollingUpdate":
        return non_negative(rolling or {}, "partition", f"{path}.rollingUpdate")
    return [invalid(path, _as_shown(strategy), "must be 'RollingUpdate' or 'OnDelete'")]


def stateful_set_update(new: Obj, old: Obj, subresource: str) -> list[Cause]:
    if subresource == "status":
        keys = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
        return _status_counts(new, keys)
    spec, before = new["spec"], old["spec"]
    causes = _stateful_set_spec(new)
    changed = {key for key in spec.keys() | before.keys() if spec.get(key) != before.get(key)}
    if "template" in changed and not _stateful_set_template(before):
        # Errors of an object that was stored under older rules are accepted while they stay the same.
        causes += _stateful_set_template(spec)
    if changed - set(_STATEFUL_SET_MUTABLE):
        causes.append(forbidden("spec", _STATEFUL_SET_TEXT))
    return causes


def daemon_set(obj: Obj) -> list[Cause]:
    spec = obj["spec"]
    causes = _selector(spec, "daemonset")
    causes += _matches(spec)
    causes += pod_template(spec.get("template") or {}, "spec.template")
    causes += _always_running(spec, "DaemonSet")
    causes += _counts(spec, ("minReadySeconds", "revisionHistoryLimit"))
    strategy = spec.get("updateStrategy") or {}
    path = "spec.updateStrategy"
    if strategy.get("type") not in ("OnDelete", "RollingUpdate"):
        causes.append(not_supported(f"{path}.type", strategy.get("type", ""), ("OnDelete", "RollingUpdate")))
    elif strategy["type"] == "RollingUpdate":
        causes += _daemon_set_rolling(strategy.get("rollingUpdate") or {}, f"{path}.rollingUpdate")
    return causes


def _daemon_set_rolling(rolling: Obj, path: str) -> list[Cause]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    causes = int_or_percent(unavailable, f"{path}.maxUnavailable")
    causes += int_or_percent(surge, f"{path}.maxSurge")
    if not is_zero(unavailable) and not is_zero(surge):
        causes.append(invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif is_zero(unavailable) and is_zero(surge):
        causes.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return causes


def daemon_set_update(new: Obj, old: Obj, subresource: str) -> list[Cause]:
    return [] if subresource == "status" else daemon_set(new) + selector_unchanged(new, old)


def controller_revision(obj: Obj) -> list[Cause]:
    causes: list[Cause] = []
    if obj.get("data") is None:
        causes.append(required("data", "data is mandatory"))
    if obj.get("revision", 0) < 0:
        causes += non_negative(obj, "revision", "")
    return causes


def controller_revision_update(new: Obj, old: Obj, _subresource: str) -> list[Cause]:
    """The data of a revision is immutable.

    The real server compares the bytes of the request. A manual patch of the number alone is therefore reported as a
    change of the data, while the controller that owns the revision may raise the number.
    """
    owned = any(owner.get("controller") for owner in new["metadata"].get("ownerReferences") or ())
    if new.get("data") != old.get("data") or (not owned and new.get("revision") != old.get("revision")):
        return [invalid("data", new.get("data"), IMMUTABLE)]
    return controller_revision(new)
