"""CustomResourceDefinitions, generated from the models: structural schemas, CEL rules, printer columns, subresources.

pydantic generates a JSON schema. :func:`_structural` converts it to a structural schema: it inlines references, removes
titles, and maps Optional to "not required" and int-or-string to its extension. Defaults of whole objects, keys of list
maps, and rules are then added by path. ``config/crd/crds.yaml`` is the output of :func:`to_yaml`.
"""

import copy
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from pydantic import BaseModel

from uniteddeployment_api.names import (
    API_VERSION,
    CLUSTER_KIND,
    CLUSTER_PLURAL,
    GATE_TEMPLATE_KIND,
    GATE_TEMPLATE_PLURAL,
    GROUP,
    UNITED_DEPLOYMENT_KIND,
    UNITED_ROLLOUT_KIND,
    UNITED_ROLLOUT_PLURAL,
    VERSION,
)
from uniteddeployment_api.names import UNITED_DEPLOYMENT_PLURAL as UD_PLURAL
from uniteddeployment_api.rules import RULES, Rule
from uniteddeployment_api.v1alpha1.cluster import Cluster
from uniteddeployment_api.v1alpha1.gates import GateTemplate
from uniteddeployment_api.v1alpha1.rollout import UnitedRollout
from uniteddeployment_api.v1alpha1.uniteddeployment import UnitedDeployment

Schema = dict[str, Any]

_KEPT_KEYWORDS: Final = (
    "description",
    "type",
    "format",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "required",
    "default",
    "nullable",
)

_OVERLAYS: Final[Mapping[str, Mapping[str, Schema]]] = {
    UNITED_DEPLOYMENT_KIND: {
        # Rules rely on these defaults. A default must satisfy the rules without the defaults of the fields inside it.
        "spec.topology": {"default": {"subsets": [], "ordinals": "Shared"}},
        "spec.topology.subsets": {
            "default": [],
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "spec.topology.scheduleStrategy": {"default": {}},
        "spec.topology.subsets[].overrides": {"x-kubernetes-list-type": "atomic"},
        "spec.updateStrategy": {"default": {}},
        "spec.topology.clusterRegistry.namespaces": {"x-kubernetes-list-type": "set"},
        "spec.selector": {"x-kubernetes-map-type": "atomic"},
        # One writer replaces the status as a whole. Owners of its single fields would be stored, and read and compared
        # on every write of an application.
        "status": {"x-kubernetes-map-type": "atomic"},
    },
    CLUSTER_KIND: {
        "spec.taints": {"x-kubernetes-list-type": "atomic"},
        "spec.allowedNamespaces": {"default": {"from": "Same"}},
        "spec.allowedNamespaces.selector": {"x-kubernetes-map-type": "atomic"},
        "status.conditions": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        "status.taints": {"x-kubernetes-list-type": "atomic"},
    },
    UNITED_ROLLOUT_KIND: {
        "spec.steps": {"x-kubernetes-list-type": "atomic"},
        "spec.steps[].wave.subsets": {"x-kubernetes-list-type": "set"},
        "spec.notifications": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "spec.notifications[].events": {"x-kubernetes-list-type": "set"},
        "status.conditions": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        "status.subsets": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "status.history": {"x-kubernetes-list-type": "atomic"},
        "status.notifications": {"x-kubernetes-list-type": "atomic"},
        "status.answers": {"x-kubernetes-list-type": "atomic"},
        "status.gates": {"x-kubernetes-list-type": "atomic"},
    },
    GATE_TEMPLATE_KIND: {
        "spec.args": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    },
}


def custom_resource_definitions() -> list[dict[str, Any]]:
    """Return the CRDs of the group in the form that an API server accepts. The caller may change them."""
    return copy.deepcopy(_definitions())


@cache
def _definitions() -> list[dict[str, Any]]:
    """Derive the CRDs from the models, which takes forty times as long as to copy them."""
    ready = '.status.conditions[?(@.type=="Ready")].reason'
    united_deployment = _definition(
        UnitedDeployment,
        {"kind": UNITED_DEPLOYMENT_KIND, "plural": UD_PLURAL, "singular": "uniteddeployment", "shortNames": ["ud"]},
        columns=[
            _column("Desired", "integer", ".spec.replicas", "Desired number of pods"),
            _column("Ready", "integer", ".status.readyReplicas", "Number of ready pods"),
            _column("Updated", "integer", ".status.updatedReplicas", "Number of pods at the updated revision"),
            _column("Status", "string", ready, "State of the application at the observed generation"),
            # JSONPath cannot compare two fields, so the columns show both generations next to the state.
            _column("Generation", "integer", ".metadata.generation", "Generation of the spec"),
            _column(
                "Observed", "integer", ".status.observedGeneration", "Generation of the spec that the status describes"
            ),
            _column("Current", "integer", ".status.replicas", "Number of pods that exist", priority=1),
            _column("Revision", "string", ".status.updatedRevision", "Target revision", priority=1),
            _column("Age", "date", ".metadata.creationTimestamp"),
        ],
    )
    united_deployment["spec"]["versions"][0]["subresources"]["scale"] = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.labelSelector",
    }
    cluster = _definition(
        Cluster,
        {"kind": CLUSTER_KIND, "plural": CLUSTER_PLURAL, "singular": "cluster", "shortNames": ["udc"]},
        columns=[
            _column("Phase", "string", ".status.phase", "Phase of the cluster"),
            _column("Reason", "string", ready, "Reason of the condition Ready"),
            _column("Version", "string", ".status.kubernetesVersion", "Version of the API server"),
            _column("Nodes", "integer", ".status.nodes", "Number of nodes"),
            _column(
                "Last Contact", "date", ".status.lastContactTime", "Age of the last good answer; empty while it is well"
            ),
            _column("Taints", "string", ".status.taints", "Taints in effect", priority=1),
            _column("Server", "string", ".spec.server", "URL of the API server", priority=1),
            _column("Age", "date", ".metadata.creationTimestamp"),
        ],
    )
    return [cluster, _gate_template(), united_deployment, _united_rollout()]


def _gate_template() -> dict[str, Any]:
    return _definition(
        GateTemplate,
        {"kind": GATE_TEMPLATE_KIND, "plural": GATE_TEMPLATE_PLURAL, "singular": "gatetemplate", "shortNames": ["ugt"]},
        columns=[
            _column("Count", "integer", ".spec.count", "Number of measurements"),
            _column("Interval", "string", ".spec.interval", "Time between two measurements"),
            _column("Age", "date", ".metadata.creationTimestamp"),
        ],
    )


def _united_rollout() -> dict[str, Any]:
    return _definition(
        UnitedRollout,
        {
            "kind": UNITED_ROLLOUT_KIND,
            "plural": UNITED_ROLLOUT_PLURAL,
            "singular": "unitedrollout",
            "shortNames": ["uro"],
        },
        columns=[
            _column("Target", "string", ".spec.targetRef.name", "The UnitedDeployment"),
            _column("Phase", "string", ".status.phase", "How the rollout is doing"),
            _column("Step", "integer", ".status.step", "The present step"),
            _column("Steps", "integer", ".status.steps", "How many steps there are"),
            _column("Pods", "integer", ".status.replicas", "Pods of the target"),
            _column("Updated", "integer", ".status.updatedReplicas", "Pods at the update revision"),
            _column("Ready", "integer", ".status.updatedReadyReplicas", "Updated pods that are ready"),
            _column("Run", "string", ".status.runID", "The present run, for commands", priority=1),
            _column("Message", "string", ".status.message", "What it does or waits for", priority=1),
            _column("Age", "date", ".metadata.creationTimestamp"),
        ],
    )


def to_yaml() -> str:
    """Return the CRDs as YAML. The text is the same on every call."""
    import yaml  # noqa: PLC0415  only the generator needs it; importing the API stays cheap

    header = "# Generated from the models by `make generate`. Do not edit.\n"
    return header + yaml.safe_dump_all(
        custom_resource_definitions(), sort_keys=False, width=120, explicit_start=True, allow_unicode=True
    )


def schema_of(model: type[BaseModel]) -> Schema:
    """Return the structural schema of a kind, with its rules."""
    raw = model.model_json_schema(by_alias=True)
    kind = model.__name__
    structural = _structural(raw, raw.get("$defs", {}))
    properties = structural["properties"]
    properties["apiVersion"] = {"type": "string", "description": f"API version of the object: {API_VERSION}."}
    properties["kind"] = {"type": "string", "description": f"Kind of the object: {kind}."}
    properties["metadata"] = {"type": "object"}
    if "status" in properties:
        # The API server would add a default to every status update that omits the field.
        _drop_defaults(properties["status"])
    for path, extra in _OVERLAYS[kind].items():
        _node(structural, path).update(extra)
    for entry in RULES:
        if entry.kind == kind and entry.cel:
            _node(structural, entry.at).setdefault("x-kubernetes-validations", []).append(_validation(entry))
    return structural


def _definition(model: type[BaseModel], names: dict[str, Any], columns: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": names | {"listKind": f"{names['kind']}List"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema_of(model)},
                    "subresources": {"status": {}} if "status" in model.model_fields else {},
                    "additionalPrinterColumns": columns,
                }
            ],
        },
    }


def _column(name: str, kind: str, path: str, description: str = "", priority: int = 0) -> dict[str, Any]:
    column: dict[str, Any] = {"name": name, "type": kind, "jsonPath": path}
    if description:
        column["description"] = description
    if priority:
        column["priority"] = priority
    return column


def _validation(entry: Rule) -> dict[str, Any]:
    validation: dict[str, Any] = {"rule": entry.cel, "message": entry.message}
    if entry.field_path:
        validation["fieldPath"] = entry.field_path
    if entry.optional_old_self:
        validation["optionalOldSelf"] = True
    return validation


def _structural(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Schema:
    """Return ``schema`` as a structural schema. Raises ValueError if it has no structural form."""
    schema = _resolved(schema, defs)
    out: Schema = {key: schema[key] for key in _KEPT_KEYWORDS if key in schema}
    out.update({key: value for key, value in schema.items() if key.startswith("x-kubernetes-")})
    if "description" in out:
        out["description"] = " ".join(out["description"].split())
    if out.get("default", ...) in (None, "", [], {}) or isinstance(out.get("default"), dict):
        # An empty default means the same as an absent field, and would only be added to users' objects.
        del out["default"]
    if "const" in schema:
        out["enum"] = [schema["const"]]
    if schema.get("x-kubernetes-int-or-string"):
        out["anyOf"] = schema["anyOf"]
    elif "anyOf" in schema or "oneOf" in schema or "allOf" in schema:
        raise ValueError(f"a union has no structural schema: {schema}")
    if schema.get("properties"):
        out["properties"] = {name: _structural(value, defs) for name, value in schema["properties"].items()}
    elif (entry := _map_entry(schema)) is not None:
        out["additionalProperties"] = _structural(entry, defs)
    if "maxProperties" not in out and out.get("type") == "object" and "maxItems" in out:
        out["maxProperties"] = out.pop("maxItems")
    if "items" in schema:
        out["items"] = _structural(schema["items"], defs)
    return out


def _map_entry(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the schema of the values of a map. Structural schemas cannot constrain keys; the models do."""
    by_pattern = list(schema.get("patternProperties", {}).values())
    entry = by_pattern[0] if len(by_pattern) == 1 else schema.get("additionalProperties")
    return entry if isinstance(entry, Mapping) else None


def _resolved(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Resolve references and remove ``| None``. Keywords next to a reference take precedence."""
    while True:
        if "$ref" in schema:
            resolved = defs[schema["$ref"].rsplit("/", 1)[-1]]
            siblings = {key: value for key, value in schema.items() if key != "$ref"}
        elif "anyOf" in schema and {"type": "null"} in schema["anyOf"]:
            rest = [option for option in schema["anyOf"] if option != {"type": "null"}]
            resolved = rest[0] if len(rest) == 1 else {"anyOf": rest}
            siblings = {key: value for key, value in schema.items() if key != "anyOf"}
        else:
            return schema
        schema = {**resolved, **siblings}


def _drop_defaults(schema: Schema) -> None:
    for node in _nodes(schema):
        node.pop("default", None)


def _nodes(schema: Schema) -> Iterator[Schema]:
    yield schema
    for child in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(child, dict):
            yield from _nodes(child)


def _node(schema: Schema, path: str) -> Schema:
    """Return the schema node at a dotted path. ``[]`` after a name refers to the items of that list."""
    for step in path.split("."):
        schema = schema["properties"][step.removesuffix("[]")]
        if step.endswith("[]"):
            schema = schema["items"]
    return schema
