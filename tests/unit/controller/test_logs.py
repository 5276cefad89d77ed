"""Logs of our own code and of libraries have one form, and never show the values of local variables (I12)."""

import io
import json
import logging
import sys

import pytest
import structlog

from tests.unit.controller.test_worker import KEY, Bench
from uniteddeployment.controller import logs

SECRET = "s3cr3t-of-a-connection"


def fail(token: str) -> None:
    raise ValueError(f"a token of {len(token)} characters")


@pytest.mark.parametrize("form", ["console", "json"])
@pytest.mark.parametrize("of_library", [True, False], ids=["library", "ours"])
def test_a_logged_exception_has_its_traceback_and_no_local_variables(
    form: str, of_library: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The functions of a connection have tokens in their variables."""
    logs.configure(form, "info")
    log = logging.getLogger("asyncio") if of_library else structlog.get_logger()
    try:
        fail(SECRET)
    except ValueError:
        log.exception("it failed")
    written = capsys.readouterr().err
    assert "ValueError: a token of 22 characters" in written
    assert "in fail" in written
    assert SECRET not in written
    if form == "json":
        assert json.loads(written)["event"] == "it failed"


class Broken(io.StringIO):
    """Standard error that cannot be written: a closed file, a pipe without a reader, a full disk."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def write(self, _text: str) -> int:
        raise self.error

    def flush(self) -> None:
        raise self.error

    def isatty(self) -> bool:
        raise self.error


BROKEN = {
    "missing": None,
    "closed": Broken(ValueError("I/O operation on closed file")),
    "pipe": Broken(BrokenPipeError()),
    "full": Broken(OSError(28, "No space left on device")),
}


@pytest.mark.parametrize("form", ["console", "json"])
@pytest.mark.parametrize("broken", BROKEN)
def test_a_log_that_cannot_be_written_disturbs_nobody(form: str, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """I16: an error in place of a log line would end the work that it reports on."""
    monkeypatch.setattr(sys, "stderr", BROKEN[broken])
    logs.configure(form, "info")
    for log in (structlog.get_logger(), logging.getLogger("asyncio")):
        log.info("it goes on")
        try:
            fail(SECRET)
        except ValueError:
            log.exception("it failed")


@pytest.mark.looptime
async def test_a_controller_whose_log_cannot_be_written_works_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """I16: it logs each failing pass, neither ends nor spins, and tries again with growing pauses."""
    monkeypatch.setattr(sys, "stderr", BROKEN["pipe"])
    logs.configure("json", "info")
    bench = Bench(KeyError("first"), KeyError("second"))
    assert await bench.work(KEY) == [(KEY, 0.0), (KEY, 1.0), (KEY, 3.0)]


def test_tests_that_set_up_logging_leave_nothing_of_it_behind() -> None:
    """A handler that stays would render every later log of the whole run, to a stream that is closed by then."""
    streams = [handler.stream for handler in logging.getLogger().handlers if type(handler) is logging.StreamHandler]
    assert not streams
