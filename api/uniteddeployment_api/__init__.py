"""The API group uniteddeployment.io: its kinds, their validation rules, and the names of objects in clusters.

This package imports no other package of this project, so that other programs can use it alone.
"""

from uniteddeployment_api.errors import FieldError, InvalidObject
from uniteddeployment_api.int_or_percent import held_back, percent_of, scaled
from uniteddeployment_api.names import API_VERSION, GROUP, VERSION, label_value, workload_name
from uniteddeployment_api.selectors import selector_matches, selector_text
from uniteddeployment_api.v1alpha1.cluster import Cluster, ClusterSpec, ClusterStatus, Credentials, SecretReference
from uniteddeployment_api.v1alpha1.meta import (
    Condition,
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    Taint,
    Toleration,
)
from uniteddeployment_api.v1alpha1.status import RevisionStatus, SubsetStatus, UnitedDeploymentStatus
from uniteddeployment_api.v1alpha1.template import (
    AdvancedStatefulSetTemplate,
    AnyTemplate,
    CloneSetTemplate,
    DeploymentTemplate,
    StatefulSetTemplate,
    TemplateMeta,
    WorkloadTemplate,
)
from uniteddeployment_api.v1alpha1.uniteddeployment import (
    AdaptiveStrategy,
    Adoption,
    ClusterRegistry,
    ClusterType,
    ManualUpdate,
    Override,
    ScheduleStrategy,
    Subset,
    TargetCluster,
    Topology,
    UnitedDeployment,
    UnitedDeploymentSpec,
    UpdateStrategy,
)
from uniteddeployment_api.validation import parse_cluster, parse_united_deployment, validate_united_deployment

__all__ = [
    "API_VERSION",
    "GROUP",
    "VERSION",
    "AdaptiveStrategy",
    "Adoption",
    "AdvancedStatefulSetTemplate",
    "AnyTemplate",
    "CloneSetTemplate",
    "Cluster",
    "ClusterRegistry",
    "ClusterSpec",
    "ClusterStatus",
    "ClusterType",
    "Condition",
    "Credentials",
    "DeploymentTemplate",
    "FieldError",
    "InvalidObject",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ManualUpdate",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "ObjectMeta",
    "Override",
    "RevisionStatus",
    "ScheduleStrategy",
    "SecretReference",
    "StatefulSetTemplate",
    "Subset",
    "SubsetStatus",
    "Taint",
    "TargetCluster",
    "TemplateMeta",
    "Toleration",
    "Topology",
    "UnitedDeployment",
    "UnitedDeploymentSpec",
    "UnitedDeploymentStatus",
    "UpdateStrategy",
    "WorkloadTemplate",
    "held_back",
    "label_value",
    "parse_cluster",
    "parse_united_deployment",
    "percent_of",
    "scaled",
    "selector_matches",
    "selector_text",
    "validate_united_deployment",
    "workload_name",
]
