"""Makes a story that breaks an invariant as short as possible while it breaks the same one."""

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from tests.simulation.histories.story import SETTLED, Edit, Step, Story

Fails = Callable[[Story], bool]

SIMPLEST: dict[str, tuple[object, ...]] = {
    "wait": (SETTLED, 0.0),
    "down": (1.0,),
    "write": (0, 1),
    "name": ("app:1", "app:2", "fail:5"),
    "replicas": (5, 3, 0),
    "value": (1, "100%"),
    "subset": (None, 0, 1),
    "member": (0, 1),
    "workload": (0,),
    "pod": (0,),
    "reached": (True,),
}
"""Field -> values that are simpler than others, the simplest first."""
PLAIN = {
    "begun": SETTLED,
    "ordered": False,
    "slow_pods": False,
    "history": 10,
    "orphan": False,
    "capacity": False,
    "disjoint": False,
}
"""Options of stories that are left out if the story breaks the same without them."""


def shrunk(story: Story, fails: Fails, *, seconds: float) -> Story:
    """The simplest story found in that time. ``fails`` returns whether a story breaks what ``story`` breaks."""
    deadline = time.monotonic() + seconds
    tried = {story}
    changed = True
    while changed:
        changed = False
        for simpler in itertools.chain(_shorter(story), _plainer(story)):
            if time.monotonic() > deadline:
                return story
            if simpler in tried:
                continue
            tried.add(simpler)
            if fails(simpler):
                story, changed = simpler, True
                break
    return story


def _shorter(story: Story) -> Iterator[Story]:
    """Without a run of steps, long runs first and from the end on; without one change of an edit."""
    count = len(story.steps)
    size = count
    while size:
        for start in range(count - size, -1, -size):
            yield replace(story, steps=story.steps[:start] + story.steps[start + size :])
        size //= 2
    for index, step in enumerate(story.steps):
        changes = step.action.changes if isinstance(step.action, Edit) else ()
        for gone in range(len(changes) if len(changes) > 1 else 0):
            yield _with(story, index, replace(step, action=Edit(*changes[:gone], *changes[gone + 1 :])))


def _plainer(story: Story) -> Iterator[Story]:
    """With one value in it that is simpler."""
    for name, value in PLAIN.items():
        yield replace(story, **{name: value})  # type: ignore[arg-type]
    for index, step in enumerate(story.steps):
        for simpler in _simpler(step):
            yield _with(story, index, simpler)
        if isinstance(step.action, Edit):
            changes = step.action.changes
            for place, change in enumerate(changes):
                for simpler in _simpler(change):
                    edit = Edit(*changes[:place], simpler, *changes[place + 1 :])
                    yield _with(story, index, replace(step, action=edit))
        else:
            for simpler in _simpler(step.action):
                yield _with(story, index, replace(step, action=simpler))


def _simpler(item: Any) -> Iterator[Any]:
    for field in fields(item):
        simplest = SIMPLEST.get(field.name, ())
        value = getattr(item, field.name)
        before = simplest[: simplest.index(value)] if value in simplest else simplest
        for simple in before:
            yield replace(item, **{field.name: simple})


def _with(story: Story, index: int, step: Step) -> Story:
    return replace(story, steps=(*story.steps[:index], step, *story.steps[index + 1 :]))
