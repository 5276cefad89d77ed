"""The pods of an application as they really are, whatever its controller can see of them."""

import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Truth:
    """The pods of one application as they really are, in all clusters, and what was ever true of them."""

    app: str
    living: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """Cluster and name -> pod, for those that are not being deleted."""
    lowest: int = 0
    """The fewest that were ready at a time since this was last set."""
    twice: set[str] = field(default_factory=set)
    """Ordinals that two pods had at the same time."""
    seen: deque[str] = field(default_factory=lambda: deque(maxlen=100))
    """The last changes, with their times and the number of ready pods, to tell what went wrong."""

    @property
    def ready(self) -> int:
        return sum(is_ready(pod) for pod in self.living.values())

    def take(self, cluster: str, pod: dict[str, Any], *, gone: bool) -> None:
        """A pod has changed."""
        key = (cluster, pod["metadata"]["name"])
        if gone or "deletionTimestamp" in pod["metadata"]:
            self.living.pop(key, None)
        else:
            self.living[key] = pod
            ordinals = Counter(name.rpartition("-")[2] for _, name in self.living)
            self.twice |= {ordinal for ordinal, count in ordinals.items() if count > 1}
        self.lowest = min(self.lowest, self.ready)
        what = "going" if key not in self.living else "ready" if is_ready(pod) else "not ready"
        self.seen.append(f"{time.monotonic():.3f} {'/'.join(key)} {what}: {self.ready} ready")

    def forget(self, cluster: str) -> None:
        """A cluster has ended, and its pods with it."""
        self.living = {key: pod for key, pod in self.living.items() if key[0] != cluster}

    def uids(self, *clusters: str) -> set[str]:
        return {str(pod["metadata"]["uid"]) for (where, _), pod in self.living.items() if where in clusters}

    def images(self, cluster: str) -> dict[str, int]:
        """Image -> pods."""
        pods = [pod for (where, _), pod in self.living.items() if where == cluster]
        return dict(Counter(pod["spec"]["containers"][0]["image"] for pod in pods))


def is_ready(pod: Mapping[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)
