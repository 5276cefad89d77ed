"""Names of applications and namespaces on the command line."""

import pytest

from uniteddeployment.cli.arguments import application_name, application_names, namespace_name
from uniteddeployment.cli.errors import USAGE, CommandError


@pytest.mark.parametrize(
    "text",
    [
        "web",
        "ud/web",
        "UD/web",
        "uniteddeployment/web",
        "uniteddeployments/web",
        "uniteddeployment.uniteddeployment.io/web",
        "uniteddeployments.uniteddeployment.io/web",
        "uniteddeployments.v1alpha1.uniteddeployment.io/web",
    ],
)
def test_a_name_may_be_given_as_kubectl_prints_it(text: str) -> None:
    assert application_name(text) == "web"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sts/web", "is not a UnitedDeployment"),
        ("a/b/web", "is not a UnitedDeployment"),
        ("../web", "is not a UnitedDeployment"),
        ("/web", "is not a UnitedDeployment"),
        ("ud/", "is not a valid name"),
        ("", "is not a valid name"),
        ("..", "is not a valid name"),
        ("We%2fb", "is not a valid name"),
        ("web\x1b[31m", "is not a valid name"),
        ("-web", "is not a valid name"),
        ("w" * 254, "is not a valid name"),
    ],
)
def test_everything_else_is_wrong_usage(text: str, said: str) -> None:
    """I11: nothing but a name reaches the path of a request."""
    with pytest.raises(CommandError, match=said) as caught:
        application_name(text)
    assert caught.value.code == USAGE


def test_a_name_that_is_given_twice_counts_once() -> None:
    assert application_names(["b", "ud/a", "a"]) == ("b", "a")


@pytest.mark.parametrize("text", ["a/b", "..", "A", "a b", "a" * 64, "a.b"])
def test_what_cannot_be_a_namespace_is_wrong_usage(text: str) -> None:
    with pytest.raises(CommandError, match="is not a valid namespace"):
        namespace_name(text)
    assert namespace_name("a-1") == "a-1"
