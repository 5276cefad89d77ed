"""Parsing and validation of GateTemplates, and validation of the gates of rollouts."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import ValidationError

from uniteddeployment_api import gate_conditions, gate_fields, gate_texts
from uniteddeployment_api.duration import seconds
from uniteddeployment_api.errors import FieldError, InvalidObject, from_pydantic
from uniteddeployment_api.limits import MAX_DEPTH, deeper_than, mebibytes, size
from uniteddeployment_api.v1alpha1.gates import (
    MAX_GATE_ROWS,
    GateTemplate,
    JobMeasurement,
    Measurement,
    ObjectMeasurement,
    PrometheusMeasurement,
    RolloutGate,
    WebhookMeasurement,
)
from uniteddeployment_api.v1alpha1.rollout import RolloutStep

KINDS: Final = ("readiness", "prometheus", "webhook", "job", "object")
MAX_TIMEOUT: Final = 60
"""Maximum number of seconds that a request may take."""
MAX_JOB_TIMEOUT: Final = 24 * 3600
MAX_JOB_BYTES: Final = 1 << 16
_SECRETS: Final = ("v1", "secret")

Args = Mapping[str, str | None]
"""Argument -> value; None if it is not known here."""


def parse_gate_template(obj: Mapping[str, Any]) -> GateTemplate:
    """Return the object as a model. Raises InvalidObject for unknown fields and for values of the wrong form."""
    try:
        return GateTemplate.model_validate(dict(obj))
    except ValidationError as error:
        raise from_pydantic(error) from None


def validate_gate_template(template: GateTemplate) -> tuple[FieldError, ...]:
    """Return all errors in the measurement and its texts."""
    errors = list(_doubled("spec.args", [arg.name for arg in template.spec.args]))
    if not kinds_of(template.spec):
        errors.append(_error("spec", f"must have one of {', '.join(KINDS)}", "gate-measures"))
    args = {arg.name: arg.default for arg in template.spec.args}
    return (*errors, *measurement_errors("spec", template.spec, args))


def gate_errors(path: str, gates: tuple[RolloutGate, ...]) -> Iterator[FieldError]:
    """Yield all errors in the gates of a step. Templates are not known here."""
    yield from _doubled(path, [gate.name for gate in gates])
    for index, gate in enumerate(gates):
        place = f"{path}[{index}]"
        yield from _doubled(f"{place}.args", [arg.name for arg in gate.args])
        if gate.template_ref is not None and kinds_of(gate):
            message = "must not be set together with a measurement: remove one of the two"
            yield _error(f"{place}.templateRef", message, "gate-template-or-measurement")
            continue
        yield from measurement_errors(place, gate, {arg.name: arg.value for arg in gate.args})


def too_many_rows(path: str, step: RolloutStep, subsets: int) -> Iterator[FieldError]:
    """Yield an error if the results of the gates of a step do not fit in the status."""
    each = sum(not gate_measures_all(gate) for gate in step.gates)
    rows = each * subsets + len(step.gates) - each
    if rows > MAX_GATE_ROWS:
        message = (
            f"{each} gates that measure each of {subsets} subsets have {rows} results, and the status has room for "
            f"{MAX_GATE_ROWS}: use fewer gates, or scope All"
        )
        yield _error(path, message, "gate-results-fit")


def queries(path: str, measurement: Measurement, args: Args) -> Iterator[tuple[str, str, PrometheusMeasurement]]:
    """Yield the path, the text and the measurement of each query of a gate, with placeholders for variables.

    The address is filled in, too. Queries with arguments whose values are not known are left out.
    """
    prometheus = measurement.prometheus
    if prometheus is None or not _filled(prometheus.address, args):
        return
    filled = prometheus.model_copy(update={"address": _filled(prometheus.address, args)})
    for field, text in (("query", prometheus.query), ("baseline", prometheus.baseline)):
        if text is not None and (query := _filled(text, args)):
            yield f"{path}.prometheus.{field}", query, filled


def _filled(text: str, args: Args) -> str:
    """Return the text with placeholders for variables; empty if that is not possible."""
    known = {name: value for name, value in args.items() if value is not None}
    try:
        return gate_texts.filled(text, _values(known, "") | dict.fromkeys(gate_texts.VARIABLES, "x"))
    except KeyError:
        return ""


def gate_measures_all(gate: Measurement) -> bool:
    """Return whether a gate is known to measure all subsets together."""
    kinds = (gate.prometheus, gate.webhook, gate.job)
    return gate.object_ is not None or any(kind is not None and kind.scope == "All" for kind in kinds)


def kinds_of(measurement: Measurement) -> tuple[str, ...]:
    """Return the kinds of measurement that are set."""
    return tuple(kind for kind in KINDS if getattr(measurement, "object_" if kind == "object" else kind) is not None)


def measurement_errors(path: str, measurement: Measurement, args: Args) -> Iterator[FieldError]:
    """Yield all errors in a measurement."""
    kinds = kinds_of(measurement)
    for kind in kinds[1:]:
        yield _error(f"{path}.{kind}", f"must not be set together with {kinds[0]}", "gate-measures")
    yield from _schedule(path, measurement)
    yield from _variables(path, measurement, args)
    if measurement.prometheus is not None:
        yield from _prometheus(f"{path}.prometheus", measurement.prometheus, args)
    if measurement.webhook is not None:
        yield from _webhook(f"{path}.webhook", measurement.webhook, args)
    if measurement.job is not None:
        yield from _job(f"{path}.job", measurement.job)
    if measurement.object_ is not None:
        yield from _object(f"{path}.object", measurement.object_)


def _schedule(path: str, measurement: Measurement) -> Iterator[FieldError]:
    if measurement.interval is not None and seconds(measurement.interval) < 1:
        yield _error(f"{path}.interval", "must be at least 1s", "gate-interval")
    if not kinds_of(measurement):
        return  # the count may be that of a template
    count = measurement.count or 1
    for field, limit in (
        ("failureLimit", measurement.failure_limit),
        ("inconclusiveLimit", measurement.inconclusive_limit),
    ):
        if limit is not None and limit >= count:
            yield _error(f"{path}.{field}", f"must be less than count, which is {count}", "gate-limits")


def _variables(path: str, measurement: Measurement, args: Args) -> Iterator[FieldError]:
    """Yield variables in texts that do not exist."""
    known = (*sorted(gate_texts.VARIABLES), *(gate_texts.ARGS + name for name in args))
    kinds = measurement.model_dump(by_alias=True, exclude_none=True, include={*KINDS, "object_"})
    if deeper_than(kinds, MAX_DEPTH):
        return  # reported where the kind is checked
    for place, text in gate_texts.texts(kinds, path):
        for name in gate_texts.variables(text):
            if name not in known:
                message = f"unknown variable {{{{{name[:64]}}}}}; known are {', '.join(known)}"
                yield _error(place, message, "gate-variables")


def _prometheus(path: str, measurement: PrometheusMeasurement, args: Args) -> Iterator[FieldError]:
    yield from _url(f"{path}.address", measurement.address, args)
    yield from _timeout(f"{path}.timeout", measurement.timeout, MAX_TIMEOUT)
    if measurement.success_condition is None and measurement.failure_condition is None:
        message = "required, unless failureCondition is set; for example, result < 0.05"
        yield _error(f"{path}.successCondition", message, "gate-conditions")
    for field, text in (
        ("successCondition", measurement.success_condition),
        ("failureCondition", measurement.failure_condition),
    ):
        yield from _condition(f"{path}.{field}", text, args)


def _condition(path: str, text: str | None, args: Args) -> Iterator[FieldError]:
    if text is None:
        return
    names = gate_texts.variables(text)
    if any(name in gate_texts.VARIABLES for name in names):
        yield _error(path, "can only have arguments as variables", "gate-conditions")
        return
    if not _known(names, args):
        return  # reported with the other unknown variables
    try:
        condition = gate_conditions.parse(gate_texts.filled(text, _values(args, "1")))
    except gate_conditions.InvalidCondition as error:
        yield _error(path, str(error), "gate-conditions")
        return
    if "canary" not in condition.names:
        yield _error(path, "must refer to result or canary", "gate-conditions")


def _webhook(path: str, measurement: WebhookMeasurement, args: Args) -> Iterator[FieldError]:
    yield from _url(f"{path}.url", measurement.url, args)
    yield from _timeout(f"{path}.timeout", measurement.timeout, MAX_TIMEOUT)


def _job(path: str, measurement: JobMeasurement) -> Iterator[FieldError]:
    yield from _timeout(f"{path}.timeout", measurement.timeout, MAX_JOB_TIMEOUT)
    if measurement.run_in == "Member" and measurement.scope != "Subset":
        yield _error(f"{path}.scope", "must be Subset with runIn Member", "gate-job")
    if deeper_than(measurement.spec, MAX_DEPTH):
        yield _error(f"{path}.spec", f"must not be nested more than {MAX_DEPTH} levels deep", "gate-job")
    elif size(measurement.spec) > MAX_JOB_BYTES:
        yield _error(f"{path}.spec", f"must have at most {mebibytes(MAX_JOB_BYTES)}", "gate-job")
    elif not isinstance(measurement.spec.get("template"), Mapping):
        yield _error(f"{path}.spec.template", "required", "gate-job")


def _object(path: str, measurement: ObjectMeasurement) -> Iterator[FieldError]:
    if (measurement.api_version, measurement.kind.lower()) == _SECRETS:
        yield _error(f"{path}.kind", "must not be Secret", "gate-object")
    if measurement.api_version.count("/") > 1 or not all(measurement.api_version.split("/")):
        yield _error(
            f"{path}.apiVersion", "must be a version, or a group and a version, such as apps/v1", "gate-object"
        )
    if (measurement.condition is None) == (not measurement.json_path):
        yield _error(path, "must have either condition or jsonPath", "gate-object")
    if measurement.value is not None and not measurement.json_path:
        yield _error(f"{path}.value", "must not be set without jsonPath", "gate-object")
    if measurement.json_path:
        try:
            gate_fields.steps(measurement.json_path)
        except gate_fields.InvalidPath as error:
            yield _error(f"{path}.jsonPath", str(error), "gate-object")
    if "/" in measurement.name:
        yield _error(f"{path}.name", "must not have a slash", "gate-object")


def _url(path: str, text: str, args: Args) -> Iterator[FieldError]:
    names = gate_texts.variables(text)
    if not _known(names, args) or any(args.get(name.removeprefix(gate_texts.ARGS), "") is None for name in names):
        return  # reported with the other unknown variables, or checked when the value is known
    values = _values(args, "x") | dict.fromkeys(gate_texts.VARIABLES, "x")
    if problem := url_problem(gate_texts.filled(text, values)):
        yield _error(path, problem, "gate-url")


def url_problem(text: str) -> str:
    """Return why a text cannot be used as a URL; empty if it can. The text itself is not quoted."""
    if any(character <= " " or character == "\x7f" for character in text):
        return "must not have spaces"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return "must be a URL such as https://host:port/path"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return "must be a URL such as https://host:port/path"
    if parts.username is not None or parts.password is not None:
        return "must not have credentials: use secretRef"
    return ""


def _timeout(path: str, text: str, most: int) -> Iterator[FieldError]:
    if not 1 <= seconds(text) <= most:
        yield _error(path, f"must be from 1s to {most}s", "gate-timeout")


def _known(names: tuple[str, ...], args: Args) -> bool:
    known = gate_texts.VARIABLES | {gate_texts.ARGS + name for name in args}
    return known.issuperset(names)


def _values(args: Args, unknown: str) -> dict[str, str]:
    return {gate_texts.ARGS + name: unknown if value is None else value for name, value in args.items()}


def _doubled(path: str, names: list[str]) -> Iterator[FieldError]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield _error(f"{path}[{index}].name", f"{name} is used twice", "gate-names")


def _error(path: str, message: str, rule: str) -> FieldError:
    return FieldError(path, message, rule)


__all__ = [
    "InvalidObject",
    "gate_errors",
    "gate_measures_all",
    "kinds_of",
    "measurement_errors",
    "parse_gate_template",
    "too_many_rows",
    "url_problem",
    "validate_gate_template",
]
