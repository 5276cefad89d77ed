"""Resources and the paths under which an API server serves them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource: its place in the API and the kind of its objects."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` of its objects: ``apps/v1``, or ``v1`` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The path of the collection, of an object or of a subresource; not percent-encoded.

        Without ``namespace``, the collection of a namespaced resource spans all namespaces. Raises ValueError for names
        that cannot be a part of a path, so that no untrusted name can lead to another endpoint.
        """
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if namespace:
            if not self.namespaced:
                raise ValueError(f"{self.plural} are not namespaced, so no namespace can be given")
            root = f"{root}/namespaces/{_part(namespace)}"
        elif name is not None and self.namespaced:
            raise ValueError(f"the name of one of the {self.plural} needs a namespace")
        root = f"{root}/{self.plural}"
        if name is not None:
            root = f"{root}/{_part(name)}"
            if subresource is not None:
                root = f"{root}/{_part(subresource)}"
        return root


def _part(text: str) -> str:
    """The text if it can be a part of a path, by the API's own rule. Raises ValueError if not."""
    if text in {"", ".", ".."} or "/" in text or "%" in text:
        raise ValueError(f"{text!r} cannot be part of a path")
    return text


STATEFULSETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
CONTROLLERREVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
PODS = Resource("", "v1", "pods", "Pod")
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap")
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
SERVICEACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLEBINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
CLUSTERROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTERROLEBINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
SELFSUBJECTACCESSREVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
CUSTOMRESOURCEDEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
