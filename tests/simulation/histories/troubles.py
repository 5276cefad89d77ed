"""The faults that stories put into members, and how members recover from them."""

from contextlib import suppress
from typing import Any

from tests.simulation.histories.breach import Circumstances
from tests.simulation.histories.ledger import Ledger
from tests.simulation.histories.losses import Losses
from tests.simulation.histories.story import Fault, Flap, Incident, LoseOthers, Replace, SetClock
from tests.simulation.histories.tampering import change_cluster
from tests.support import incidents, kruise
from tests.support.world import CLUSTERS, World
from uniteddeployment.cli.clusters import changes
from uniteddeployment.embedded.cluster import Cluster
from uniteddeployment_api import names

NETWORK: dict[str, Any] = {"latency": 0.003, "jitter": 0.02, "slow_watch": 0.005}
"""Time passes between any two events, as on any network."""
FAULTS: dict[str, dict[str, Any]] = {
    "cut off": {"cut_off": True},
    "black hole": {"black_hole": True},
    "frozen": {"frozen": True},
    "server errors": {"error_rate": 1.0, "error_codes": (500, 503)},
    "refuses": {},
    "wrong authority": {},
    "slow": {"latency": 2.0, "slow_watch": 1.0},
    "late": {"latency": 2.0, "jitter": 0.0, "slow_watch": 0.0},
    "errors": {"error_rate": 0.4},
    "no ready nodes": {},
}
"""Fault -> the faults of its connections. A member that ``refuses`` accepts another token only, which its Secret gets
when the member recovers."""
DARK = ("cut off", "black hole", "frozen", "server errors", "refuses", "wrong authority")
"""A member with one of these answers nothing."""
FLAP_SECONDS = 20.0


class Troubles:
    """The faults of one world."""

    def __init__(self, world: World, ledger: Ledger, circumstances: Circumstances, losses: Losses) -> None:
        self._world = world
        self._ledger = ledger
        self.circumstances = circumstances
        self._losses = losses
        self._members = list(world.members)
        self._has: dict[str, str] = {}
        """Member -> its fault, if it has to be taken back beside those of its connections."""
        self._frozen_at: dict[str, int] = {}
        """Frozen member -> the generation that was observed then."""
        self._flaps: dict[str, object] = {}
        self._former: dict[str, Cluster] = {}
        """Member -> its cluster, while another one answers at its address."""

    def member(self, index: int) -> str:
        """A member by its index, modulo their number."""
        return self._members[index % len(self._members)]

    def calm(self) -> None:
        """Give all members a network without faults."""
        for cluster in self._world.clusters.values():
            cluster.faults.set(**NETWORK)

    def happen(self, incident: Incident) -> None:
        """Something happens to a member, or to all but one."""
        match incident:
            case Fault(member, what):
                self._harm(self.member(member), what)
            case LoseOthers(kept, what):
                for name in self._members:
                    if name != self.member(kept):
                        self._harm(name, what)
            case Flap(member, minutes):
                self._flap(self.member(member), minutes)
            case Replace(member, for_good):
                self._replace(self.member(member), for_good=for_good)
            case SetClock(member, hours):
                incidents.set_clock(self._world, self.member(member), hours=hours)

    def recover(self, index: int | None) -> None:
        """A member has no faults any more, or none has (None)."""
        for name in self._members if index is None else [self.member(index)]:
            self._recover(name)

    def drain(self, index: int, *, on: bool) -> None:
        """Drain a member, or uncordon it."""
        name = self.member(index)
        spec = (self._world.host.access.get(CLUSTERS, "default", name) or {}).get("spec")
        if spec is not None:
            change_cluster(self._world, name, **(changes.drain if on else changes.uncordon)(spec))

    def _harm(self, member: str, what: str) -> None:
        self._recover(member)
        self._has[member] = what
        faults = self._world.members[member].faults
        if what == "refuses":
            incidents.refuse(self._world, member)
        elif what == "wrong authority":
            self._world.untrusted.add(member)
            faults.set(cut_off=True)  # the server was started again with its new certificate
            faults.set(cut_off=False)
        elif what == "no ready nodes":
            incidents.stop_nodes(self._world, member)
        faults.set(**FAULTS[what])
        if what == "frozen":
            self._frozen_at[member] = self._ledger.observed
        if what in DARK:
            self._darken(member)
        else:
            (self.circumstances.unhealthy if what == "no ready nodes" else self.circumstances.slow).add(member)

    def _darken(self, member: str) -> None:
        self.circumstances.dark[member] = self._world.loop.time()
        self._losses.lost(member)

    def _recover(self, member: str) -> None:
        circumstances, what = self.circumstances, self._has.pop(member, "")
        self._flaps.pop(member, None)
        former = self._former.pop(member, None)
        if former is not None:
            self._return(member, former)
        elif member in self._ledger.foreign:
            self._register_again(member)
        if what == "refuses":
            incidents.renew(self._world, member)
        elif what == "no ready nodes":
            incidents.stop_nodes(self._world, member, stopped=False)
        self._world.untrusted.discard(member)
        if member in circumstances.in_trouble(self._world.loop.time()):
            circumstances.back[member] = self._world.loop.time()
        circumstances.dark.pop(member, None)
        circumstances.slow.discard(member)
        circumstances.unhealthy.discard(member)
        incidents.set_clock(self._world, member, hours=0)
        faults = self._world.members[member].faults
        self._ledger.resuming = self._frozen_at.pop(member, None)
        faults.clear()
        self._ledger.resuming = None
        faults.set(**NETWORK)

    # A member that comes and goes

    def _flap(self, member: str, minutes: int) -> None:
        self._recover(member)
        self.circumstances.slow.add(member)
        mark = self._flaps[member] = object()
        times = int(minutes * 60 / FLAP_SECONDS)

        def turn(left: int) -> None:
            if self._flaps.get(member) is not mark:
                return
            if not left:
                self._recover(member)
                return
            self._world.members[member].faults.set(cut_off=left % 2 == 0)
            self._world.loop.call_later(FLAP_SECONDS, turn, left - 1)

        turn(times - times % 2)

    # Another cluster at the address of a member

    def _replace(self, member: str, *, for_good: bool) -> None:
        self._recover(member)
        former = incidents.replace(self._world, member)
        new = self._world.members[member]
        new.faults.set(**NETWORK)
        if self._ledger.resource in (kruise.RESOURCES[kind] for kind in kruise.KRUISE_KINDS):
            kruise.install(self._world, new)
        self._ledger.beware(member)
        self._darken(member)
        if for_good:
            former.stop()
            self._ledger.remove(member)
        else:
            self._former[member] = former

    def _return(self, member: str, former: Cluster) -> None:
        """The former cluster answers again."""
        new = self._world.members[member]
        self._ledger.foreign.discard(member)
        incidents.answer_instead(self._world, member, new, former)
        new.stop()

    def _register_again(self, member: str) -> None:
        """Delete the Cluster object, and create it for the cluster that answers now."""
        self._ledger.succeed(member)
        path = f"{names.API_PATH}/namespaces/default/clusters/{member}"
        with suppress(AssertionError):  # it is being deleted already
            self._world.request(self._world.host, "DELETE", path)

        def create() -> None:
            if self._world.host.access.get(CLUSTERS, "default", member) is None:
                self._world.register_cluster(member)
            else:
                self._world.loop.call_later(0.5, create)

        create()
