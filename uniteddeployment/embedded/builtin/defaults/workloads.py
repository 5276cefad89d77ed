"""Defaults of workloads that depend on other fields: update strategies, completions of jobs."""

from collections.abc import Callable
from typing import Any

from uniteddeployment.embedded.apimachinery.resources import Obj

_UNLIMITED = 2**31 - 1


def _unless(obj: Obj, key: str, value: Any) -> None:
    if obj.get(key) is None:
        obj[key] = value


def _deployment_spec(spec: Obj) -> None:
    strategy = spec.setdefault("strategy", {})
    _unless(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _unless(strategy, "rollingUpdate", {})
        rolling = strategy["rollingUpdate"]
        _unless(rolling, "maxUnavailable", "25%")
        _unless(rolling, "maxSurge", "25%")


def _daemon_set_spec(spec: Obj) -> None:
    strategy = spec.setdefault("updateStrategy", {})
    _unless(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _unless(strategy, "rollingUpdate", {})
        rolling = strategy["rollingUpdate"]
        _unless(rolling, "maxUnavailable", 1)
        _unless(rolling, "maxSurge", 0)


def _daemon_set(daemon_set: Obj) -> None:
    annotations = daemon_set["metadata"].setdefault("annotations", {})
    # This annotation holds the generation of the template, which an old API version had in the spec.
    annotations.setdefault("deprecated.daemonset.template.generation", "1")


def _stateful_set_spec(spec: Obj) -> None:
    strategy = spec.setdefault("updateStrategy", {})
    _unless(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _unless(strategy, "rollingUpdate", {})
        rolling = strategy["rollingUpdate"]
        _unless(rolling, "partition", 0)
        # The field needs a feature gate that is off by default.
        rolling.pop("maxUnavailable", None)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"


def _replication_controller(controller: Obj) -> None:
    labels = (((controller["spec"].get("template") or {}).get("metadata") or {}).get("labels")) or {}
    if labels:
        _unless(controller["spec"], "selector", dict(labels))
        _unless(controller["metadata"], "labels", dict(labels))


def _job(job: Obj) -> None:
    spec = job["spec"]
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    _unless(spec, "parallelism", 1)
    _unless(spec, "backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else _UNLIMITED)
    _unless(spec, "completionMode", "NonIndexed")
    _unless(spec, "suspend", False)
    _unless(spec, "manualSelector", False)
    _unless(spec, "podReplacementPolicy", "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed")
    labels = (spec["template"].get("metadata") or {}).get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(labels)


COMPUTED: dict[str, Callable[[Obj], None]] = {
    "apps.v1.DaemonSet": _daemon_set,
    "apps.v1.DaemonSetSpec": _daemon_set_spec,
    "apps.v1.DeploymentSpec": _deployment_spec,
    "apps.v1.StatefulSetSpec": _stateful_set_spec,
    "batch.v1.Job": _job,
    "core.v1.ReplicationController": _replication_controller,
}
