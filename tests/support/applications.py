"""Applications for end-to-end tests: a manifest of either kind over three members, and what to change in it."""

from typing import Any

STATEFUL_SET, DEPLOYMENT = "statefulSetTemplate", "deploymentTemplate"
KINDS = {STATEFUL_SET: "sts", DEPLOYMENT: "deploy"}
"""The template's name, and how kubectl calls what becomes of it."""


def application(
    kind: str = STATEFUL_SET, *, image: str = "app:1", replicas: int = 8, **partitions: int
) -> dict[str, Any]:
    """8 replicas are 4, 2 and 2; partitions are given as ``member_1=2``."""
    template: dict[str, Any] = {
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "image": image}]},
        }
    }
    if kind == STATEFUL_SET:
        template["serviceName"] = "web"
    shares: dict[str, Any] = {"member-1": "50%", "member-2": "25%", "member-3": None}
    subsets = [
        {"name": name, "targetCluster": {"name": name}, **({"replicas": share} if share else {})}
        for name, share in shares.items()
    ]
    return {
        "apiVersion": "uniteddeployment.io/v1alpha1",
        "kind": "UnitedDeployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {kind: {"spec": template}},
            "topology": {"subsets": subsets},
            "updateStrategy": {
                "manualUpdate": {"partitions": {name.replace("_", "-"): held for name, held in partitions.items()}}
            },
        },
    }
