"""Parsing and validation of objects from users and API servers.

:func:`parse_united_deployment` checks the form of an object. :func:`validate_united_deployment` checks the rules of
:mod:`uniteddeployment_api.rules`, including those without a CEL expression. The webhook, the controller and the CLI all
validate with these functions.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from uniteddeployment_api import names
from uniteddeployment_api.errors import FieldError, InvalidObject, from_pydantic
from uniteddeployment_api.limits import MAX_IGNORED_PATH_LENGTH, MAX_IGNORED_PATHS
from uniteddeployment_api.selectors import requirement_values_fit
from uniteddeployment_api.v1alpha1.cluster import Cluster
from uniteddeployment_api.v1alpha1.uniteddeployment import UnitedDeployment
from uniteddeployment_api.validation.candidate import Candidate, Check, violation
from uniteddeployment_api.validation.patched import PATCH_CHECKS
from uniteddeployment_api.validation.sizes import SIZE_CHECKS
from uniteddeployment_api.validation.subsets import SUBSET_CHECKS
from uniteddeployment_api.validation.template import TEMPLATE_CHECKS
from uniteddeployment_api.validation.topology import TOPOLOGY_CHECKS

_DIFFERENCE: Final = re.compile(r"(spec|metadata\.(labels|annotations))(\.[^\s.,]+)*")


def parse_united_deployment(obj: Mapping[str, Any]) -> UnitedDeployment:
    """Return the object as a model. Raises InvalidObject for unknown fields and for values of the wrong form."""
    try:
        return UnitedDeployment.model_validate(dict(obj))
    except ValidationError as error:
        raise from_pydantic(error) from None


def parse_cluster(obj: Mapping[str, Any]) -> Cluster:
    """Return the object as a model.

    Raises InvalidObject for unknown fields, for values of the wrong form, and for violated rules.
    """
    try:
        cluster = Cluster.model_validate(dict(obj))
    except ValidationError as error:
        raise from_pydantic(error) from None
    if errors := list(_cluster_errors(cluster)):
        raise InvalidObject(errors)
    return cluster


def _cluster_errors(cluster: Cluster) -> Iterator[FieldError]:
    if cluster.spec.insecure_skip_tls_verify and cluster.spec.ca_bundle:
        yield violation("cluster-ca", "spec.caBundle")
    allowed = cluster.spec.allowed_namespaces
    path = "spec.allowedNamespaces.selector"
    if (allowed.selector is not None) != (allowed.from_ == "Selector"):
        yield violation("allowed-selector", path)
    for index, requirement in enumerate(allowed.selector.match_expressions if allowed.selector else ()):
        if not requirement_values_fit(requirement.operator, requirement.values):
            yield violation("selector-values", f"{path}.matchExpressions[{index}].values")


def validate_united_deployment(ud: UnitedDeployment, old: UnitedDeployment | None = None) -> tuple[FieldError, ...]:
    """Return all rules that ``ud`` violates and, if ``old`` is given, that the change from ``old`` violates.

    Errors with ``feasibility`` mean that the shares do not fit the total. As in the CRD, they are not reported for an
    update that leaves the topology unchanged, so that the total can be scaled. Call without ``old`` to get them.
    """
    candidate = Candidate(ud, old)
    for check in SIZE_CHECKS:
        # The other checks rely on these limits.
        if errors := tuple(check(candidate)):
            return errors
    return tuple(error for check in _CHECKS for error in check(candidate))


def stored_errors(ud: UnitedDeployment) -> tuple[FieldError, ...]:
    """Return the rules that a stored object violates and with which the controller cannot continue."""
    return tuple(error for error in validate_united_deployment(ud, ud) if not error.feasibility)


def _annotations(candidate: Candidate) -> Iterator[FieldError]:
    annotations = candidate.ud.metadata.annotations
    if annotations.get(names.ANNOTATION_RECREATE, "true") not in {"true", "false"}:
        yield violation("annotation-recreate", f"metadata.annotations[{names.ANNOTATION_RECREATE}]")
    if errors := ignored_paths_errors(annotations):
        yield from errors
    elif not all(_DIFFERENCE.fullmatch(path) for path in _ignored_paths(annotations)):
        yield violation("annotation-ignore-differences", f"metadata.annotations[{names.ANNOTATION_IGNORE_DIFFERENCES}]")


def ignored_paths_errors(annotations: Mapping[str, str]) -> tuple[FieldError, ...]:
    """Return an error if the annotation ignore-differences exceeds its limits.

    The controller calls this for stored objects, since annotations can be changed without a new generation.
    """
    paths = _ignored_paths(annotations)
    if len(paths) <= MAX_IGNORED_PATHS and all(len(path) <= MAX_IGNORED_PATH_LENGTH for path in paths):
        return ()
    path = f"metadata.annotations[{names.ANNOTATION_IGNORE_DIFFERENCES}]"
    return (violation("annotation-ignore-differences-size", path),)


def _ignored_paths(annotations: Mapping[str, str]) -> list[str]:
    listed = annotations.get(names.ANNOTATION_IGNORE_DIFFERENCES, "").split(",")
    return [path.strip() for path in listed if path.strip()]


_CHECKS: Final[tuple[Check, ...]] = (
    *TEMPLATE_CHECKS,
    *TOPOLOGY_CHECKS,
    *SUBSET_CHECKS,
    *PATCH_CHECKS,
    _annotations,
)

__all__ = [
    "ignored_paths_errors",
    "parse_cluster",
    "parse_united_deployment",
    "stored_errors",
    "validate_united_deployment",
]
