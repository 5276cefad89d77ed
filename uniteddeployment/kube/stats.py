"""Counts of the requests of one client."""

from collections import Counter
from dataclasses import dataclass, field

_READING = frozenset({"get", "list", "watch"})


@dataclass(slots=True)
class Stats:
    """Requests that were sent, by verb and resource (a retried one counts each time), and their outcomes."""

    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    unreachable: int = 0

    @property
    def total(self) -> int:
        """All requests."""
        return self.requests.total()

    @property
    def writes(self) -> int:
        """Requests that could change something."""
        return sum(count for (verb, _), count in self.requests.items() if verb not in _READING)

    def by_verb(self) -> dict[str, int]:
        """Requests by verb alone."""
        verbs: Counter[str] = Counter()
        for (verb, _), count in self.requests.items():
            verbs[verb] += count
        return dict(verbs)
