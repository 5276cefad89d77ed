"""Validation of roles and bindings."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from uniteddeployment.embedded.apimachinery import names
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.builtin.validation.causes import invalid, invalids, not_supported, required
from uniteddeployment.embedded.builtin.validation.fields import label_selector
from uniteddeployment.embedded.errors import Cause

GROUP: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


def role(obj: Obj) -> list[Cause]:
    """A Role, whose rules apply to namespaced resources."""
    return _rules(obj, namespaced=True)


def cluster_role(obj: Obj) -> list[Cause]:
    """A ClusterRole, which may also have rules for non-resource URLs and an aggregation rule."""
    causes = _rules(obj, namespaced=False)
    aggregation = obj.get("aggregationRule")
    if aggregation is None:
        return causes
    path = "aggregationRule.clusterRoleSelectors"
    selectors = aggregation.get("clusterRoleSelectors") or ()
    if not selectors:
        causes.append(required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
    for index, selector in enumerate(selectors):
        causes += label_selector(selector, f"{path}[{index}]")
    return causes


def _rules(obj: Obj, *, namespaced: bool) -> list[Cause]:
    causes: list[Cause] = []
    for index, rule in enumerate(obj.get("rules") or ()):
        causes += _rule(rule, f"rules[{index}]", namespaced=namespaced)
    return causes


def _rule(rule: Obj, path: str, *, namespaced: bool) -> list[Cause]:
    causes: list[Cause] = []
    if not rule.get("verbs"):
        causes.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs")
    if urls:
        where = f"{path}.nonResourceURLs"
        if namespaced:
            causes.append(invalid(where, urls, "namespaced rules cannot apply to non-resource URLs"))
        if any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            causes.append(invalid(where, urls, text))
        return causes
    if not rule.get("apiGroups"):
        causes.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        causes.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return causes


def _binding(obj: Obj, *, namespaced: bool) -> list[Cause]:
    reference, causes = obj.get("roleRef") or {}, list[Cause]()
    kinds: Sequence[str] = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if reference.get("apiGroup", "") != GROUP:
        causes.append(not_supported("roleRef.apiGroup", reference.get("apiGroup", ""), (GROUP,)))
    if reference.get("kind") not in kinds:
        causes.append(not_supported("roleRef.kind", reference.get("kind", ""), kinds))
    name = reference.get("name", "")
    causes += invalids("roleRef.name", name, names.path_segment(name)) if name else [required("roleRef.name")]
    for index, subject in enumerate(obj.get("subjects") or ()):
        causes += _subject(subject, f"subjects[{index}]", namespaced=namespaced)
    return causes


role_binding = partial(_binding, namespaced=True)
cluster_role_binding = partial(_binding, namespaced=False)


def _subject(subject: Obj, path: str, *, namespaced: bool) -> list[Cause]:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    causes = [] if name else [required(f"{path}.name")]
    if kind not in _SUBJECTS:
        return [*causes, not_supported(f"{path}.kind", kind, _SUBJECTS)]
    wanted = "" if kind == "ServiceAccount" else GROUP
    if group != wanted:
        causes.append(not_supported(f"{path}.apiGroup", group, (wanted,)))
    if kind == "ServiceAccount":
        if name:
            causes += invalids(f"{path}.name", name, names.subdomain(name))
        if not namespaced and not subject.get("namespace"):
            causes.append(required(f"{path}.namespace"))
    return causes


def role_binding_update(new: Obj, old: Obj, _subresource: str) -> list[Cause]:
    """The subjects of a binding may change, its role may not."""
    return _binding(new, namespaced=True) + _other_role(new, old)


def cluster_role_binding_update(new: Obj, old: Obj, _subresource: str) -> list[Cause]:
    return _binding(new, namespaced=False) + _other_role(new, old)


def _other_role(new: Obj, old: Obj) -> list[Cause]:
    reference = new.get("roleRef") or {}
    if reference == (old.get("roleRef") or {}):
        return []
    parts = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}
    shown = {field: reference.get(name, "") for field, name in parts.items()}
    return [invalid("roleRef", shown, "cannot change roleRef")]
