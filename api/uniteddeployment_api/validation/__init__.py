"""Objects as they come from users and API servers: read, and checked against every rule.

:func:`parse_united_deployment` says whether an object has the right form; :func:`validate_united_deployment` says
whether it keeps the rules of :mod:`uniteddeployment_api.rules`, also those that CEL cannot state. The webhook, the
controller and the CLI call these two and nothing else.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from uniteddeployment_api import names
from uniteddeployment_api.errors import FieldError, InvalidObject, from_pydantic
from uniteddeployment_api.v1alpha1.cluster import Cluster
from uniteddeployment_api.v1alpha1.uniteddeployment import UnitedDeployment
from uniteddeployment_api.validation.patched import PATCH_CHECKS
from uniteddeployment_api.validation.seen import Check, Seen, broken
from uniteddeployment_api.validation.sizes import SIZE_CHECKS
from uniteddeployment_api.validation.subsets import SUBSET_CHECKS
from uniteddeployment_api.validation.template import TEMPLATE_CHECKS
from uniteddeployment_api.validation.topology import TOPOLOGY_CHECKS

_DIFFERENCE: Final = re.compile(r"(spec|metadata\.(labels|annotations))(\.[^\s.,]+)*")


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
        raise InvalidObject([broken("cluster-ca", "spec.caBundle")])
    return cluster


def validate_united_deployment(ud: UnitedDeployment, old: UnitedDeployment | None = None) -> tuple[FieldError, ...]:
    """Everything that is wrong with ``ud``, in the order of the rules; with ``old``, also with the change.

    Errors with ``feasibility`` concern only the fit of the shares to the total. As in the CRD they are not told of a
    change that leaves the topology as it was, so that the total can be scaled; call without ``old`` to learn of them.
    """
    seen = Seen(ud, old)
    for check in SIZE_CHECKS:
        # What is too deep or too large is not looked into any further.
        if errors := tuple(check(seen)):
            return errors
    return tuple(error for check in _CHECKS for error in check(seen))


def _annotations(seen: Seen) -> Iterator[FieldError]:
    annotations = seen.ud.metadata.annotations
    if annotations.get(names.ANNOTATION_RECREATE, "true") not in {"true", "false"}:
        yield broken("annotation-recreate", f"metadata.annotations[{names.ANNOTATION_RECREATE}]")
    paths = [path.strip() for path in annotations.get(names.ANNOTATION_IGNORE_DIFFERENCES, "").split(",")]
    if any(path and not _DIFFERENCE.fullmatch(path) for path in paths):
        yield broken("annotation-ignore-differences", f"metadata.annotations[{names.ANNOTATION_IGNORE_DIFFERENCES}]")


_CHECKS: Final[tuple[Check, ...]] = (
    *TEMPLATE_CHECKS,
    *TOPOLOGY_CHECKS,
    *SUBSET_CHECKS,
    *PATCH_CHECKS,
    _annotations,
)

__all__ = ["parse_cluster", "parse_united_deployment", "validate_united_deployment"]
