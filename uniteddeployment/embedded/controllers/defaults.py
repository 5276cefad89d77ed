"""The default controllers of a cluster."""

from uniteddeployment.embedded.controllers.aggregation import ClusterRoleAggregation
from uniteddeployment.embedded.controllers.definitions import LifecycleController
from uniteddeployment.embedded.controllers.deployment.controller import DeploymentController
from uniteddeployment.embedded.controllers.disruption import DisruptionController
from uniteddeployment.embedded.controllers.endpoints.controller import EndpointSliceController
from uniteddeployment.embedded.controllers.events.expiry import EventExpiry
from uniteddeployment.embedded.controllers.finished_pods import FinishedPods
from uniteddeployment.embedded.controllers.framework.controller import Controller
from uniteddeployment.embedded.controllers.garbage import GarbageCollector
from uniteddeployment.embedded.controllers.job.controller import JobController
from uniteddeployment.embedded.controllers.kubelet.controller import Kubelets
from uniteddeployment.embedded.controllers.namespaces import NamespaceLifecycle
from uniteddeployment.embedded.controllers.node.eviction import NodeEviction
from uniteddeployment.embedded.controllers.node.lifecycle import NodeLifecycle
from uniteddeployment.embedded.controllers.node.orphans import NodeOrphans
from uniteddeployment.embedded.controllers.quota import QuotaController
from uniteddeployment.embedded.controllers.replicaset import ReplicaSetController
from uniteddeployment.embedded.controllers.scheduler.controller import Scheduler
from uniteddeployment.embedded.controllers.statefulset.controller import StatefulSetController
from uniteddeployment.embedded.controllers.token_secrets import TokenSecrets
from uniteddeployment.embedded.controllers.volumes.binder import VolumeBinder
from uniteddeployment.embedded.controllers.volumes.protection import VolumeProtection


def default_controllers() -> tuple[type[Controller], ...]:
    """The default controllers, in the order in which they start."""
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
