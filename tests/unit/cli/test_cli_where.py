"""How applications and namespaces are named on the command line."""

import pytest

from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.cli.where import application, applications, checked_namespace


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
    assert application(text) == "web"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sts/web", "does not name a UnitedDeployment"),
        ("a/b/web", "does not name a UnitedDeployment"),
        ("../web", "does not name a UnitedDeployment"),
        ("/web", "does not name a UnitedDeployment"),
        ("ud/", "cannot be the name"),
        ("", "cannot be the name"),
        ("..", "cannot be the name"),
        ("We%2fb", "cannot be the name"),
        ("web\x1b[31m", "cannot be the name"),
        ("-web", "cannot be the name"),
        ("w" * 254, "cannot be the name"),
    ],
)
def test_everything_else_is_wrong_usage(text: str, said: str) -> None:
    """I11: nothing but a name reaches the path of a request."""
    with pytest.raises(CommandError, match=said) as caught:
        application(text)
    assert caught.value.code == USAGE


def test_a_name_that_is_given_twice_counts_once() -> None:
    assert applications(["b", "ud/a", "a"]) == ("b", "a")


@pytest.mark.parametrize("text", ["a/b", "..", "A", "a b", "a" * 64, "a.b"])
def test_what_cannot_be_a_namespace_is_wrong_usage(text: str) -> None:
    with pytest.raises(CommandError, match="cannot be a namespace"):
        checked_namespace(text)
    assert checked_namespace("a-1") == "a-1"
