"""How soon the controller detects that a member is lost and has its replicas run elsewhere, and what that costs."""

from dataclasses import dataclass, field

from tests.simulation.histories.breach import Circumstances
from tests.simulation.histories.ledger import Ledger
from tests.simulation.histories.objects import Pod
from tests.support.life import Life
from tests.support.world import World


@dataclass
class Figures:
    """What was measured in stories."""

    detected: list[float] = field(default_factory=list)
    """Seconds from each loss of a member until it is Offline."""
    replaced: list[float] = field(default_factory=list)
    """Seconds from a loss until as many pods as requested are ready elsewhere."""
    host_requests: list[int] = field(default_factory=list)
    """Requests to the host during each such failover."""
    member_requests: list[int] = field(default_factory=list)
    """The same to all members that are not lost."""
    below_budget: int = 0
    """Ready pods that writes removed although the budget needed them."""

    def add(self, other: "Figures") -> None:
        """Add the figures of another story."""
        self.detected += other.detected
        self.replaced += other.replaced
        self.host_requests += other.host_requests
        self.member_requests += other.member_requests
        self.below_budget += other.below_budget

    def __str__(self) -> str:
        return "\n".join(
            (
                f"seconds until a loss is detected:       {_summary(self.detected)}",
                f"seconds until replacements are ready:   {_summary(self.replaced)}",
                f"requests to the host in a failover:     {_summary(self.host_requests)}",
                f"requests to members in a failover:      {_summary(self.member_requests)}",
                f"pods below the budget:                  {self.below_budget}",
            )
        )


@dataclass(frozen=True)
class _Loss:
    at: float
    life: Life
    """The controller at that time. Another one reads the facts again, and its times say nothing about a failover."""
    requests: dict[str, int]


class Losses:
    """Measures a world. What the story does in the meantime ends a measurement without a result."""

    def __init__(self, world: World, ledger: Ledger, circumstances: Circumstances, figures: Figures) -> None:
        self._world = world
        self._ledger = ledger
        self._circumstances = circumstances
        self._figures = figures
        self._undetected: dict[str, _Loss] = {}
        self._failover: _Loss | None = None
        ledger.on_health.append(self._health_changed)
        ledger.on_pod.append(self._pod_changed)

    def lost(self, member: str) -> None:
        """A member does not answer from now on."""
        if self._world.life is None or self._ledger.phase(member) != "Running":
            return
        loss = _Loss(self._world.loop.time(), self._world.life, self._world.requests())
        self._undetected[member] = loss
        here = sum(counts.total() for (place, _), counts in self._ledger.ready.items() if place == member)
        if here and self._ledger.settled and self._ledger.newest.adaptive:
            self._failover = loss

    def disturbed(self) -> None:
        """The story goes on."""
        self._undetected.clear()
        self._failover = None

    def _health_changed(self, member: str) -> None:
        loss = self._undetected.get(member)
        if loss is not None and self._ledger.phase(member) == "Offline":
            del self._undetected[member]
            if loss.life is self._world.life:
                self._figures.detected.append(self._world.loop.time() - loss.at)

    def _pod_changed(self, _old: Pod | None, _new: Pod | None, _by_controller: bool) -> None:
        loss, dark = self._failover, self._circumstances.dark
        if loss is None or not self._ledger.generations:
            return
        seen = sum(counts.total() for (place, _), counts in self._ledger.ready.items() if place not in dark)
        if seen < self._ledger.newest.total:
            return
        self._failover = None
        if loss.life is self._world.life:
            self._figures.replaced.append(self._world.loop.time() - loss.at)
            sent = {name: count - loss.requests.get(name, 0) for name, count in self._world.requests().items()}
            self._figures.host_requests.append(sent.pop("host"))
            self._figures.member_requests.append(sum(count for name, count in sent.items() if name not in dark))


def _summary(values: list[float] | list[int]) -> str:
    if not values:
        return "not measured"
    ordered = sorted(values)
    median, most = ordered[len(ordered) // 2], ordered[len(ordered) * 95 // 100]
    return f"median {median:.1f}, 95 % {most:.1f}, most {ordered[-1]:.1f} ({len(ordered)} measured)"
