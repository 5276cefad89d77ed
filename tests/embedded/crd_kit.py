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
    created = deepcopy(crd)
    created["status"] = {
        "acceptedNames": created["spec"]["names"],
        "conditions": [{"type": "Established", "status": "True"}],
        "storedVersions": ["v1"],
    }
    return created


def resource(spec_schema: Json | None = None, **version: Any) -> Resource:
    """The resource of :func:`definition`."""
    return resources_of(established(definition(spec_schema, **version)))[0]


def strategy(spec_schema: Json | None = None, **version: Any) -> CustomStrategy:
    """Its strategy."""
    created = resource(spec_schema, **version).strategy
    assert isinstance(created, CustomStrategy)
    return created


def thing(spec: Any, **fields: Any) -> Obj:
    """A Thing."""
    metadata = {"name": "t", "namespace": "ns"}
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, "spec": spec, **fields}


def decoded(created: CustomStrategy, obj: Obj) -> tuple[list[str], Obj]:
    """The errors of strict decoding, and the decoded object with its defaults."""
    obj = deepcopy(obj)
    unknown = list(created.conform(obj))
    created.default(obj)
    return unknown, obj


def problems(created: CustomStrategy, spec: Any, old: Any = None) -> list[str]:
    """The validation errors of a Thing with that spec, or of its update."""
    obj = decoded(created, thing(spec))[1]
    before = None if old is None else decoded(created, thing(old))[1]
    causes = created.validate_create(obj) if before is None else created.validate_update(obj, before, "")
    return [f"{cause.field}: {cause.message}" for cause in causes]


def refusals(crd: Obj, old: Obj | None = None) -> list[str]:
    """The validation errors of a definition."""
    created = DefinitionStrategy()
    obj = deepcopy(crd)
    created.conform(obj)
    created.default(obj)
    if old is None:
        created.prepare_create(obj)
        causes = created.validate_create(obj)
    else:
        created.prepare_update(obj, old, "")
        causes = created.validate_update(obj, old, "")
    return [f"{cause.field}: {cause.message}" for cause in causes]
