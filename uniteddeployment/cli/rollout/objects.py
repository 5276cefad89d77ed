"""UnitedRollouts as the commands read them."""

from collections.abc import Mapping, Sequence
from typing import Any

from uniteddeployment.cli.arguments import ROLLOUT
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.controller.served import check_served
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import NotFound
from uniteddeployment_rollout.loop.objects import UNITED_ROLLOUTS, StoredRollout


async def read(client: Client, namespace: str, name: str) -> StoredRollout:
    """Get a UnitedRollout. Raises CommandError if there is none, and StartError if its kind is not served."""
    try:
        return await client.get(UNITED_ROLLOUTS, name, StoredRollout, namespace=namespace)
    except NotFound as error:
        if "name" not in error.details:  # it is not the object that is missing
            await check_served(client, namespace)
        raise CommandError(f"{error.message} (namespace {namespace}); ud rollout list -A shows all of them") from None


def title(name: str) -> str:
    """The rollout as kubectl prints it."""
    return f"{ROLLOUT.title}/{name}"


def observed(rollout: StoredRollout) -> bool:
    """Whether the status describes the present spec."""
    return bool(rollout.status.get("observedGeneration") == rollout.metadata.generation)


def phase(rollout: StoredRollout) -> str:
    """The phase, if the status describes the present spec."""
    known: str = rollout.status.get("phase", "")
    return known if known and observed(rollout) else "Unknown"


def message(rollout: StoredRollout) -> str:
    """What the rollout does or waits for."""
    if observed(rollout):
        return str(rollout.status.get("message", ""))
    return f"the rollout controller has not observed generation {rollout.metadata.generation} of the spec yet"


def condition(rollout: StoredRollout, type_: str) -> Mapping[str, Any]:
    """A condition of the status; empty if there is none."""
    conditions: Sequence[Mapping[str, Any]] = rollout.status.get("conditions") or ()
    return next((entry for entry in conditions if entry["type"] == type_), {})


def ends_by_itself(rollout: StoredRollout) -> bool:
    """Whether time or pods end the present state. A pause without a duration needs somebody."""
    return bool(condition(rollout, "Reconciling").get("status") == "True")


def waits_for_approval(rollout: StoredRollout) -> bool:
    """Whether the command ``approve`` is what the rollout waits for."""
    at_pause = phase(rollout) == "Paused" and condition(rollout, "Ready").get("reason") == "StepPaused"
    return at_pause and not ends_by_itself(rollout)
