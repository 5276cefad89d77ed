"""Names of resources and the paths under which an API server serves them. Knows nothing of requests."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """One served resource: where it lives in the API and what its objects are called."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """``apps/v1``, or ``v1`` for the core group: what objects have in ``apiVersion``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The path of the collection, of one object in it or of an object's subresource, not percent-encoded.

        For a namespaced resource without ``namespace`` it is the collection over all namespaces. What cannot be a
        part of a path is refused, so that no name from outside can ever lead to another endpoint.
        """
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if namespace:
            if not self.namespaced:
                raise ValueError(f"{self.plural} live in no namespace, so none can be given")
            root = f"{root}/namespaces/{_part(namespace)}"
        elif name is not None and self.namespaced:
            raise ValueError(f"one of the {self.plural} can only be named together with its namespace")
        root = f"{root}/{self.plural}"
        if name is not None:
            root = f"{root}/{_part(name)}"
            if subresource is not None:
                root = f"{root}/{_part(subresource)}"
        return root


def _part(text: str) -> str:
    """The text, if it may stand between two slashes; the rule is the API's own for names in paths."""
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
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
CUSTOMRESOURCEDEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
