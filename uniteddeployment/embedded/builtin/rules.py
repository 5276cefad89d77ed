"""The rules of each built-in kind, by its definition."""

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.prepare import cluster as prepare_cluster
from uniteddeployment.embedded.builtin.prepare import pods as prepare_pods
from uniteddeployment.embedded.builtin.prepare import workloads as prepare_workloads
from uniteddeployment.embedded.builtin.prepare.services import ServiceAllocations
from uniteddeployment.embedded.builtin.strategy import Rules
from uniteddeployment.embedded.builtin.validation import (
    autoscaling,
    cluster,
    jobs,
    limits,
    pod_updates,
    pods,
    rbac,
    services,
    storage,
    warnings,
    workloads,
)
from uniteddeployment.embedded.errors import Cause

_NONE = Rules()


def _pod_template(obj: Obj) -> list[Cause]:
    return pods.template(obj.get("template") or {}, "template")


_RULES: dict[str, Rules] = {
    "apps.v1.ControllerRevision": Rules(
        validate=workloads.controller_revision, validate_update=workloads.controller_revision_update
    ),
    "apps.v1.DaemonSet": Rules(
        prepare_update=prepare_workloads.prepare_daemon_set_update,
        validate=workloads.daemon_set,
        validate_update=workloads.daemon_set_update,
        warn=warnings.of_template,
    ),
    "apps.v1.Deployment": Rules(
        validate=workloads.deployment,
        validate_update=workloads.deployment_update,
        warn=warnings.of_named_template,
        labels_with_status=False,
    ),
    "apps.v1.ReplicaSet": Rules(
        validate=workloads.replica_set, validate_update=workloads.replica_set_update, warn=warnings.of_named_template
    ),
    "apps.v1.StatefulSet": Rules(
        validate=workloads.stateful_set, validate_update=workloads.stateful_set_update, warn=warnings.of_template
    ),
    "autoscaling.v1.HorizontalPodAutoscaler": Rules(validate=autoscaling.autoscaler),
    "autoscaling.v2.HorizontalPodAutoscaler": Rules(validate=autoscaling.autoscaler),
    "batch.v1.CronJob": Rules(validate=jobs.cron_job, warn=warnings.of_cron_job),
    "batch.v1.Job": Rules(
        prepare_create=prepare_workloads.prepare_job,
        validate=jobs.job,
        validate_update=jobs.job_update,
        warn=warnings.of_named_template,
    ),
    "coordination.v1.Lease": Rules(validate=cluster.lease),
    "core.v1.ConfigMap": Rules(validate=cluster.config_map, validate_update=cluster.config_map_update),
    "core.v1.Endpoints": Rules(validate=services.endpoints),
    "core.v1.Event": Rules(validate=cluster.event, validate_update=cluster.event_update),
    "core.v1.LimitRange": Rules(validate=limits.limit_range),
    "core.v1.Namespace": Rules(
        prepare_create=prepare_cluster.prepare_namespace,
        prepare_update=prepare_cluster.prepare_namespace_update,
        validate_update=cluster.namespace_update,
    ),
    "core.v1.Node": Rules(
        prepare_create=prepare_cluster.prepare_node,
        prepare_update=prepare_cluster.prepare_node_update,
        validate=cluster.node,
        validate_update=cluster.node_update,
        keeps_status=True,
    ),
    "core.v1.PersistentVolume": Rules(
        prepare_create=prepare_cluster.prepare_volume,
        validate=storage.volume,
        validate_update=storage.volume_update,
        warn=warnings.of_volume,
    ),
    "core.v1.PersistentVolumeClaim": Rules(
        prepare_create=prepare_cluster.prepare_claim,
        validate=storage.claim,
        validate_update=storage.claim_update,
        warn=warnings.of_claim,
    ),
    "core.v1.Pod": Rules(
        prepare_create=prepare_pods.prepare_create,
        prepare_update=prepare_pods.prepare_update,
        validate=pods.pod,
        validate_update=pod_updates.pod_update,
        warn=warnings.of_pod,
    ),
    "core.v1.PodTemplate": Rules(validate=_pod_template),
    "core.v1.ReplicationController": Rules(validate=workloads.replication_controller, warn=warnings.of_named_template),
    "core.v1.ResourceQuota": Rules(validate=limits.resource_quota),
    "core.v1.Secret": Rules(validate=cluster.secret, validate_update=cluster.secret_update),
    "discovery.v1.EndpointSlice": Rules(
        validate=services.endpoint_slice, validate_update=services.endpoint_slice_update
    ),
    "events.v1.Event": Rules(validate=cluster.new_event, validate_update=cluster.event_update),
    "networking.v1.Ingress": Rules(
        validate=services.ingress, validate_update=services.ingress_update, warn=warnings.of_ingress
    ),
    "networking.v1.NetworkPolicy": Rules(validate=services.network_policy),
    "policy.v1.PodDisruptionBudget": Rules(validate=autoscaling.budget),
    "rbac.v1.ClusterRole": Rules(validate=rbac.cluster_role),
    "rbac.v1.ClusterRoleBinding": Rules(
        validate=rbac.cluster_role_binding, validate_update=rbac.cluster_role_binding_update
    ),
    "rbac.v1.Role": Rules(validate=rbac.role),
    "rbac.v1.RoleBinding": Rules(validate=rbac.role_binding, validate_update=rbac.role_binding_update),
    "scheduling.v1.PriorityClass": Rules(
        validate=autoscaling.priority_class, validate_update=autoscaling.priority_class_update
    ),
    "storage.v1.StorageClass": Rules(validate=storage.storage_class, validate_update=storage.storage_class_update),
}


def rules_of(definition: str) -> Rules:
    """The rules of a kind. Those of services are created per call, because every cluster allocates its own
    addresses.
    """
    short = ".".join(definition.split(".")[-3:])
    if short == "core.v1.Service":
        allocations = ServiceAllocations()
        return Rules(
            prepare_create=allocations.prepare_create,
            prepare_update=allocations.prepare_update,
            validate=services.service,
            validate_update=services.service_update,
            warn=warnings.of_service,
        )
    return _RULES.get(short, _NONE)
