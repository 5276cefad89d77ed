"""The examples in docstrings are true."""

import doctest
import importlib
import pkgutil
from types import ModuleType

import pytest

import uniteddeployment.controller
import uniteddeployment.fleet
import uniteddeployment.kube
import uniteddeployment.planning
import uniteddeployment_api
import uniteddeployment_rollout

PACKAGES: tuple[ModuleType, ...] = (
    uniteddeployment_api,
    uniteddeployment.planning,
    uniteddeployment.fleet,
    uniteddeployment.controller,
    uniteddeployment.kube,
    uniteddeployment_rollout,
)
MODULES = sorted(
    module.name
    for package in PACKAGES
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.ispkg
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize(
    "name",
    [
        "uniteddeployment_api.int_or_percent",
        "uniteddeployment.kube.versions",
        "uniteddeployment.planning.kinds.moves",
        "uniteddeployment.planning.kinds.places",
        "uniteddeployment.planning.replicas.adaptive",
        "uniteddeployment.planning.replicas.allocate",
        "uniteddeployment.planning.replicas.divide",
        "uniteddeployment.planning.replicas.ordinals",
        "uniteddeployment.planning.replicas.shares",
        "uniteddeployment.planning.replicas.slots",
        "uniteddeployment_rollout.partitions",
    ],
)
def test_modules_with_examples_are_among_them(name: str) -> None:
    """A walk that finds nothing would pass the test above."""
    assert name in MODULES
    assert doctest.testmod(importlib.import_module(name)).attempted
