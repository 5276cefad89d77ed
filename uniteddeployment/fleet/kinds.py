"""The kinds of workloads as resources of an API server."""

from collections.abc import Mapping

from uniteddeployment.kube.resource import Resource
from uniteddeployment.planning.kinds import KINDS

RESOURCES: Mapping[str, Resource] = {
    kind.name: Resource(kind.group, kind.version, kind.plural, kind.kind) for kind in KINDS
}
"""By the name of the kind."""
