"""Objects as they come from users and API servers: read, and checked against every rule.

:func:`parse_united_deployment` says whether an object has the right form; :func:`validate_united_deployment` says
whether it keeps the rules of :mod:`uniteddeployment_api.rules`, also those that CEL cannot state. The webhook, the
controller and the CLI call these two and nothing else.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from uniteddeployment_api.errors import FieldError, InvalidObject, from_pydantic
from uniteddeployment_api.pods import pod_template_errors
from uniteddeployment_api.rules import rule
from uniteddeployment_api.selectors import requirement_values_fit, selector_matches
from uniteddeployment_api.shares import percent_of, scaled
from uniteddeployment_api.v1alpha1.cluster import Cluster
from uniteddeployment_api.v1alpha1.meta import NodeSelectorRequirement, Toleration
from uniteddeployment_api.v1alpha1.uniteddeployment import Subset, UnitedDeployment

_SUBSETS: Final = "spec.topology.subsets"


def parse_united_deployment(obj: Mapping[str, Any]) -> UnitedDeployment:
    """The object as a model. Raises InvalidObject for unknown fields and for values of the wrong form."""
    try:
        return UnitedDeployment.model_validate(dict(obj))
    except ValidationError as error:
        raise from_pydantic(error) from None


def parse_cluster(obj: Mapping[str, Any]) -> Cluster:
    """The object as a model. Raises InvalidObject for unknown fields, values of the wrong form and broken rules."""
    try:
        cluster = Cluster.model_validate(dict(obj))
    except ValidationError as error:
        raise from_pydantic(error) from None
    if cluster.spec.insecure_skip_tls_verify and cluster.spec.ca_bundle:
        raise InvalidObject([_broken("cluster-ca", "spec.caBundle")])
    return cluster


def validate_united_deployment(ud: UnitedDeployment, old: UnitedDeployment | None = None) -> tuple[FieldError, ...]:
    """Everything that is wrong with ``ud``, in the order of the rules; with ``old``, also with the change.

    Errors with ``feasibility`` concern only the fit of the shares to the total. As in the CRD they are not told of a
    change that leaves the topology as it was, so that the total can be scaled; call without ``old`` to learn of them.
    """
    seen = _Seen(ud, old)
    return tuple(error for check in _CHECKS for error in check(seen))


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the checks look at."""

    ud: UnitedDeployment
    old: UnitedDeployment | None

    @property
    def subsets(self) -> tuple[Subset, ...]:
        return self.ud.spec.topology.subsets

    @property
    def template(self) -> tuple[str, Mapping[str, Any]] | None:
        """Path and content of the workload's spec, if there is exactly one."""
        found = [(f"spec.template.{field}.spec", kind.spec) for field, kind in self.ud.spec.template.given.items()]
        return found[0] if len(found) == 1 else None

    @property
    def only_scaled(self) -> bool:
        return self.old is not None and self.old.spec.topology == self.ud.spec.topology


Check = Callable[[_Seen], Iterator[FieldError]]


def _broken(name: str, path: str, detail: str = "") -> FieldError:
    broken = rule(name)
    message = f"{broken.message} ({detail})" if detail else broken.message
    return FieldError(path, message, name, broken.feasibility)


def _template(seen: _Seen) -> Iterator[FieldError]:
    if seen.template is None:
        yield _broken("exactly-one-template", "spec.template")
        return
    path, spec = seen.template
    if spec.get("replicas") is not None:
        yield _broken("template-has-no-replicas", f"{path}.replicas")
    strategy = spec.get("updateStrategy")
    rolling = strategy.get("rollingUpdate") if isinstance(strategy, Mapping) else None
    if isinstance(rolling, Mapping) and rolling.get("partition") is not None and "statefulSet" in path:
        yield _broken("template-has-no-partition", f"{path}.updateStrategy.rollingUpdate.partition")
    yield from pod_template_errors(f"{path}.template", spec.get("template"))


def _selector(seen: _Seen) -> Iterator[FieldError]:
    selector = seen.ud.spec.selector
    if not selector.match_labels and not selector.match_expressions:
        yield _broken("selector-not-empty", "spec.selector")
    if seen.old is not None and seen.old.spec.selector != selector:
        yield _broken("selector-immutable", "spec.selector")
    for index, requirement in enumerate(selector.match_expressions):
        if not requirement_values_fit(requirement.operator, requirement.values):
            yield _broken("selector-values", f"spec.selector.matchExpressions[{index}].values")


def _selector_matches(seen: _Seen) -> Iterator[FieldError]:
    if seen.template is None:
        return
    path, spec = seen.template
    labels = _labels(spec)
    if labels is None:
        return  # the template's own check told of it
    selector = seen.ud.spec.selector
    where = f"{path}.template.metadata.labels"
    missing = [f"{key}={value}" for key, value in selector.match_labels.items() if labels.get(key) != value]
    if missing:
        yield _broken("selector-matches-labels", where, ", ".join(missing))
    well_formed = all(requirement_values_fit(entry.operator, entry.values) for entry in selector.match_expressions)
    if well_formed and not selector_matches(selector.model_copy(update={"match_labels": {}}), labels):
        yield _broken("selector-matches-expressions", where)


def _labels(spec: Mapping[str, Any]) -> Mapping[str, str] | None:
    template = spec.get("template")
    metadata = template.get("metadata") if isinstance(template, Mapping) else None
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    return labels if isinstance(labels, Mapping) else None


def _subset_names(seen: _Seen) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, subset in enumerate(seen.subsets):
        if subset.name in names:
            yield _broken("subset-names-unique", f"{_SUBSETS}[{index}].name")
        names.add(subset.name)


def _shares(seen: _Seen) -> Iterator[FieldError]:
    fixed = any(subset.replicas is not None for subset in seen.subsets)
    bounded = any(_has_bounds(subset) for subset in seen.subsets)
    if fixed and bounded:
        yield _broken("shares-not-mixed", _SUBSETS)
    if (
        seen.subsets
        and all(subset.max_replicas is not None for subset in seen.subsets)
        and all(subset.weight is None for subset in seen.subsets)
    ):
        yield _broken("some-subset-unbounded", _SUBSETS)
    if seen.ud.spec.replicas is None and not all(isinstance(subset.replicas, int) for subset in seen.subsets):
        yield _broken("total-needed", _SUBSETS)


def _has_bounds(subset: Subset) -> bool:
    return subset.min_replicas is not None or subset.max_replicas is not None or subset.weight is not None


def _bounds(seen: _Seen) -> Iterator[FieldError]:
    total = seen.ud.spec.replicas
    for index, subset in enumerate(seen.subsets):
        low, high = subset.min_replicas, subset.max_replicas
        if low is None or high is None:
            continue
        path = f"{_SUBSETS}[{index}].minReplicas"
        if isinstance(low, int) and isinstance(high, int):
            if low > high:
                yield _broken("min-not-above-max", path)
        elif total is not None and not seen.only_scaled and scaled(low, total) > scaled(high, total):
            yield _broken("bounds-consistent", path)


def _fit(seen: _Seen) -> Iterator[FieldError]:
    total = seen.ud.spec.replicas
    if total is None or seen.only_scaled:
        return
    shares = [subset.replicas for subset in seen.subsets if subset.replicas is not None]
    rounded = sum(scaled(share, total) for share in shares)
    exact = sum(share * 100 if isinstance(share, int) else percent_of(share) * total for share in shares)
    if rounded > total and exact > total * 100:
        yield _broken("shares-within-total", _SUBSETS, f"{rounded} of {total}")
    elif shares and len(shares) == len(seen.subsets) and rounded < total and exact < total * 100:
        yield _broken("shares-reach-total", _SUBSETS, f"{rounded} of {total}")


def _partitions(seen: _Seen) -> Iterator[FieldError]:
    names = {subset.name for subset in seen.subsets}
    for name in seen.ud.spec.update_strategy.manual_update.partitions:
        if name not in names:
            yield _broken("partitions-name-subsets", f"spec.updateStrategy.manualUpdate.partitions[{name}]")


def _unchanged(seen: _Seen) -> Iterator[FieldError]:
    before = {} if seen.old is None else {subset.name: subset for subset in seen.old.spec.topology.subsets}
    for index, subset in enumerate(seen.subsets):
        old = before.get(subset.name)
        if old is None:
            continue
        if old.node_selector_term != subset.node_selector_term:
            yield _broken("nodes-immutable", f"{_SUBSETS}[{index}].nodeSelectorTerm")
        if old.tolerations != subset.tolerations:
            yield _broken("tolerations-immutable", f"{_SUBSETS}[{index}].tolerations")


def _node_terms(seen: _Seen) -> Iterator[FieldError]:
    for index, subset in enumerate(seen.subsets):
        term = subset.node_selector_term
        if term is None:
            continue
        path = f"{_SUBSETS}[{index}].nodeSelectorTerm"
        for number, requirement in enumerate(term.match_expressions):
            if not requirement_values_fit(requirement.operator, requirement.values):
                yield _broken("node-term-values", f"{path}.matchExpressions[{number}].values")
        for number, requirement in enumerate(term.match_fields):
            if not _is_node_name(requirement):
                yield _broken("node-term-fields", f"{path}.matchFields[{number}]")


def _is_node_name(requirement: NodeSelectorRequirement) -> bool:
    return (
        requirement.key == "metadata.name" and requirement.operator in {"In", "NotIn"} and len(requirement.values) == 1
    )


def _tolerations(seen: _Seen) -> Iterator[FieldError]:
    for index, subset in enumerate(seen.subsets):
        for number, toleration in enumerate(subset.tolerations):
            path = f"{_SUBSETS}[{index}].tolerations[{number}]"
            if not _is_whole(toleration):
                yield _broken("toleration-exists", path)
            if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
                yield _broken("toleration-seconds", f"{path}.effect")


def _is_whole(toleration: Toleration) -> bool:
    return not toleration.value if toleration.operator == "Exists" else bool(toleration.key)


_CHECKS: Final[tuple[Check, ...]] = (
    _template,
    _selector,
    _selector_matches,
    _subset_names,
    _shares,
    _bounds,
    _fit,
    _partitions,
    _unchanged,
    _node_terms,
    _tolerations,
)
