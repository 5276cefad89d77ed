"""Validation of Jobs and CronJobs."""

import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.prepare.workloads import CONTROLLER_UID, JOB_NAME
from uniteddeployment.embedded.builtin.validation.causes import (
    IMMUTABLE,
    NON_NEGATIVE,
    forbidden,
    invalid,
    not_supported,
    required,
)
from uniteddeployment.embedded.builtin.validation.fields import (
    MISMATCH,
    immutable,
    label_selector,
    labels_of,
    mismatched,
    non_negative,
    ordered_selector,
)
from uniteddeployment.embedded.builtin.validation.pods import template as pod_template
from uniteddeployment.embedded.errors import Cause

_COUNTS = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
_MODES = ("Indexed", "NonIndexed")
_REPLACEMENTS = ("Failed", "TerminatingOrFailed")
_CONCURRENCY = ("Allow", "Forbid", "Replace")
_CRON_FIELD = re.compile(r"[\d*/,\-?A-Za-z]+")
_CRON_WORDS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_MAX_CRON_NAME = 52


def job(obj: Obj) -> list[Cause]:
    return job_spec(obj["spec"], "spec", generated=obj["metadata"])


def job_spec(spec: Obj, path: str, *, generated: Obj | None = None) -> list[Cause]:
    """The spec of a job. ``generated`` is the metadata of the job whose selector is generated."""
    causes = [cause for key in _COUNTS for cause in non_negative(spec, key, path)]
    selector, template = spec.get("selector"), spec.get("template") or {}
    if generated is not None:
        causes += _selector(spec, generated, path)
    elif selector is not None:
        causes += label_selector(selector, f"{path}.selector")
    causes += pod_template(template, f"{path}.template")
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy not in ("OnFailure", "Never"):
        causes.append(required(f"{path}.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"'))
    return causes + _modes(spec, path)


def _selector(spec: Obj, metadata: Obj, path: str) -> list[Cause]:
    selector, labels = spec.get("selector"), labels_of(spec.get("template") or {})
    if selector is None:
        return [required(f"{path}.selector")]
    causes = label_selector(selector, f"{path}.selector")
    if not spec.get("manualSelector"):
        wanted = {CONTROLLER_UID: metadata.get("uid", "")}
        if (selector.get("matchLabels") or {}) != wanted:
            causes.append(invalid(f"{path}.selector", ordered_selector(selector), "`selector` not auto-generated"))
        causes += [
            invalid(f"{path}.template.metadata.labels", labels, f"must be '{value}'")
            for key, value in ((CONTROLLER_UID, metadata.get("uid", "")), (JOB_NAME, metadata.get("name", "")))
            if (labels or {}).get(key) != value
        ]
    if mismatched(selector, labels or {}):
        causes.append(invalid(f"{path}.template.metadata.labels", labels, MISMATCH))
    return causes


def _modes(spec: Obj, path: str) -> list[Cause]:
    causes: list[Cause] = []
    mode = spec.get("completionMode")
    if mode is not None and mode not in _MODES:
        causes.append(not_supported(f"{path}.completionMode", mode, _MODES))
    if mode == "Indexed" and spec.get("completions") is None:
        causes.append(required(f"{path}.completions", f"when completion mode is {mode}"))
    if spec.get("backoffLimitPerIndex") is not None:
        causes += non_negative(spec, "backoffLimitPerIndex", path)
        if mode != "Indexed":
            causes.append(
                invalid(
                    f"{path}.backoffLimitPerIndex", spec["backoffLimitPerIndex"], "requires indexed completion mode"
                )
            )
    if spec.get("maxFailedIndexes") is not None:
        causes += non_negative(spec, "maxFailedIndexes", path)
        if spec.get("backoffLimitPerIndex") is None:
            causes.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None and replacement not in _REPLACEMENTS:
        causes.append(not_supported(f"{path}.podReplacementPolicy", replacement, _REPLACEMENTS))
    return causes


def job_update(new: Obj, old: Obj, subresource: str) -> list[Cause]:
    if subresource == "status":
        return []
    spec, before = new["spec"], old["spec"]
    causes = job_spec(spec, "spec", generated=new["metadata"])
    if not _elastic(spec, before):
        causes += immutable(spec, before, "completions", "spec.completions")
    if spec.get("selector") != before.get("selector"):
        causes.append(invalid("spec.selector", ordered_selector(spec.get("selector")), IMMUTABLE))
    if spec.get("template") != before.get("template") and not _restartable(old, spec, before):
        causes.append(invalid("spec.template", spec.get("template"), IMMUTABLE))
    for key in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        causes += immutable(spec, before, key, f"spec.{key}")
    return causes


def _elastic(spec: Obj, before: Obj) -> bool:
    """An indexed job may be resized if completions and parallelism stay equal."""
    return (
        spec.get("completionMode") == "Indexed"
        and spec.get("completions") is not None
        and spec.get("completions") == spec.get("parallelism")
        and before.get("completions") == before.get("parallelism")
    )


_SCHEDULING = ("nodeSelector", "tolerations", "affinity", "schedulingGates")


def _restartable(old: Obj, spec: Obj, before: Obj) -> bool:
    """The scheduling directives of a suspended job that never started may change."""
    if not before.get("suspend") or (old.get("status") or {}).get("startTime"):
        return False
    return _placeless(spec) == _placeless(before)


def _placeless(spec: Obj) -> Obj:
    template = spec.get("template") or {}
    pod = {key: value for key, value in (template.get("spec") or {}).items() if key not in _SCHEDULING}
    return {**template, "metadata": {}, "spec": pod}


def cron_job(obj: Obj) -> list[Cause]:
    spec = obj["spec"]
    causes: list[Cause] = []
    name = obj["metadata"].get("name", "")
    if len(name) > _MAX_CRON_NAME:
        causes.append(invalid("metadata.name", name, f"must be no more than {_MAX_CRON_NAME} characters"))
    schedule = spec.get("schedule", "")
    if not schedule:
        causes.append(required("spec.schedule"))
    else:
        causes += _schedule(schedule)
    zone = spec.get("timeZone")
    if zone is not None and not _is_zone(zone):
        causes.append(invalid("spec.timeZone", zone, f"unknown time zone {zone}"))
    causes += non_negative(spec, "startingDeadlineSeconds", "spec")
    if spec.get("concurrencyPolicy") not in _CONCURRENCY:
        causes.append(not_supported("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), _CONCURRENCY))
    job_template = (spec.get("jobTemplate") or {}).get("spec") or {}
    if job_template.get("selector") is not None:
        causes.append(forbidden("spec.jobTemplate.spec.selector", "`selector` will be auto-generated"))
    if job_template.get("manualSelector"):
        causes.append(not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false")))
    causes += job_spec(job_template, "spec.jobTemplate.spec")
    for key in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        if (spec.get(key) or 0) < 0:
            causes.append(invalid(f"spec.{key}", spec[key], NON_NEGATIVE))
    return causes


def _is_zone(name: str) -> bool:
    """Whether a time zone exists. Without a time zone database every name is accepted."""
    return _knows(name) or not _knows("Etc/UTC")


def _knows(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        return False
    return True


def _schedule(schedule: str) -> list[Cause]:
    path = "spec.schedule"
    if schedule in _CRON_WORDS or schedule.startswith("@every "):
        return []
    fields = schedule.split()
    if len(fields) != 5:
        return [invalid(path, schedule, f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")]
    invalid_fields = [field for field in fields if not _CRON_FIELD.fullmatch(field)]
    return [invalid(path, schedule, f"failed to parse int from {field}") for field in invalid_fields]
