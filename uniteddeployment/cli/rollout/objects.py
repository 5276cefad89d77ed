"""UnitedRollouts as the commands read them."""

from typing import Any

from uniteddeployment.cli.errors import CommandError
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment_api import names
from uniteddeployment_rollout.loop.objects import UNITED_ROLLOUTS, StoredRollout

TITLE = f"{names.UNITED_ROLLOUT_PLURAL}.{names.GROUP}"
"""The resource as kubectl prints it."""


async def read(client: Client, namespace: str, name: str) -> StoredRollout:
    """Get a UnitedRollout. Raises CommandError if there is none."""
    try:
        return await client.get(UNITED_ROLLOUTS, name, StoredRollout, namespace=namespace)
    except NotFound as error:
        raise CommandError(f"{error.message} (namespace {namespace})") from None


def document(rollout: StoredRollout) -> dict[str, Any]:
    """The object with the fields that matter to people."""
    meta = rollout.metadata
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.UNITED_ROLLOUT_KIND,
        "metadata": {"name": meta.name, "namespace": meta.namespace, "generation": meta.generation},
        "spec": rollout.spec,
        "status": rollout.status,
    }
