"""Errors in a controller's sync: the key is retried and other keys are not affected."""

from random import Random

import pytest

from tests.embedded.cluster_kit import Api
from uniteddeployment.embedded.controllers.events.recorder import Recorder
from uniteddeployment.embedded.controllers.framework.controller import Controller, Key
from uniteddeployment.embedded.errors import StatusError


class Worker(Controller):
    """A controller that fails once for each key that has an error."""

    name = "worker"

    def __init__(self, api: Api, failing: dict[str, Exception]) -> None:
        access = api.cluster.access
        super().__init__(access, api.clock, Random(1), Recorder(access, api.clock))
        self.failing = failing
        self.done: list[str] = []

    def setup(self) -> None:
        for name in ("a", "b", "c"):
            self.enqueue(("", name))

    def sync(self, key: Key) -> None:
        error = self.failing.pop(key[1], None)
        if error is not None:
            raise error
        self.done.append(key[1])


def test_a_status_error_is_counted_and_its_key_comes_again() -> None:
    api = Api()
    worker = Worker(api, {"a": StatusError(409, "Conflict", "changed")})
    worker.start()
    api.clock.advance(1)
    assert worker.done == ["b", "c", "a"]
    assert worker.errors == 1
    assert isinstance(worker.last_error, StatusError)


def test_a_bug_surfaces_when_all_other_keys_have_had_their_turn() -> None:
    api = Api()
    worker = Worker(api, {"a": KeyError("spec")})
    worker.start()
    with pytest.raises(KeyError):
        api.clock.advance(0)
    assert worker.done == ["b", "c"]
    api.clock.advance(1)
    assert worker.done == ["b", "c", "a"]
    assert isinstance(worker.last_error, KeyError)


def test_several_bugs_surface_together() -> None:
    api = Api()
    worker = Worker(api, {"a": KeyError("spec"), "c": TypeError("replicas")})
    worker.start()
    with pytest.raises(ExceptionGroup) as caught:
        api.clock.advance(0)
    assert [type(error) for error in caught.value.exceptions] == [KeyError, TypeError]
    assert worker.errors == 2


def test_a_key_that_always_fails_is_tried_for_ever_with_a_delay_of_seconds() -> None:
    api = Api()
    worker = Worker(api, {})
    worker._failures[("", "a")] = 5000
    worker.failing["a"] = StatusError(500, "", "broken")
    worker.start()
    api.clock.advance(4.9)
    assert "a" not in worker.done
    api.clock.advance(0.2)
    assert "a" in worker.done
