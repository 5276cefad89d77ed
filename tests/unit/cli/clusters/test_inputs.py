"""Names, labels and namespaces of ``ud clusters``."""

import pytest

from uniteddeployment.cli.clusters import inputs
from uniteddeployment.cli.errors import USAGE, CommandError


@pytest.mark.parametrize("text", ["m", "udc/m", "clusters/m", "cluster.uniteddeployment.io/m"])
def test_a_cluster_is_named_as_kubectl_prints_it(text: str) -> None:
    assert inputs.new_name(text) == "m"


@pytest.mark.parametrize("text", ["", "M", "a.b", "-a", "a" * 64, "ud/m", "a_b", "ä"])
def test_names_that_are_not_dns_labels_are_refused(text: str) -> None:
    with pytest.raises(CommandError) as refused:
        inputs.new_name(text)
    assert refused.value.code == USAGE


def test_labels_can_be_given_at_once_or_one_by_one() -> None:
    assert inputs.labels(["a=1,b.io/c=", "d=2"], "--labels") == {"a": "1", "b.io/c": "", "d": "2"}


@pytest.mark.parametrize("text", ["a", "=1", "a=b c", "a/b/c=1", "a=1,a=2", "a=" + "x" * 64])
def test_labels_that_no_object_can_have_are_refused(text: str) -> None:
    with pytest.raises(CommandError):
        inputs.labels([text], "--labels")


def test_namespaces_are_allowed_by_word_or_by_labels() -> None:
    assert inputs.allowed_namespaces("") is None
    assert inputs.allowed_namespaces("all") == {"from": "All", "selector": None}
    assert inputs.allowed_namespaces("selector=a=1,b=2") == {
        "from": "Selector",
        "selector": {"matchLabels": {"a": "1", "b": "2"}},
    }
    for text in ("All", "selector", "selector=", "selector=x"):
        with pytest.raises(CommandError):
            inputs.allowed_namespaces(text)


@pytest.mark.parametrize("text", ["", "a", "a/", "/b", "a/B", "a/b/c"])
def test_an_account_has_a_namespace_and_a_name(text: str) -> None:
    assert inputs.account("a/b.c") == ("a", "b.c")
    with pytest.raises(CommandError):
        inputs.account(text)


def test_an_unknown_name_is_answered_with_the_nearest_ones() -> None:
    assert inputs.nearest("membr-1", ["member-1", "x", "y", "z"]) == "; did you mean member-1?"
    assert inputs.nearest("q", ["x", "y"]) == "; there is x, y"
    assert inputs.nearest("q", ["w", "x", "y", "z"]) == ""
    assert inputs.nearest("q", []) == ""
