"""Which subsets have volumes of their own, which no pod elsewhere can have."""

from typing import Any

import pytest

from tests.support import planning as make
from uniteddeployment.planning.replicas.failover import _own_volumes

CLAIM = {"metadata": {"name": "data"}}
VOLUMES = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}


def owns(kind: str = "statefulSetTemplate", spec: Any = None, **subset: Any) -> bool:
    document = make.manifest(kind=kind, shares={"member-1": subset})
    template = document["spec"]["template"][kind]["spec"]
    template.update(spec or {})
    app = make.application(document)
    return _own_volumes(app, app.subsets["member-1"])


@pytest.mark.parametrize(
    ("spec", "subset", "own"),
    [
        ({}, {}, False),
        ({"volumeClaimTemplates": [CLAIM]}, {}, True),
        ({"volumeClaimTemplates": []}, {}, False),
        ({}, {"overrides": [{"op": "add", "path": "/spec/volumeClaimTemplates", "value": [CLAIM]}]}, True),
        ({}, {"overrides": [{"op": "add", "path": "/spec/minReadySeconds", "value": 3}]}, False),
        ({}, {"patch": {"spec": {"template": {"spec": VOLUMES}}}}, True),
    ],
)
def test_claims_make_volumes_of_a_subset_its_own_wherever_they_are_written(spec: Any, subset: Any, own: bool) -> None:
    assert owns(spec=spec, **subset) is own


def test_the_claims_in_the_pods_of_a_deployment_are_made_by_users() -> None:
    assert not owns("deploymentTemplate", patch={"spec": VOLUMES})
    assert not owns("cloneSetTemplate", patch={"spec": VOLUMES})
