"""Writing status: what a refusal means, and when it has to be tried again."""

from typing import Any

import pytest

from tests.support import planning as make
from uniteddeployment.controller.objects import Stored
from uniteddeployment.controller.report import Reporter
from uniteddeployment.kube import errors
from uniteddeployment.planning.observed import Metadata
from uniteddeployment.planning.plan import plan


class Refusing:
    """A client whose server refuses each write."""

    def __init__(self, error: errors.KubeError) -> None:
        self._error = error

    async def merge_patch(self, *_: Any, **__: Any) -> Stored:
        raise self._error


class Knowing:
    """The host's cache, with one object in it or none."""

    def __init__(self, uid: str | None) -> None:
        self._uid = uid

    def get(self, _key: tuple[str, str]) -> Stored | None:
        return Stored(Metadata(name="web", namespace="default", uid=self._uid)) if self._uid else None


@pytest.mark.parametrize(
    ("error", "uid", "written"),
    [
        (errors.Conflict(409), "uid-web", False),
        (errors.Conflict(409), "uid-of-its-namesake", True),
        (errors.Conflict(409), None, True),
        (errors.NotFound(404), "uid-web", True),
        (errors.ServerError(500), "uid-web", False),
    ],
)
async def test_a_status_is_written_again_as_long_as_there_is_an_object_to_write_it_to(
    error: errors.KubeError, uid: str | None, written: bool
) -> None:
    """I9: a conflict may mean another object of that name, or only that somebody else wrote at the same time."""
    subject = make.subject(make.application(make.manifest()))
    reporter = Reporter(Refusing(error), Knowing(uid))  # type: ignore[arg-type]  # stands for both
    assert await reporter.status(subject, plan(subject, make.observed())) is written
