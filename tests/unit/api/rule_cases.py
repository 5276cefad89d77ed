"""Manifests that violate one rule each, and valid manifests. All validators are tested with them."""

import copy
from typing import Any

from uniteddeployment_api import names

ROOT = "spec.template.statefulSetTemplate.spec"
DEPLOYMENT = "spec.template.deploymentTemplate.spec"
CLONE_SET = "spec.template.cloneSetTemplate.spec"


def manifest(**spec: Any) -> dict[str, Any]:
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}
    return {
        "apiVersion": "uniteddeployment.io/v1alpha1",
        "kind": "UnitedDeployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 10,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"statefulSetTemplate": {"spec": {"template": pod}}},
            "topology": {"subsets": [{"name": "a"}, {"name": "b"}]},
            **spec,
        },
    }


def subsets(*entries: dict[str, Any], **spec: Any) -> dict[str, Any]:
    named = [{"name": chr(ord("a") + index), **entry} for index, entry in enumerate(entries)]
    return manifest(topology={"subsets": named}, **spec)


def changed(obj: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    obj = copy.deepcopy(obj)
    *steps, last = path.split(".")
    node: Any = obj
    for step in steps:
        node = node[int(step)] if step.isdecimal() else node.setdefault(step, {})
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return obj


def template_of(field: str, **spec: Any) -> dict[str, Any]:
    obj = manifest(**spec)
    obj["spec"]["template"] = {field: {"spec": obj["spec"]["template"]["statefulSetTemplate"]["spec"]}}
    return obj


def deployment(**spec: Any) -> dict[str, Any]:
    return template_of("deploymentTemplate", **spec)


def clone_set(**spec: Any) -> dict[str, Any]:
    return template_of("cloneSetTemplate", **spec)


def disjoint(*entries: dict[str, Any], spec: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    obj = subsets(*entries, **more) if spec is None else manifest(**spec | more)
    obj["spec"]["topology"] |= {"ordinals": "Disjoint", "ordinalBlock": 100}
    return obj


def patched(patch: dict[str, Any]) -> dict[str, Any]:
    return subsets({"patch": patch}, {})


def overridden(*operations: dict[str, Any]) -> dict[str, Any]:
    fine = {"op": "add", "path": "/spec/serviceName", "value": "web"}
    return subsets({"overrides": [fine, *operations]}, {})


def annotated(key: str, value: str) -> dict[str, Any]:
    obj = manifest()
    obj["metadata"]["annotations"] = {key: value}
    return obj


def nested(levels: int) -> Any:
    value: Any = "x"
    for level in range(levels):
        value = [value] if level % 2 else {"x": value}
    return value


def doublings(count: int) -> list[dict[str, Any]]:
    """Overrides that repeatedly append a list to itself."""
    first = {"op": "add", "path": "/metadata/annotations/x", "value": {"l": ["x" * 100]}}
    again = {"op": "copy", "from": "/metadata/annotations/x/l", "path": "/metadata/annotations/x/l/-"}
    return [first, *[again] * count]


ADAPTIVE = "spec.topology.scheduleStrategy.adaptive"
RESERVING = {"reserveUnschedulablePods": True}
SUBSET = "spec.topology.subsets[0]"
OVERRIDE = "spec.topology.subsets[0].overrides[1]"
PATCH = "spec.topology.subsets[0].patch"

# Violations of rules in a part that CEL does not check: rule, path, manifest
BEYOND_CEL: list[tuple[str, str, dict[str, Any]]] = [
    (
        "patch-protected",
        f"{PATCH}.spec.updateStrategy.rollingUpdate.partition",
        patched({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}}}),
    ),
    ("patch-protected", f"{PATCH}.spec.replicas", patched({"spec": {"$patch": "replace", "minReadySeconds": 1}})),
    (
        "override-protected",
        f"{OVERRIDE}.path",
        overridden({"op": "add", "path": "/spec/updateStrategy", "value": {"rollingUpdate": {"partition": 3}}}),
    ),
]

# rule, path, manifest
BROKEN: list[tuple[str, str, dict[str, Any]]] = [
    ("nesting", ROOT, changed(manifest(), f"{ROOT}.template.spec.x", nested(70))),
    ("nesting", PATCH, patched({"spec": {"x": nested(70)}})),
    ("nesting", f"{OVERRIDE}.value", overridden({"op": "add", "path": "/spec/x", "value": nested(70)})),
    ("template-size", "spec.template", changed(manifest(), f"{ROOT}.template.spec.x", ["x" * 1000] * 1100)),
    (
        "total-size",
        "spec.topology.subsets",
        changed(subsets(*[{"patch": {"metadata": {}}}] * 26), f"{ROOT}.template.spec.x", ["x" * 1000] * 700),
    ),
    ("override-applies", f"{SUBSET}.overrides[12].from", subsets({"overrides": doublings(24)}, {})),
    (
        "override-applies",
        f"{SUBSET}.overrides",
        changed(
            overridden({"op": "add", "path": "/metadata/annotations/x", "value": "x" * 500_000}),
            f"{ROOT}.template.spec.x",
            ["x" * 1000] * 600,
        ),
    ),
    (
        "patch-applies",
        PATCH,
        changed(patched({"spec": {"y": "x" * 500_000}}), f"{ROOT}.template.spec.x", ["x" * 1000] * 600),
    ),
    (
        "override-applies",
        f"{SUBSET}.overrides[3].path",
        subsets(
            {
                "overrides": [
                    {"op": "add", "path": "/metadata/annotations/x", "value": nested(25)},
                    *[
                        {
                            "op": "copy",
                            "from": "/metadata/annotations/x",
                            "path": "/metadata/annotations/x" + "/x/0" * pairs + "/y",
                        }
                        for pairs in (5, 12, 12)
                    ],
                ]
            },
            {},
        ),
    ),
    *BEYOND_CEL,
    ("exactly-one-template", "spec.template", manifest(template={})),
    (
        "exactly-one-template",
        "spec.template",
        changed(
            manifest(),
            "spec.template.deploymentTemplate",
            manifest()["spec"]["template"]["statefulSetTemplate"],
        ),
    ),
    ("template-has-no-replicas", f"{ROOT}.replicas", changed(manifest(), f"{ROOT}.replicas", 3)),
    (
        "template-has-no-partition",
        f"{ROOT}.updateStrategy.rollingUpdate.partition",
        changed(manifest(), f"{ROOT}.updateStrategy.rollingUpdate.partition", 1),
    ),
    ("selector-not-empty", "spec.selector", manifest(selector={})),
    (
        "selector-values",
        "spec.selector.matchExpressions[0].values",
        manifest(selector={"matchExpressions": [{"key": "app", "operator": "In"}]}),
    ),
    (
        "selector-matches-labels",
        f"{ROOT}.template.metadata.labels",
        manifest(selector={"matchLabels": {"app": "other"}}),
    ),
    (
        "selector-matches-expressions",
        f"{ROOT}.template.metadata.labels",
        manifest(selector={"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}),
    ),
    ("shares-not-mixed", "spec.topology.subsets", subsets({"replicas": 3}, {"minReplicas": 1})),
    ("shares-not-mixed", "spec.topology.subsets", subsets({"replicas": 3}, {"weight": 1})),
    ("min-not-above-max", "spec.topology.subsets[0].minReplicas", subsets({"minReplicas": 3, "maxReplicas": 2}, {})),
    (
        "bounds-consistent",
        "spec.topology.subsets[0].minReplicas",
        subsets({"minReplicas": 3, "maxReplicas": "20%"}, {}),
    ),
    ("some-subset-unbounded", "spec.topology.subsets", subsets({"maxReplicas": 5}, {"maxReplicas": 50})),
    ("total-needed", "spec.topology.subsets", changed(subsets({"replicas": 3}, {}), "spec.replicas", ...)),
    ("total-needed", "spec.topology.subsets", changed(subsets({"replicas": "30%"}), "spec.replicas", ...)),
    ("shares-within-total", "spec.topology.subsets", subsets({"replicas": 6}, {"replicas": 5}, {})),
    ("shares-within-total", "spec.topology.subsets", subsets({"replicas": "71%"}, {"replicas": "90%"})),
    ("shares-within-total", "spec.topology.subsets", subsets({"replicas": "100%"}, {"replicas": 1})),
    ("shares-reach-total", "spec.topology.subsets", subsets({"replicas": 1})),
    ("shares-reach-total", "spec.topology.subsets", subsets({"replicas": 1}, {"replicas": "71%"})),
    (
        "partitions-name-subsets",
        "spec.updateStrategy.manualUpdate.partitions[z]",
        manifest(updateStrategy={"manualUpdate": {"partitions": {"a": 1, "z": 1}}}),
    ),
    (
        "max-updated-names-subsets",
        "spec.updateStrategy.manualUpdate.maxUpdated[z]",
        manifest(updateStrategy={"manualUpdate": {"maxUpdated": {"a": 1, "z": 1}}}),
    ),
    (
        "revert-names-subsets",
        "spec.updateStrategy.manualUpdate.revert[1]",
        manifest(updateStrategy={"manualUpdate": {"revert": ["a", "z"]}}),
    ),
    (
        "subset-names-unique",
        "spec.topology.subsets[1].name",
        manifest(topology={"subsets": [{"name": "a"}, {"name": "a"}]}),
    ),
    (
        "node-term-values",
        "spec.topology.subsets[0].nodeSelectorTerm.matchExpressions[0].values",
        subsets({"nodeSelectorTerm": {"matchExpressions": [{"key": "zone", "operator": "Exists", "values": ["x"]}]}}),
    ),
    (
        "node-term-fields",
        "spec.topology.subsets[0].nodeSelectorTerm.matchFields[0]",
        subsets({"nodeSelectorTerm": {"matchFields": [{"key": "spec.x", "operator": "In", "values": ["x"]}]}}),
    ),
    (
        "toleration-exists",
        "spec.topology.subsets[0].tolerations[0]",
        subsets({"tolerations": [{"operator": "Exists", "key": "k", "value": "v"}]}),
    ),
    ("toleration-exists", "spec.topology.subsets[0].tolerations[0]", subsets({"tolerations": [{"value": "v"}]})),
    (
        "toleration-exists",
        "spec.topology.subsets[0].clusterTolerations[0]",
        subsets({"clusterTolerations": [{"operator": "Equal", "value": "v"}]}),
    ),
    (
        "toleration-exists",
        "spec.topology.tolerations[1]",
        changed(manifest(), "spec.topology.tolerations", [{"operator": "Exists"}, {"value": "v"}]),
    ),
    (
        "toleration-seconds",
        "spec.topology.subsets[0].clusterTolerations[0].effect",
        subsets({"clusterTolerations": [{"key": "k", "tolerationSeconds": 3}]}),
    ),
    (
        "toleration-seconds",
        "spec.topology.tolerations[0].effect",
        changed(manifest(), "spec.topology.tolerations", [{"operator": "Exists", "tolerationSeconds": -1}]),
    ),
    (
        "toleration-seconds",
        "spec.topology.subsets[0].tolerations[0].effect",
        subsets({"tolerations": [{"key": "k", "tolerationSeconds": 3}]}),
    ),
    (
        "pod-template",
        f"{ROOT}.template.spec.containers",
        changed(manifest(), f"{ROOT}.template.spec.containers", []),
    ),
    (
        "exactly-one-template",
        "spec.template",
        manifest(
            template={
                field: spec
                for made in (manifest(), deployment(), clone_set())
                for field, spec in made["spec"]["template"].items()
            }
        ),
    ),
    (
        "reservation-kind",
        f"{ADAPTIVE}.reserveUnschedulablePods",
        changed(template_of("advancedStatefulSetTemplate"), ADAPTIVE, RESERVING),
    ),
    ("template-has-no-replicas", f"{DEPLOYMENT}.replicas", changed(deployment(), f"{DEPLOYMENT}.replicas", 3)),
    ("template-has-no-replicas", f"{CLONE_SET}.replicas", changed(clone_set(), f"{CLONE_SET}.replicas", 3)),
    (
        "template-has-no-partition",
        f"{CLONE_SET}.updateStrategy.partition",
        changed(clone_set(), f"{CLONE_SET}.updateStrategy.partition", "10%"),
    ),
    (
        "selector-matches-labels",
        f"{CLONE_SET}.template.metadata.labels",
        clone_set(selector={"matchLabels": {"app": "other"}}),
    ),
    (
        "selector-matches-labels",
        f"{DEPLOYMENT}.template.metadata.labels",
        deployment(selector={"matchLabels": {"app": "other"}}),
    ),
    (
        "selector-not-ours",
        "spec.selector.matchLabels",
        changed(
            manifest(selector={"matchLabels": {"uniteddeployment.io/subset": "a"}}),
            f"{ROOT}.template.metadata.labels",
            {"uniteddeployment.io/subset": "a"},
        ),
    ),
    (
        "cluster-type",
        "spec.topology.clusterRegistry.clusterType",
        changed(manifest(), "spec.topology.clusterRegistry.clusterType", {"kind": "ClusterProfile"}),
    ),
    (
        "adaptive-not-fixed",
        "spec.topology.scheduleStrategy.type",
        changed(subsets({"replicas": 3}, {}), "spec.topology.scheduleStrategy", {"type": "Adaptive"}),
    ),
    ("reservation-kind", f"{ADAPTIVE}.reserveUnschedulablePods", changed(manifest(), ADAPTIVE, RESERVING)),
    ("ordinals-kind", "spec.topology.ordinals", disjoint({}, {}, spec=deployment()["spec"])),
    (
        "ordinals-size",
        "spec.topology.ordinalBlock",
        changed(disjoint({"maxReplicas": 5}, {}), "spec.topology.ordinalBlock", ...),
    ),
    (
        "ordinals-size",
        "spec.topology.ordinalBlock",
        changed(disjoint({"maxReplicas": "50%"}, {"weight": 1, "maxReplicas": 3}), "spec.topology.ordinalBlock", ...),
    ),
    ("ordinals-fit", "spec.topology.subsets[1].replicas", disjoint({}, {"replicas": 101}, replicas=200)),
    ("ordinals-fit", "spec.topology.subsets[0].minReplicas", disjoint({"minReplicas": 101}, {})),
    ("adopted-keeps-ordinals", "spec.topology.ordinals", disjoint({"adopt": {"name": "old"}}, {})),
    *(
        ("patch-protected", f"spec.topology.subsets[1].patch.{path}", subsets({}, {"patch": patch}))
        for path, patch in (
            ("spec.replicas", {"spec": {"replicas": 3}}),
            ("spec.selector", {"spec": {"selector": {"matchLabels": {"app": "b"}}}}),
        )
    ),
    ("patch-applies", f"{PATCH}.kind", patched({"kind": "Pod"})),
    ("patch-applies", f"{PATCH}.spec.containers", patched({"spec": {"minReadySeconds": 1, "containers": []}})),
    ("patch-applies", f"{PATCH}.spec.containers[0]", patched({"spec": {"containers": [{"image": "app:2"}]}})),
    ("patched-template", "spec.topology.subsets[0]", patched({"spec": {"containers": [{"name": "b"}]}})),
    ("patched-template", "spec.topology.subsets[0]", patched({"metadata": {"labels": {"app": "b"}}})),
    ("patched-template", "spec.topology.subsets[0]", patched({"spec": {"template": None}})),
    ("override-within", f"{OVERRIDE}.path", overridden({"op": "remove", "path": "/spec"})),
    ("override-within", f"{OVERRIDE}.path", overridden({"op": "add", "path": "/metadata/name", "value": "x"})),
    ("override-within", f"{OVERRIDE}.path", overridden({"op": "add", "path": "spec.serviceName", "value": "x"})),
    (
        "override-within",
        f"{OVERRIDE}.from",
        overridden({"op": "copy", "from": "/metadata/name", "path": "/spec/serviceName"}),
    ),
    ("override-protected", f"{OVERRIDE}.path", overridden({"op": "replace", "path": "/spec/replicas", "value": 3})),
    (
        "override-protected",
        f"{OVERRIDE}.path",
        overridden({"op": "add", "path": "/spec/updateStrategy/rollingUpdate/partition", "value": 3}),
    ),
    (
        "override-protected",
        f"{OVERRIDE}.from",
        overridden({"op": "move", "from": "/spec/selector/x", "path": "/spec/serviceName"}),
    ),
    (
        "override-from",
        f"{OVERRIDE}.from",
        overridden({"op": "add", "from": "/spec/template", "path": "/spec/minReadySeconds", "value": 1}),
    ),
    ("override-value", f"{OVERRIDE}.value", overridden({"op": "remove", "path": "/spec/serviceName", "value": 1})),
    ("override-applies", f"{OVERRIDE}.path", overridden({"op": "remove", "path": "/spec/minReadySeconds"})),
    ("override-applies", f"{OVERRIDE}.path", overridden({"op": "add", "path": "/spec/~2", "value": 1})),
    (
        "override-applies",
        f"{OVERRIDE}.value",
        overridden({"op": "test", "path": "/spec/template/spec/containers/0/image", "value": "app:2"}),
    ),
    (
        "patched-template",
        "spec.topology.subsets[0]",
        overridden({"op": "remove", "path": "/spec/template/spec/containers/0/image"}),
    ),
    (
        "adopt-unique",
        "spec.topology.subsets[1].adopt.name",
        subsets({"adopt": {"name": "x"}}, {"adopt": {"name": "x"}}),
    ),
    ("adopt-unique", "spec.topology.subsets[0].adopt.name", subsets({"adopt": {"name": "web-b"}}, {})),
    (
        "adopt-unique",
        "spec.topology.subsets[1].adopt.name",
        subsets(
            {"adopt": {"name": "x"}, "targetCluster": {"name": "m"}},
            {"adopt": {"name": "x"}, "targetCluster": {"name": "m", "namespace": "default"}},
        ),
    ),
    (
        "annotation-recreate",
        f"metadata.annotations[{names.ANNOTATION_RECREATE}]",
        annotated(names.ANNOTATION_RECREATE, "yes"),
    ),
    (
        "annotation-ignore-differences",
        f"metadata.annotations[{names.ANNOTATION_IGNORE_DIFFERENCES}]",
        annotated(names.ANNOTATION_IGNORE_DIFFERENCES, "spec.replicas, /spec/template"),
    ),
    (
        "annotation-ignore-differences",
        f"metadata.annotations[{names.ANNOTATION_IGNORE_DIFFERENCES}]",
        annotated(names.ANNOTATION_IGNORE_DIFFERENCES, "status"),
    ),
    (
        "annotation-ignore-differences-size",
        f"metadata.annotations[{names.ANNOTATION_IGNORE_DIFFERENCES}]",
        annotated(names.ANNOTATION_IGNORE_DIFFERENCES, ",".join(f"spec.a{n}" for n in range(33))),
    ),
    (
        "annotation-ignore-differences-size",
        f"metadata.annotations[{names.ANNOTATION_IGNORE_DIFFERENCES}]",
        annotated(names.ANNOTATION_IGNORE_DIFFERENCES, "spec." + "a" * 252),
    ),
]

ACCEPTED: list[dict[str, Any]] = [
    changed(manifest(), "spec.topology.clusterRegistry", {"clusterType": {}, "namespaces": ["a"]}),
    changed(
        manifest(),
        "spec.topology.clusterRegistry.clusterType",
        {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile"},
    ),
    changed(manifest(), "spec.topology.adopt", {"ownerUID": "0b4fd3f6-5d2f-4f0c-9d3f-3f0a5a4a0f11"}),
    deployment(),
    clone_set(),
    template_of("advancedStatefulSetTemplate"),
    changed(deployment(), "spec.topology", ...),
    changed(clone_set(), ADAPTIVE, RESERVING),
    changed(subsets({"minReplicas": 1}, {}), "spec.topology.scheduleStrategy", {"type": "Adaptive"}),
    manifest(updateStrategy={"type": ""}),
    changed(manifest(), "spec.topology.scheduleStrategy", {"type": "", "adaptive": {}}),
    changed(manifest(), "spec.topology.maxUnavailable", "100%"),
    disjoint({"maxReplicas": 3}, {"minReplicas": "10%"}),
    disjoint({"replicas": 100}, {}, replicas=200),
    subsets({"minReplicas": 1}, {"minReplicas": 1}, {}, replicas=1),
    subsets({"minReplicas": 9, "maxReplicas": 9}, {"minReplicas": 9}),
    patched({}),
    patched({"metadata": {"annotations": {"zone": "a"}}, "spec": {"containers": [{"name": "app", "image": "app:2"}]}}),
    patched({"spec": {"nodeSelector": {"a": "b"}, "hostname": None}}),
    patched({"spec": {"updateStrategy": None, "minReadySeconds": 3}}),
    patched({"metadata": {"labels": {"tier": "front"}}, "spec": {"template": {"spec": {"priority": 1}}}}),
    overridden({"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "app:2"}),
    overridden({"op": "add", "path": "/metadata/annotations/a~1b", "value": "c"}),
    overridden({"op": "add", "path": "/spec/template/spec/priority", "value": None}),
    overridden({"op": "move", "from": "/spec/serviceName", "path": "/spec/other"}),
    changed(
        overridden({"op": "replace", "path": "/spec/template/spec/tolerations/0/key", "value": "k"}),
        "spec.topology.subsets.0.tolerations",
        [{"key": "zone", "operator": "Exists"}],
    ),
    subsets({"adopt": {"name": "web"}}, {"adopt": {"name": "web"}, "targetCluster": {"name": "m"}}),
    annotated(names.ANNOTATION_RECREATE, "true"),
    annotated(names.ANNOTATION_IGNORE_DIFFERENCES, "spec.replicas, metadata.labels"),
    # A selector in the template, as in examples of OpenKruise, has no effect.
    changed(manifest(), f"{ROOT}.selector", {"matchLabels": {"app": "x"}}),
    manifest(),
    changed(manifest(), "spec.topology", ...),
    subsets({"replicas": 1}, {}),
    subsets({"replicas": 1}, {"replicas": "90%"}),
    subsets({"replicas": "71%"}, {"replicas": "29%"}),
    subsets({"replicas": "50%"}, {"replicas": "50%"}, replicas=3),
    subsets({"replicas": "33%"}, {"replicas": "33%"}, {"replicas": "34%"}),
    subsets({"replicas": "100%"}, {}),
    subsets({"replicas": "5%"}, {}),
    subsets({"minReplicas": 1, "maxReplicas": 2}, {"minReplicas": "10%"}, {}),
    subsets({"weight": 1, "maxReplicas": 2}, {"weight": 3, "maxReplicas": 4}),
    changed(subsets({"replicas": 3}, {"replicas": 2}), "spec.replicas", ...),
    manifest(updateStrategy={"manualUpdate": {"partitions": {"a": "50%"}, "partition": "100%"}}),
    subsets({"tolerations": [{"operator": "Exists"}, {"key": "k", "effect": "NoExecute", "tolerationSeconds": 3}]}),
    subsets({"clusterTolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -3}]}),
    changed(manifest(), "spec.topology.tolerations", [{"key": "k", "value": "v"}]),
    manifest(failover={"gracePeriod": "Never", "statefulSets": "Allowed", "failback": "Immediate"}),
    manifest(failover={"gracePeriod": "1h30m"}),
    subsets({"nodeSelectorTerm": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}}),
    subsets({"nodeSelectorTerm": {"matchExpressions": [{"key": "cpus", "operator": "Gt", "values": ["4"]}]}}),
]

TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]}

AB, A = ({"topology": {"subsets": [{"name": name} for name in letters]}} for letters in ("ab", "a"))
"""Two subsets, and the first of them."""
# Changes that break a rule in a part that CEL does not check: rule, old object, new object
CHANGES_BEYOND_CEL: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("nodes-immutable", subsets({"nodeSelectorTerm": TERM}), subsets({})),
    ("nodes-immutable", subsets({}), subsets({"nodeSelectorTerm": TERM})),
    ("nodes-immutable", subsets({"tolerations": [{"operator": "Exists"}]}), subsets({})),
]
# rule, old object, new object
FORBIDDEN_CHANGES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "selector-immutable",
        manifest(),
        manifest(selector={"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
    ),
    *CHANGES_BEYOND_CEL,
    (
        "nodes-immutable",
        subsets({"nodeSelectorTerm": TERM}),
        subsets({"nodeSelectorTerm": {"matchExpressions": [{"key": "other", "operator": "Exists"}]}}),
    ),
    (
        "nodes-immutable",
        subsets({"tolerations": [{"key": "a", "operator": "Exists"}]}),
        subsets({"tolerations": [{"key": "b", "operator": "Exists"}]}),
    ),
    *(
        (
            rule_name,
            manifest(**AB, updateStrategy={"manualUpdate": {field: old}}),
            manifest(**A, updateStrategy={"manualUpdate": {field: new}}),
        )
        for rule_name, field, old, new in (
            ("partitions-name-subsets", "partitions", {"b": 1}, {"b": 1, "c": 1}),
            ("max-updated-names-subsets", "maxUpdated", {"b": 1}, {"b": 1, "c": 1}),
            ("revert-names-subsets", "revert", ["b"], ["b", "c"]),
        )
    ),
    ("shares-within-total", subsets({}, {}), subsets({"replicas": 11}, {})),
    ("workload-immutable", manifest(), changed(manifest(), f"{ROOT}.serviceName", "web")),
    ("workload-immutable", manifest(), changed(manifest(), f"{ROOT}.podManagementPolicy", "Parallel")),
    (
        "workload-immutable",
        manifest(),
        changed(manifest(), f"{ROOT}.volumeClaimTemplates", [{"metadata": {"name": "d"}}]),
    ),
    ("workload-immutable", manifest(), subsets({"patch": {"spec": {"serviceName": "a"}}}, {})),
    ("workload-immutable", manifest(), overridden()),
    ("ordinals-immutable", manifest(), disjoint({}, {})),
    ("ordinals-immutable", disjoint({}, {}), manifest()),
    ("ordinals-immutable", disjoint({}, {}), changed(disjoint({}, {}), "spec.topology.ordinalBlock", 101)),
    ("ordinals-immutable", disjoint({}, {}), disjoint({}, {"maxReplicas": 4})),
    ("ordinals-immutable", disjoint({"maxReplicas": 5}, {}), disjoint({"maxReplicas": 6}, {})),
    ("ordinals-order-immutable", disjoint({}, {}), disjoint({"name": "b"}, {"name": "a"})),
    ("ordinals-order-immutable", disjoint({}, {}), disjoint({"name": "new"}, {"name": "a"}, {"name": "b"})),
    ("shares-reach-total", subsets({}, {}), subsets({"replicas": 1}, {"replicas": 1})),
]

ALLOWED_CHANGES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (subsets({"nodeSelectorTerm": TERM}), subsets({"nodeSelectorTerm": TERM}, {})),
    (subsets({}, {}), subsets({})),
    (manifest(), manifest(replicas=3)),
    (manifest(), deployment()),
    (disjoint({}, {}, {}), disjoint({}, {"name": "c"}, {"name": "new"})),
    (manifest(), changed(manifest(), f"{ROOT}.podManagementPolicy", "OrderedReady")),
    (manifest(), changed(manifest(), f"{ROOT}.minReadySeconds", 3)),
    (manifest(), changed(annotated(names.ANNOTATION_RECREATE, "true"), f"{ROOT}.serviceName", "web")),
    (deployment(), changed(deployment(), f"{DEPLOYMENT}.progressDeadlineSeconds", 3)),
    (clone_set(), changed(clone_set(), f"{CLONE_SET}.volumeClaimTemplates", [])),
    # In another cluster, the subset gets a new workload.
    (manifest(), subsets({"targetCluster": {"name": "m"}, "patch": {"spec": {"serviceName": "a"}}}, {})),
    # A subset goes in one edit, with its entries in manualUpdate or without.
    *(
        (manifest(**AB, **manual), manifest(**A, **manual))
        for manual in (
            {"updateStrategy": {"manualUpdate": {"partitions": {"a": 1, "b": 1}}}},
            {"updateStrategy": {"manualUpdate": {"maxUpdated": {"a": 1, "b": 1}}}},
            {"updateStrategy": {"manualUpdate": {"revert": ["a", "b"]}}},
        )
    ),
    (
        manifest(**AB, updateStrategy={"manualUpdate": {"partitions": {"a": 1}}}),
        manifest(**A, updateStrategy={"manualUpdate": {"partitions": {"a": 2, "b": 2}}}),
    ),
    # kubectl scale and autoscalers change only the total, so that the shares do not fit any more.
    (subsets({"replicas": 4}, {"replicas": 6}), subsets({"replicas": 4}, {"replicas": 6}, replicas=3)),
    (subsets({"replicas": 4}, {"replicas": 6}), subsets({"replicas": 4}, {"replicas": 6}, replicas=30)),
]
