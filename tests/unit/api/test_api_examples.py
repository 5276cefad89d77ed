"""The examples in docstrings of the API package are true."""

import doctest
import importlib
import pkgutil

import pytest

import uniteddeployment_api

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(uniteddeployment_api.__path__, f"{uniteddeployment_api.__name__}.")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_some_module_has_examples() -> None:
    """A walk that finds nothing would pass the test above."""
    assert doctest.testmod(importlib.import_module("uniteddeployment_api.int_or_percent")).attempted
