"""Names of objects in clusters: API group, kinds, labels, annotations, the finalizer, workloads and revisions.

Everything here is a constant or a pure function of its arguments. Therefore a retry, a restart or another process uses
the same names, and never creates a second object.
"""

import hashlib
from typing import Final

GROUP: Final = "uniteddeployment.io"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
API_PATH: Final = f"/apis/{GROUP}/{VERSION}"

UNITED_DEPLOYMENT_KIND: Final = "UnitedDeployment"
UNITED_DEPLOYMENT_PLURAL: Final = "uniteddeployments"
CLUSTER_KIND: Final = "Cluster"
CLUSTER_PLURAL: Final = "clusters"
UNITED_ROLLOUT_KIND: Final = "UnitedRollout"
UNITED_ROLLOUT_PLURAL: Final = "unitedrollouts"
GATE_TEMPLATE_KIND: Final = "GateTemplate"
GATE_TEMPLATE_PLURAL: Final = "gatetemplates"

CLUSTER_PROFILE_GROUP: Final = "multicluster.x-k8s.io"
CLUSTER_PROFILE_VERSION: Final = "v1alpha1"
CLUSTER_PROFILE_KIND: Final = "ClusterProfile"
CLUSTER_PROFILE_API_VERSION: Final = f"{CLUSTER_PROFILE_GROUP}/{CLUSTER_PROFILE_VERSION}"

LABEL_NAME: Final = f"{GROUP}/name"
"""On workloads, pods and ControllerRevisions: the UnitedDeployment, as :func:`label_value` returns it."""
LABEL_SUBSET: Final = f"{GROUP}/subset"
"""On workloads and pods: the subset."""
LABEL_REVISION: Final = f"{GROUP}/revision"
"""On workloads and pods: the hash of the subset's revision. On ControllerRevisions: the hash of the application's."""
LABEL_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
"""On workloads: :data:`MANAGER`."""
MANAGER: Final = "uniteddeployment"

ANNOTATION_OWNER: Final = f"{GROUP}/owner"
"""On workloads: the UnitedDeployment as ``namespace/name``."""
ANNOTATION_OWNER_UID: Final = f"{GROUP}/owner-uid"
"""On workloads: the uid of the UnitedDeployment. It replaces owner references, which do not cross clusters."""
ANNOTATION_CLUSTER: Final = f"{GROUP}/cluster"
"""On workloads: the Cluster that the workload was applied through, as ``namespace/name``; empty for the host."""
ANNOTATION_SUBSET_REVISIONS: Final = f"{GROUP}/subset-revisions"
"""On ControllerRevisions: the revision hash of each subset whose patch or overrides changed the pod template, as
JSON."""
ANNOTATION_TEMPLATE_REVISION: Final = f"{GROUP}/template-revision"
"""On ControllerRevisions: the hash of the pod template alone, which is the revision of all other subsets."""
ANNOTATION_APPLIED: Final = f"{GROUP}/applied"
"""On workloads: the hash of the last applied body. A workload is in sync if the hash and the generation match."""

ANNOTATION_IGNORE_DIFFERENCES: Final = f"{GROUP}/ignore-differences"
"""On a UnitedDeployment: comma-separated paths of workload fields that the controller does not correct, such as
``spec.replicas`` for an autoscaler in the member."""
ANNOTATION_ORPHAN: Final = f"{GROUP}/orphan"
"""On a UnitedDeployment that is being deleted: :data:`ORPHAN` if its workloads stay. The controller sets it."""
ORPHAN: Final = "true"
ORPHAN_POLICY: Final = "Orphan"
"""Value of spec.deletionPolicy that keeps the workloads."""
ANNOTATION_RECREATE: Final = f"{GROUP}/recreate"
"""On a UnitedDeployment: :data:`RECREATE` if the controller may recreate workloads to change immutable fields."""
RECREATE: Final = "true"

ANNOTATION_ABANDON: Final = f"{GROUP}/abandon"
"""On a Cluster that is being deleted: :data:`ABANDON` if it goes although workloads are, or may be, left in the
cluster."""
ABANDON: Final = "true"

ANNOTATION_CLUSTER_PROFILE: Final = f"{GROUP}/cluster-profile"
"""On Clusters that the controller made from a ClusterProfile: the uid of that, and the hash of what was applied."""

ANNOTATION_CHANGE_CAUSE: Final = "kubernetes.io/change-cause"
"""On a UnitedDeployment: why the pod template was changed. The controller copies it to the ControllerRevision."""

ANNOTATION_HOST: Final = f"{GROUP}/host"
"""On the system namespace of a member: the address of the host that the member is registered with."""
ANNOTATION_HOST_UID: Final = f"{GROUP}/host-uid"
"""On the system namespace of a member: the uid of the namespace kube-system of that host."""
ANNOTATION_CREATED: Final = f"{GROUP}/created-by-registration"
"""On the system namespace of a member: ``true`` if the registration created it."""
ANNOTATION_TOKEN_ISSUED: Final = f"{GROUP}/token-issued"
"""On a Secret with a token for a member: when the token was issued, by the clock of whoever requested it."""

LABELS: Final = frozenset({LABEL_NAME, LABEL_SUBSET, LABEL_REVISION, LABEL_MANAGED_BY})
"""All labels that this project reads. Caches drop other labels."""
ANNOTATIONS: Final = frozenset(
    {
        ANNOTATION_OWNER,
        ANNOTATION_OWNER_UID,
        ANNOTATION_CLUSTER,
        ANNOTATION_SUBSET_REVISIONS,
        ANNOTATION_TEMPLATE_REVISION,
        ANNOTATION_APPLIED,
        ANNOTATION_IGNORE_DIFFERENCES,
        ANNOTATION_ORPHAN,
        ANNOTATION_RECREATE,
        ANNOTATION_ABANDON,
        ANNOTATION_CLUSTER_PROFILE,
        ANNOTATION_CHANGE_CAUSE,
        ANNOTATION_HOST,
        ANNOTATION_HOST_UID,
        ANNOTATION_CREATED,
        ANNOTATION_TOKEN_ISSUED,
    }
)
"""All annotations that this project reads. Caches drop other annotations."""

SYSTEM_NAMESPACE: Final = "uniteddeployment-system"
"""Namespace of the controller on the host, and of its account in members."""
CONTROLLER_ACCOUNT: Final = "uniteddeployment"
"""ServiceAccount of the controller on the host."""
MEMBER_ACCOUNT: Final = "uniteddeployment-member"
"""ServiceAccount, ClusterRole and ClusterRoleBinding of the controller in members."""
TOKEN_SECRET_TYPE: Final = f"{GROUP}/member-token"
"""Type of the Secrets on the host that ``ud clusters register`` creates. The type of a Secret cannot be changed. The
controller replaces the tokens in these Secrets, and in no others."""
FINALIZER: Final = f"{GROUP}/workloads"
"""Finalizer that keeps a UnitedDeployment until its workloads in all clusters are deleted or orphaned."""
CLUSTER_FINALIZER: Final = f"{GROUP}/cluster"
"""Finalizer that keeps a Cluster until no workload of this host is left in it."""
TAINT_UNREACHABLE: Final = f"{GROUP}/unreachable"
"""On Clusters that are Offline, and do not answer or refuse the credentials."""
TAINT_NOT_READY: Final = f"{GROUP}/not-ready"
"""On Clusters that are Offline and answer, for example with errors."""
TAINT_CORDONED: Final = f"{GROUP}/cordoned"
"""On Clusters with ``spec.unschedulable`` or ``spec.suspended``."""
TAINT_DRAIN: Final = f"{GROUP}/drain"
"""Taint of the spec of a Cluster that ``ud clusters drain`` sets: applications move to other clusters."""
TAINT_TERMINATING: Final = f"{GROUP}/terminating"
"""On Clusters that are being deleted."""
FIELD_MANAGER: Final = "uniteddeployment"

LABEL_LIMIT: Final = 63
NAME_LIMIT: Final = 253
STATEFUL_SET_LIMIT: Final = 52
"""Maximum length: pods have the label controller-revision-hash with ``<name>-<10 characters>``, 63 in total."""
DEPLOYMENT_LIMIT: Final = 46
"""Maximum length: pods are named ``<name>-<10 characters>-<5 characters>``, 63 in total, which host names allow."""

_HASH_LENGTH = 10


def label_value(name: str) -> str:
    """Return a label value for ``name``: the name, or, if it is too long, its start and a hash of the whole name."""
    if len(name) <= LABEL_LIMIT:
        return name
    return _shortened(name, LABEL_LIMIT, name)


def workload_name(united_deployment: str, subset: str, revision: str | None = None) -> str:
    """Return the name of a subset's workload: ``<ud>-<subset>``, or with a revision ``<ud>-<subset>-<revision>``.

    The limit is that of a Deployment with a revision, and that of a StatefulSet without one. A name that is too long,
    or that contains dots, which host names of pods cannot, is shortened and gets a hash of the full names. The revision
    is always kept.

    >>> workload_name("web", "member-1"), workload_name("web", "member-1", "h5f564w9rs")
    ('web-member-1', 'web-member-1-h5f564w9rs')
    >>> workload_name("web.shop", "member-1")
    'web-shop-member-1-1a35fada8e'
    """
    suffix = f"-{revision}" if revision else ""
    limit = (DEPLOYMENT_LIMIT if revision else STATEFUL_SET_LIMIT) - len(suffix)
    plain = f"{united_deployment}-{subset}"
    if len(plain) <= limit and "." not in plain:
        return plain + suffix
    # Names cannot contain a slash, so different pairs of names never give the same text to hash.
    return _shortened(plain.replace(".", "-"), limit, f"{united_deployment}/{subset}") + suffix


def revision_name(united_deployment: str, revision: str) -> str:
    """Return the name of a ControllerRevision: ``<ud>-<revision>``, shortened to the maximum length of a name."""
    limit = NAME_LIMIT - len(revision) - 1
    head = united_deployment
    if len(head) > limit:
        head = _shortened(united_deployment, limit, united_deployment)
    return f"{head}-{revision}"


def _shortened(text: str, limit: int, identity: str) -> str:
    digest = hashlib.sha256(identity.encode()).hexdigest()[:_HASH_LENGTH]
    head = text[: limit - _HASH_LENGTH - 1].rstrip("-._")
    return f"{head}-{digest}"
