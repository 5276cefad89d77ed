"""Discovery documents: per group (unaggregated), or all groups at once (aggregated).

Contract: computed from the registry and the kinds that are not stored, and cached until the registry changes.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.storage.registry import Registry

_CHANGE: Final = ("get", "patch", "update")
_SCALE: Final = ("autoscaling", "v1", "Scale")

Gvk = tuple[str, str, str]
Sub = tuple[str, Gvk, Sequence[str]]
"""Name, kind of the response, verbs."""

_PARTICULAR: Final[dict[str, tuple[Sub, ...]]] = {
    "namespaces": (("finalize", ("", "", "Namespace"), ("update",)),),
    "pods": (
        ("binding", ("", "", "Binding"), ("create",)),
        ("ephemeralcontainers", ("", "", "Pod"), _CHANGE),
        ("eviction", ("policy", "v1", "Eviction"), ("create",)),
        ("log", ("", "", "Pod"), ("get",)),
        ("resize", ("", "", "Pod"), _CHANGE),
    ),
    "serviceaccounts": (("token", ("authentication.k8s.io", "v1", "TokenRequest"), ("create",)),),
}
"""Subresources other than status and scale."""

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


def version_order(version: str) -> tuple[int, int, int, str]:
    """Sort key for Kubernetes' order of versions: v2, v1, v1beta1, v1alpha1, then others by name."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (3, 0, 0, version)
    level = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (level, -int(match[1]), -int(match[3] or 0), "")


class _Entry:
    """One resource in discovery."""

    __slots__ = (
        "categories",
        "gvk",
        "kind",
        "namespaced",
        "plural",
        "short_names",
        "singular",
        "stored",
        "subs",
        "verbs",
    )

    def __init__(
        self,
        plural: str,
        kind: str,
        singular: str,
        verbs: Sequence[str],
        *,
        namespaced: bool,
        gvk: Gvk,
        subs: Sequence[Sub] = (),
        short_names: Sequence[str] = (),
        categories: Sequence[str] = (),
        stored: str = "",
    ) -> None:
        self.plural = plural
        self.kind = kind
        self.singular = singular
        self.verbs = verbs
        self.namespaced = namespaced
        self.gvk = gvk
        self.subs = subs
        self.short_names = short_names
        self.categories = categories
        self.stored = stored

    def plain(self) -> list[Obj]:
        """Its entries in an APIResourceList."""
        own: Obj = {
            "name": self.plural,
            "singularName": self.singular,
            "namespaced": self.namespaced,
            "kind": self.kind,
            "verbs": list(self.verbs),
        }
        if self.short_names:
            own["shortNames"] = list(self.short_names)
        if self.categories:
            own["categories"] = list(self.categories)
        if self.stored:
            digest = hashlib.sha256(self.stored.encode()).digest()[:8]
            own["storageVersionHash"] = base64.b64encode(digest).decode()
        lines = [own]
        for name, (group, version, kind), verbs in self.subs:
            line: Obj = {"name": f"{self.plural}/{name}", "singularName": "", "namespaced": self.namespaced}
            if group != self.gvk[0] or (kind != self.kind and group):
                line |= {"group": group, "version": version}
            lines.append(line | {"kind": kind, "verbs": list(verbs)})
        return lines

    def aggregated(self) -> Obj:
        """Its item in an APIGroupDiscoveryList."""
        item: Obj = {
            "resource": self.plural,
            "responseKind": _kind(self.gvk),
            "scope": "Namespaced" if self.namespaced else "Cluster",
            "singularResource": self.singular,
            "verbs": list(self.verbs),
        }
        if self.short_names:
            item["shortNames"] = list(self.short_names)
        if self.categories:
            item["categories"] = list(self.categories)
        if self.subs:
            item["subresources"] = [
                {"subresource": name, "responseKind": _kind(gvk), "verbs": list(verbs)}
                for name, gvk, verbs in self.subs
            ]
        return item


def _kind(gvk: Gvk) -> Obj:
    return {"group": gvk[0], "version": gvk[1], "kind": gvk[2]}


def _entry(resource: Resource) -> _Entry:
    # Built-in kinds take group and version from the surrounding list.
    gvk = (resource.group, resource.version, resource.kind) if resource.custom else ("", "", resource.kind)
    subs = list(_PARTICULAR.get(resource.key, ()))
    if resource.scale is not None:
        subs.append(("scale", _SCALE, _CHANGE))
    if resource.status:
        subs.append(("status", gvk, _CHANGE))
    return _Entry(
        resource.plural,
        resource.kind,
        resource.singular,
        resource.verbs,
        namespaced=resource.namespaced,
        gvk=gvk,
        subs=sorted(subs, key=lambda sub: sub[0]),
        short_names=resource.short_names,
        categories=resource.categories,
        stored=f"{resource.group}/{resource.version}/{resource.kind}",
    )


class UnstoredKind(Protocol):
    """A kind whose objects are answered and not stored, such as a review. Its version is v1."""

    @property
    def group(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def plural(self) -> str: ...

    @property
    def namespaced(self) -> bool: ...


class Discovery:
    """The discovery documents of one cluster."""

    def __init__(self, registry: Registry, unstored: Sequence[UnstoredKind]) -> None:
        self._registry = registry
        self._unstored = unstored
        self._generation = -1
        self._groups: dict[str, dict[str, list[_Entry]]] = {}
        self._known: dict[str, Any] = {}

    def api_versions(self) -> Obj:
        """GET /api."""
        return {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"}],
        }

    def groups(self) -> Obj:
        """GET /apis."""
        return self._cached(
            "groups",
            lambda: {
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": [self._group(name) for name in sorted(self._groups) if name],
            },
        )

    def group(self, name: str) -> Obj | None:
        """GET /apis/<group>."""
        self._refresh()
        if not name or name not in self._groups:
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(name)}

    def serves_group(self, name: str) -> bool:
        self._refresh()
        return name in self._groups

    def resources(self, group: str, version: str) -> Obj | None:
        """GET /apis/<group>/<version> or /api/v1."""
        self._refresh()
        entries = self._groups.get(group, {}).get(version)
        if entries is None:
            return None
        lines = [line for entry in entries for line in entry.plain()]
        if not group:
            # The real server leaves the apiVersion out here, and only here.
            return {"kind": "APIResourceList", "groupVersion": version, "resources": lines}
        listed: Obj = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}"}
        return {**listed, "resources": lines}

    def aggregated(self, *, core: bool) -> Obj:
        """GET /api or /apis with the Accept header of aggregated discovery."""
        return self._cached(
            f"aggregated {core}",
            lambda: {
                "kind": "APIGroupDiscoveryList",
                "apiVersion": "apidiscovery.k8s.io/v2",
                "metadata": {},
                "items": [self._discovered(name) for name in sorted(self._groups) if (not name) is core],
            },
        )

    def _cached(self, key: str, make: Callable[[], Obj]) -> Obj:
        self._refresh()
        if key not in self._known:
            self._known[key] = make()
        document: Obj = self._known[key]
        return document

    def _refresh(self) -> None:
        if self._generation == self._registry.generation:
            return
        self._generation = self._registry.generation
        self._known.clear()
        groups: dict[str, dict[str, list[_Entry]]] = {}
        for resource in self._registry:
            groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(_entry(resource))
        for kind in self._unstored:
            gvk = ("", "", kind.kind)
            entry = _Entry(kind.plural, kind.kind, kind.kind.lower(), ("create",), namespaced=kind.namespaced, gvk=gvk)
            groups.setdefault(kind.group, {}).setdefault("v1", []).append(entry)
        bindings = _Entry("bindings", "Binding", "binding", ("create",), namespaced=True, gvk=("", "", "Binding"))
        groups.setdefault("", {}).setdefault("v1", []).append(bindings)
        for versions in groups.values():
            for entries in versions.values():
                entries.sort(key=lambda entry: entry.plural)
        self._groups = {
            name: dict(sorted(versions.items(), key=lambda item: version_order(item[0])))
            for name, versions in groups.items()
        }

    def _group(self, name: str) -> Obj:
        versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in self._groups[name]]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _discovered(self, name: str) -> Obj:
        return {
            "metadata": {"name": name} if name else {},
            "versions": [
                {
                    "version": version,
                    "resources": [entry.aggregated() for entry in entries],
                    "freshness": "Current",
                }
                for version, entries in self._groups[name].items()
            ],
        }
