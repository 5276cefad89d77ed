"""Which functions are particular to which kind."""

from uniteddeployment.embedded.builtin.strategy import Rules

_NONE = Rules()

_RULES: dict[str, Rules] = {
    "core.v1.Node": Rules(keeps_status=True),
    "apps.v1.Deployment": Rules(labels_with_status=False),
}


def rules_of(definition: str) -> Rules:
    """The rules of a kind, by its definition."""
    return _RULES.get(".".join(definition.split(".")[-3:]), _NONE)
