"""The names that this project gives to things in clusters: group, kinds, labels, annotations, finalizers, workloads.

Everything here is a constant or a pure function of its arguments, so that a retry, a restart or another process
arrives at the same names and never makes a second object.
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

LABEL_NAME: Final = f"{GROUP}/name"
"""On workloads, their pods and revisions: the UnitedDeployment (as :func:`label_value` writes it)."""
LABEL_SUBSET: Final = f"{GROUP}/subset"
"""On workloads and their pods: the subset."""
LABEL_REVISION: Final = f"{GROUP}/revision"
"""On workloads that exist once per revision, and on revisions: the revision."""
LABEL_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
"""On workloads: :data:`MANAGER`, for people and tools that look for who made an object."""
MANAGER: Final = "uniteddeployment"

ANNOTATION_OWNER: Final = f"{GROUP}/owner"
"""On workloads: ``namespace/name`` of the UnitedDeployment, in full."""
ANNOTATION_OWNER_UID: Final = f"{GROUP}/owner-uid"
"""On workloads: the uid of the UnitedDeployment; owner references do not cross clusters."""
ANNOTATION_CLUSTER: Final = f"{GROUP}/cluster"
"""On workloads: ``namespace/name`` of the Cluster that it was applied through; empty for the host itself."""
ANNOTATION_SUBSET_REVISIONS: Final = f"{GROUP}/subset-revisions"
"""On revisions: the revision of each subset that had a patch, as JSON."""
ANNOTATION_TEMPLATE_REVISION: Final = f"{GROUP}/template-revision"
"""On revisions: the revision of the pod template alone, which subsets without a patch have."""
ANNOTATION_APPLIED: Final = f"{GROUP}/applied"
"""On workloads: the hash of what was applied last; with the generation that it got, it tells "in sync"."""

ANNOTATION_IGNORE_DIFFERENCES: Final = f"{GROUP}/ignore-differences"
"""On a UnitedDeployment: dotted paths, with commas between, of fields of its workloads that are left as they are
(``spec.replicas``, for an autoscaler in the member)."""
ANNOTATION_ORPHAN: Final = f"{GROUP}/orphan"
"""On a UnitedDeployment that is being deleted: with :data:`ORPHAN`, its workloads stay. The controller sets it."""
ORPHAN: Final = "true"
ORPHAN_POLICY: Final = "Orphan"
"""The value of spec.deletionPolicy with which workloads stay."""
ANNOTATION_RECREATE: Final = f"{GROUP}/recreate"
"""On a UnitedDeployment: with :data:`RECREATE`, workloads are recreated for changes that an API server refuses."""
RECREATE: Final = "true"

ANNOTATION_CHANGE_CAUSE: Final = "kubernetes.io/change-cause"
"""On a UnitedDeployment and, as a copy, on its revisions: why the pod template was changed, for ``ud history``."""

LABELS: Final = frozenset({LABEL_NAME, LABEL_SUBSET, LABEL_REVISION, LABEL_MANAGED_BY})
"""All of the above: of other labels nothing is read, and so nothing is kept."""
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
        ANNOTATION_CHANGE_CAUSE,
    }
)
"""The same of annotations."""

FINALIZER: Final = f"{GROUP}/workloads"
"""Keeps a UnitedDeployment until its workloads in all clusters are gone."""
FIELD_MANAGER: Final = "uniteddeployment"

LABEL_LIMIT: Final = 63
NAME_LIMIT: Final = 253
STATEFUL_SET_LIMIT: Final = 52
"""A StatefulSet's pods carry the label controller-revision-hash, ``<name>-<10 characters>``: 63 in all."""
DEPLOYMENT_LIMIT: Final = 46
"""A Deployment's pods are named ``<name>-<10 characters>-<5 characters>``: 63 in all, so host names stay whole."""

_HASH_LENGTH = 10


def label_value(name: str) -> str:
    """A label value for ``name``: the name itself, or, if it is too long, its start and a hash of all of it."""
    if len(name) <= LABEL_LIMIT:
        return name
    return _shortened(name, LABEL_LIMIT, name)


def workload_name(united_deployment: str, subset: str, revision: str | None = None) -> str:
    """The name of a subset's workload: ``<ud>-<subset>``, and with a revision ``<ud>-<subset>-<revision>``.

    With a revision it has to fit a Deployment, without one a StatefulSet. A name that is too long, or that has dots
    (which a pod's host name cannot have), is shortened and gets a hash of the full names instead, the revision kept.
    """
    suffix = f"-{revision}" if revision else ""
    limit = (DEPLOYMENT_LIMIT if revision else STATEFUL_SET_LIMIT) - len(suffix)
    plain = f"{united_deployment}-{subset}"
    if len(plain) <= limit and "." not in plain:
        return plain + suffix
    # The slash cannot be part of a name, so no two pairs of names are hashed from the same text.
    return _shortened(plain.replace(".", "-"), limit, f"{united_deployment}/{subset}") + suffix


def revision_name(united_deployment: str, revision: str) -> str:
    """The name of a ControllerRevision: ``<ud>-<revision>``, shortened where an object's name would be too long."""
    limit = NAME_LIMIT - len(revision) - 1
    head = united_deployment
    if len(head) > limit:
        head = _shortened(united_deployment, limit, united_deployment)
    return f"{head}-{revision}"


def _shortened(text: str, limit: int, identity: str) -> str:
    digest = hashlib.sha256(identity.encode()).hexdigest()[:_HASH_LENGTH]
    head = text[: limit - _HASH_LENGTH - 1].rstrip("-._")
    return f"{head}-{digest}"
