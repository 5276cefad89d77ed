"""A rollout as a tree: its run, its steps, and the subsets with what they wait for. Pure: objects in, lines out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from uniteddeployment.cli.output.age import age
from uniteddeployment.cli.output.labels import UNBROKEN, labelled, line
from uniteddeployment.cli.output.table import Cell, Column, Row, table
from uniteddeployment.cli.output.terminal import Glyphs, Line, Lines
from uniteddeployment.cli.rollout import gates
from uniteddeployment.cli.rollout.objects import message, phase, waits_for_approval
from uniteddeployment_api.selectors import selector_text
from uniteddeployment_api.v1alpha1.meta import LabelSelector
from uniteddeployment_rollout.loop.objects import StoredRollout

PHASE_STYLES = {
    "Healthy": "green",
    "Progressing": "bright_blue",
    "Pending": "bright_blue",
    "Paused": "cyan",
    "Degraded": "red",
    "RollingBack": "yellow",
    "Disabled": "cyan",
    "Unknown": "yellow",
}
_STATE_STYLES = {"Ready": "green", "Held": "cyan", "Paused": "cyan", "Stalled": "red", "Unknown": "yellow"}
_COLUMNS = (
    Column("SUBSET"),
    Column("CLUSTER", drop=3),
    Column("UPDATED", right=True),
    Column("READY", right=True, drop=1),
    Column("PARTITION", right=True, drop=2),
    Column("STATE"),
)
_WIDE = (Column("REASON"),)
_BAR = 20
_SHOWN = 2
"""Number of subsets of a wave that are named."""


@dataclass(frozen=True, slots=True)
class View:
    """How rollouts are shown. With ``wide``, the reason of each subset is on its own line."""

    glyphs: Glyphs
    width: int | None = None
    wide: bool = False
    namespaces: bool = False
    now: datetime | None = None

    def lines(self, rollouts: Sequence[StoredRollout]) -> Lines:
        """Rollouts, with an empty line between them."""
        blocks = [list(self._rollout(rollout)) for rollout in rollouts]
        return [line_ for index, block in enumerate(blocks) for line_ in ([line("")] if index else []) + block]

    def icon(self, word: str) -> str:
        """The symbol of a phase or of the state of a subset."""
        glyphs = self.glyphs
        icons = {
            "Healthy": glyphs.good,
            "Ready": glyphs.good,
            "Held": glyphs.paused,
            "Paused": glyphs.paused,
            "Disabled": glyphs.paused,
            "Degraded": glyphs.bad,
            "Stalled": glyphs.bad,
            "Unknown": glyphs.unknown,
        }
        return icons.get(word, glyphs.busy)

    def _rollout(self, rollout: StoredRollout) -> Iterator[Line]:
        status, word = rollout.status, phase(rollout)
        name = "/".join(rollout.key) if self.namespaces else rollout.metadata.name
        yield line(f"{self.icon(word)} {name}  {word}", PHASE_STYLES.get(word, ""))
        yield from self._text("Message", message(rollout))
        if waits_for_approval(rollout):
            yield from self._text("Next", f"ud rollout approve {rollout.metadata.name}")
        yield from self._text("Target", f"UnitedDeployment {rollout.target[1]}")
        if not status.get("runID"):
            yield from self._text("Revision", str(status.get("stableRevision", "")))
            return
        yield from self._run(status)
        yield from self._steps(rollout)
        yield from self._pods(status)
        yield from self._subsets(status)
        yield from gates.lines(status.get("gates") or (), self.glyphs, self.width, wide=self.wide)

    def _run(self, status: Mapping[str, Any]) -> Iterator[Line]:
        now = self.now or datetime.now(UTC)
        facts = [str(status["runID"]), f"for {age(status.get('startTime'), now)}" if status.get("startTime") else ""]
        facts += [f"by {status['startedBy']}" if status.get("startedBy") else "", str(status.get("cause", ""))]
        yield from self._text("Run", ", ".join(fact for fact in facts if fact))
        revisions = (str(status.get("stableRevision", "")), str(status.get("updateRevision", "")))
        yield from self._text("Revision", f" {self.glyphs.arrow} ".join(revisions))

    def _steps(self, rollout: StoredRollout) -> Iterator[Line]:
        """The steps with their state. A step that the controller adds for the rest of the pods is shown, too."""
        status, glyphs = rollout.status, self.glyphs
        names = [step_name(step) for step in rollout.spec.get("steps") or ()]
        names += ["100%"] * (int(status.get("steps", 0)) - len(names))
        present = int(status.get("step", 0))
        if status.get("full"):
            yield from self._text("Steps", f"{glyphs.step} all pods, without steps")
            return
        marks = [
            glyphs.good if number < present else glyphs.step if number == present else glyphs.todo
            for number, _ in enumerate(names, start=1)
        ]
        items = [f"{mark} {name}" for mark, name in zip(marks, names, strict=True)]
        yield from self._text("Steps", "  ".join(item.replace(" ", UNBROKEN) for item in items))

    def _pods(self, status: Mapping[str, Any]) -> Iterator[Line]:
        total, updated = int(status.get("replicas", 0)), int(status.get("updatedReplicas", 0))
        ready, goal = int(status.get("updatedReadyReplicas", 0)), int(status.get("targetReplicas", 0))
        filled = min(_BAR, _BAR * ready // total) if total else 0
        bar = self.glyphs.full * filled + self.glyphs.empty * (_BAR - filled)
        text = f"{updated} of {total} updated, {ready} ready"
        yield from self._text("Pods", f"{bar} {text}{f', goal {goal}' if goal != updated else ''}")

    def _subsets(self, status: Mapping[str, Any]) -> Lines:
        subsets = status.get("subsets") or ()
        rows = [self._subset(subset, last=index == len(subsets) - 1) for index, subset in enumerate(subsets)]
        columns = _COLUMNS + (_WIDE if self.wide else ())
        return table(columns, rows, None if self.wide else self.width) if rows else ()

    def _subset(self, subset: Mapping[str, Any], *, last: bool) -> Row:
        word, glyphs = str(subset.get("state", "")), self.glyphs
        style = _STATE_STYLES.get(word, "bright_blue")
        reason = str(subset.get("reason", ""))
        branch = glyphs.last if last else glyphs.branch
        cells: dict[str, Cell | str] = {
            "SUBSET": Cell(f"{branch} {self.icon(word)} {subset['name']}", style),
            "CLUSTER": str(subset.get("cluster", "")).rpartition("/")[2] or "(host)",
            "UPDATED": f"{subset.get('updatedReplicas', 0)}/{subset.get('targetReplicas', 0)}",
            "READY": f"{subset.get('updatedReadyReplicas', 0)}",
            "PARTITION": f"{subset.get('partition', 0)}/{subset.get('replicas', 0)}",
            "STATE": Cell(word, style),
            "REASON": reason,
        }
        shown = reason and not self.wide and word not in ("Ready", "Held")
        return Row(cells, (reason,) if shown else (), f"{' ' if last else glyphs.stem}    ")

    def _text(self, label: str, text: str) -> Lines:
        return labelled(label, text, self.width)


def step_name(step: Mapping[str, Any]) -> str:
    """A step in a few characters: its pods, and its wave if it has one."""
    pods, wave = str(step.get("replicas", "")), step.get("wave")
    return pods if wave is None else f"{_wave(wave)}: {pods}"


def _wave(wave: Mapping[str, Any]) -> str:
    selector = wave.get("clusterSelector")
    if selector is not None:
        return f"clusters with {_selector(selector)}"
    subsets = [str(name) for name in wave.get("subsets") or ("each subset",)]
    more = f" +{len(subsets) - _SHOWN}" if len(subsets) > _SHOWN else ""
    return f"{', '.join(subsets[:_SHOWN])}{more}"


def _selector(selector: Mapping[str, Any]) -> str:
    try:
        return selector_text(LabelSelector.model_validate(selector)) or "any labels"
    except ValidationError:  # a form that only a newer version knows
        return "certain labels"
