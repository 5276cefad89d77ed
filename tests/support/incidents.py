"""What happens to the members of a world, beyond the faults of their connections."""

import base64
from datetime import timedelta

from tests.support import rights
from tests.support.world import MemberClock, World
from uniteddeployment.embedded.cluster import Cluster

MERGE = "application/merge-patch+json"


def refuse(world: World, member: str) -> None:
    """A member accepts another token only, and the Secret on the host still has the former one."""
    tokens = world.members[member].tokens
    accepted = _accepted(world, member)
    tokens[f"{accepted}+"] = tokens.pop(accepted)


def renew(world: World, member: str) -> None:
    """The Secret gets the token that the member accepts."""
    data = {"token": base64.b64encode(_accepted(world, member).encode()).decode()}
    path = f"/api/v1/namespaces/default/secrets/{member}-credentials"
    world.request(world.host, "PATCH", path, {"data": data}, content_type=MERGE)


def _accepted(world: World, member: str) -> str:
    return next(token for token in world.members[member].tokens if token.startswith(rights.TOKEN))


def stop_nodes(world: World, member: str, *, stopped: bool = True) -> None:
    """The agents of all nodes of a member stop, or go on."""
    note = {"metadata": {"annotations": {"embedded/agent": "stopped" if stopped else "running"}}}
    for node in world.members[member].access.list("nodes"):
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        world.request(world.members[member], "PATCH", path, note, content_type=MERGE)


def set_clock(world: World, member: str, *, hours: float) -> None:
    """The clock of a member is ahead by some hours."""
    clock = world.members[member].clock
    assert isinstance(clock, MemberClock)
    clock.ahead = timedelta(hours=hours)


def replace(world: World, member: str) -> Cluster:
    """A new and empty cluster answers at the address of a member from now on. Return the former one."""
    former, new = world.members[member], world.made(member, next(world.other_uids))
    world.asked[f"{member}, replaced"] = rights.Asked(new, "member")
    new.start()
    answer_instead(world, member, former, new)
    return former


def answer_instead(world: World, member: str, former: Cluster, new: Cluster) -> None:
    """Let a cluster answer at the address of a former one, whose connections break."""
    world.members[member] = new
    former.faults.set(cut_off=True)
    new.faults.clear()
