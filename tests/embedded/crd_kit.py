"""Definitions for tests: the kind ``Thing`` with any schema."""

from copy import deepcopy
from typing import Any

from uniteddeployment.embedded.apimachinery.resources import Obj, Resource
from uniteddeployment.embedded.crd.custom import CustomStrategy, resources_of
from uniteddeployment.embedded.crd.definition.strategy import DefinitionStrategy

Json = dict[str, Any]


def definition(spec_schema: Json | None = None, **version: Any) -> Obj:
    """A definition whose ``spec`` has the given schema; keyword arguments go into its only version."""
    root = {"type": "object", "properties": {"spec": spec_schema or {"type": "object"}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}, **version}
            ],
        },
    }


def established(crd: Obj) -> Obj:
    """The definition in its established state."""
    made = deepcopy(crd)
    made["status"] = {
        "acceptedNames": made["spec"]["names"],
        "conditions": [{"type": "Established", "status": "True"}],
        "storedVersions": ["v1"],
    }
    return made


def resource(spec_schema: Json | None = None, **version: Any) -> Resource:
    """The resource of :func:`definition`."""
    return resources_of(established(definition(spec_schema, **version)))[0]


def strategy(spec_schema: Json | None = None, **version: Any) -> CustomStrategy:
    """Its strategy."""
    made = resource(spec_schema, **version).strategy
    assert isinstance(made, CustomStrategy)
    return made


def thing(spec: Any, **fields: Any) -> Obj:
    """A Thing."""
    metadata = {"name": "t", "namespace": "ns"}
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, "spec": spec, **fields}


def decoded(made: CustomStrategy, obj: Obj) -> tuple[list[str], Obj]:
    """The errors of strict decoding, and the decoded object with its defaults."""
    obj = deepcopy(obj)
    unknown = list(made.conform(obj))
    made.default(obj)
    return unknown, obj


def problems(made: CustomStrategy, spec: Any, old: Any = None) -> list[str]:
    """The validation errors of a Thing with that spec, or of its update."""
    obj = decoded(made, thing(spec))[1]
    before = None if old is None else decoded(made, thing(old))[1]
    causes = made.validate_create(obj) if before is None else made.validate_update(obj, before, "")
    return [f"{cause.field}: {cause.message}" for cause in causes]


def refusals(crd: Obj, old: Obj | None = None) -> list[str]:
    """The validation errors of a definition."""
    made = DefinitionStrategy()
    obj = deepcopy(crd)
    made.conform(obj)
    made.default(obj)
    if old is None:
        made.prepare_create(obj)
        causes = made.validate_create(obj)
    else:
        made.prepare_update(obj, old, "")
        causes = made.validate_update(obj, old, "")
    return [f"{cause.field}: {cause.message}" for cause in causes]
