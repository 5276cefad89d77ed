"""Logs of our own code and of libraries have one form, and never show the values of local variables (I12)."""

import json
import logging

import pytest
import structlog

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


def test_tests_that_set_up_logging_leave_nothing_of_it_behind() -> None:
    """A handler that stays would render every later log of the whole run, to a stream that is closed by then."""
    streams = [handler.stream for handler in logging.getLogger().handlers if type(handler) is logging.StreamHandler]
    assert not streams
