"""Gates with the measurements of their templates and all defaults. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from uniteddeployment_api import gate_texts
from uniteddeployment_api.duration import seconds
from uniteddeployment_api.v1alpha1.gates import GateTemplateSpec, Measurement, RolloutGate
from uniteddeployment_api.validation.gates import gate_measures_all, kinds_of, measurement_errors

DEFAULT_INTERVAL = 30
DEFAULT_ERROR_LIMIT = 4


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate that can be measured, unless it has a problem."""

    name: str
    kind: str = ""
    measurement: Measurement | None = None
    args: Mapping[str, str] | None = None
    """Values of arguments, by the names of their variables."""
    scope_all: bool = True
    """Whether all subsets are measured together."""
    dry_run: bool = False
    count: int = 1
    interval: int = DEFAULT_INTERVAL
    initial_delay: int = 0
    failure_limit: int = 0
    inconclusive_limit: int = 0
    error_limit: int = DEFAULT_ERROR_LIMIT
    problem: str = ""
    """Why the gate cannot be measured."""


def resolve(gate: RolloutGate, templates: Mapping[str, GateTemplateSpec]) -> Gate:
    """Return the gate with the measurement of its template, if it has none of its own."""
    args = {arg.name: arg.value for arg in gate.args}
    if kinds_of(gate):
        return _resolved(gate, gate, args)
    name = gate.template_ref.name if gate.template_ref is not None else gate.name
    template = templates.get(name)
    if template is None:
        return _broken(gate, f"there is no GateTemplate {name} in the namespace")
    if not kinds_of(template):
        return _broken(gate, f"GateTemplate {name} measures nothing")
    known = {arg.name: arg.default for arg in template.args}
    if unknown := [arg for arg in args if arg not in known]:
        return _broken(gate, f"GateTemplate {name} has no argument {unknown[0]}")
    values = {arg: args.get(arg, default) for arg, default in known.items()}
    if missing := [arg for arg, value in values.items() if value is None]:
        return _broken(gate, f"the argument {missing[0]} of GateTemplate {name} has no value")
    return _resolved(gate, template, {arg: value for arg, value in values.items() if value is not None})


def _resolved(gate: RolloutGate, measurement: Measurement, args: Mapping[str, str]) -> Gate:
    errors = tuple(measurement_errors("", measurement, args))
    if errors:
        return _broken(gate, f"{errors[0].path.removeprefix('.')}: {errors[0].message}")

    def chosen(field: str, default: int) -> int:
        value = getattr(gate, field) if getattr(gate, field) is not None else getattr(measurement, field)
        if value is None:
            return default
        return seconds(value) if isinstance(value, str) else int(value)

    count = chosen("count", 1)
    failure_limit, inconclusive_limit = chosen("failure_limit", 0), chosen("inconclusive_limit", 0)
    if max(failure_limit, inconclusive_limit) >= count:
        return _broken(gate, f"failureLimit and inconclusiveLimit must be less than count, which is {count}")
    return Gate(
        name=gate.name,
        kind=kinds_of(measurement)[0],
        measurement=measurement,
        args={gate_texts.ARGS + name: value for name, value in args.items()},
        scope_all=gate_measures_all(measurement),
        dry_run=gate.dry_run,
        count=count,
        interval=chosen("interval", DEFAULT_INTERVAL),
        initial_delay=chosen("initial_delay", 0),
        failure_limit=failure_limit,
        inconclusive_limit=inconclusive_limit,
        error_limit=chosen("error_limit", DEFAULT_ERROR_LIMIT),
    )


def _broken(gate: RolloutGate, problem: str) -> Gate:
    return Gate(name=gate.name, dry_run=gate.dry_run, problem=problem)
