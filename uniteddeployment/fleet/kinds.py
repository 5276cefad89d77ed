"""The resources of the workload kinds."""

from collections.abc import Mapping

from uniteddeployment.kube.resource import Resource
from uniteddeployment.planning.kinds import KINDS

RESOURCES: Mapping[str, Resource] = {
    kind.name: Resource(kind.group, kind.version, kind.plural, kind.kind) for kind in KINDS
}
"""Kind name -> resource."""
