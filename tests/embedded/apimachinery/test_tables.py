"""Tables: rows of cells for lists, single objects and errors."""

import pytest

from tests.embedded.cluster_kit import CONFIGMAPS, PODS, Api, definition, pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def test_a_list_becomes_rows_with_the_metadata_of_their_objects() -> None:
    api = Api()
    api.create(PODS, pod("p"))
    api.clock.advance(90)
    table = api.get(PODS, accept=TABLE)
    assert [column["name"] for column in table["columnDefinitions"][:5]] == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
    ]
    (row,) = table["rows"]
    assert row["cells"][:5] == ["p", "0/1", "Pending", "0", "90s"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert table["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    ("include", "kind"), [("Object", "ConfigMap"), ("Metadata", "PartialObjectMetadata"), ("None", "")]
)
def test_rows_include_what_is_asked_for(include: str, kind: str) -> None:
    api = Api()
    api.configmap("a")
    row = api.get(f"{CONFIGMAPS}?includeObject={include}", accept=TABLE)["rows"][0]
    assert (row["object"] or {"kind": ""})["kind"] == kind


def test_invalid_values_of_include_object_are_refused() -> None:
    assert Api().ask("GET", f"{CONFIGMAPS}?includeObject=Wrong", accept=TABLE).status == 400


def test_created_objects_and_pages_are_tables_too() -> None:
    api = Api()
    created = api.json("POST", CONFIGMAPS, {"metadata": {"name": "a"}}, accept=TABLE, status=201)
    assert created["rows"][0]["cells"][0] == "a"
    api.configmap("b")
    page = api.get(f"{CONFIGMAPS}?limit=1", accept=TABLE)
    assert page["metadata"]["remainingItemCount"] == 1
    assert len(page["rows"]) == 1


def test_errors_stay_statuses() -> None:
    assert Api().json("GET", f"{CONFIGMAPS}/none", accept=TABLE, status=404)["kind"] == "Status"


def test_custom_resources_have_the_columns_of_their_definition() -> None:
    api = Api(controllers=True)
    columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(additionalPrinterColumns=columns))
    api.clock.advance(1)
    things = "/apis/example.com/v1/namespaces/default/things"
    api.create(
        things, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"size": 4}}
    )
    table = api.get(things, accept=TABLE)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"]
    assert table["rows"][0]["cells"] == ["t", 4]
