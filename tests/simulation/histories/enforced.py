"""Which generations' partitions may still be in force in a place.

An edit takes time to reach a member, longer when the member is cut off. So the partitions of all generations count that
are not known to be replaced there.
"""

from tests.simulation.histories.ledger import Ledger
from tests.simulation.histories.objects import Place
from tests.simulation.histories.requested import Generation, SubsetRequest


class Enforced:
    """Follows which generation each place has reached."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._replaced: dict[Place, int] = {}
        """Generations before this one are replaced in a place."""

    def generations(self, place: Place) -> list[Generation]:
        """The generations that have the subset and whose partition may still be in force."""
        first = self._replaced.get(place, 0)
        return [
            generation
            for generation in self._ledger.generations
            if generation.number >= first and generation.subset(place)
        ]

    def requests(self, place: Place, image: str) -> list[SubsetRequest]:
        """The requests of those generations that want an image."""
        found = [generation.subset(place) for generation in self.generations(place) if generation.image == image]
        return [request for request in found if request]

    def written(self, place: Place) -> None:
        """The controller wrote a workload: the generation that the workloads keep to now is the one in force."""
        self._replaced[place] = self._kept(place)

    def reported(self, place: Place) -> None:
        """A status was written: its pass has seen the place."""
        self._replaced[place] = max(self._kept(place), self._replaced.get(place, 0))

    def _kept(self, place: Place) -> int:
        """The newest generation whose partition the workloads of a place keep to; 0 if there is none."""
        workloads = [found for found in self._ledger.at(place) if found.image != self._ledger.stable and found.replicas]
        for generation in reversed(self._ledger.planned()):
            request = generation.subset(place)
            if request and all(
                found.image == generation.image and found.updatable <= request.updated for found in workloads
            ):
                return generation.number
        return 0
