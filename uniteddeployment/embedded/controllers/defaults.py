"""Which controllers a cluster runs unless it is told otherwise."""

from uniteddeployment.embedded.controllers.aggregation import ClusterRoleAggregation
from uniteddeployment.embedded.controllers.base import Controller
from uniteddeployment.embedded.controllers.deployment import DeploymentController
from uniteddeployment.embedded.controllers.disruption import DisruptionController
from uniteddeployment.embedded.controllers.endpointslices import EndpointSliceController
from uniteddeployment.embedded.controllers.events_expiry import EventExpiry
from uniteddeployment.embedded.controllers.finished_pods import FinishedPods
from uniteddeployment.embedded.controllers.garbage import GarbageCollector
from uniteddeployment.embedded.controllers.job import JobController
from uniteddeployment.embedded.controllers.kubelet import Kubelets
from uniteddeployment.embedded.controllers.namespaces import NamespaceLifecycle
from uniteddeployment.embedded.controllers.node_eviction import NodeEviction
from uniteddeployment.embedded.controllers.node_lifecycle import NodeLifecycle
from uniteddeployment.embedded.controllers.node_orphans import NodeOrphans
from uniteddeployment.embedded.controllers.quota import QuotaController
from uniteddeployment.embedded.controllers.replicaset import ReplicaSetController
from uniteddeployment.embedded.controllers.scheduler import Scheduler
from uniteddeployment.embedded.controllers.statefulset import StatefulSetController
from uniteddeployment.embedded.controllers.token_secrets import TokenSecrets
from uniteddeployment.embedded.controllers.volumes import VolumeBinder
from uniteddeployment.embedded.controllers.volumes_protection import VolumeProtection
from uniteddeployment.embedded.crd.lifecycle import LifecycleController


def default_controllers() -> tuple[type[Controller], ...]:
    """All of them, in the order in which they are started."""
    return (
        LifecycleController,
        NamespaceLifecycle,
        ClusterRoleAggregation,
        TokenSecrets,
        GarbageCollector,
        Kubelets,
        NodeLifecycle,
        NodeEviction,
        NodeOrphans,
        FinishedPods,
        VolumeBinder,
        VolumeProtection,
        Scheduler,
        StatefulSetController,
        DeploymentController,
        ReplicaSetController,
        JobController,
        DisruptionController,
        EndpointSliceController,
        EventExpiry,
        QuotaController,
    )
