"""What all tests need."""

import os
import sys
from pathlib import Path

COMPILED = Path(__file__).parents[1] / ".cache" / "pycache"
"""Compiled modules, if the environment asks for none next to the sources."""


def _compile_once() -> None:
    """Keep compiled modules even with PYTHONDONTWRITEBYTECODE.

    Otherwise each process that a test starts compiles the whole project, which takes longer than most commands.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        sys.dont_write_bytecode = False
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(COMPILED)


_compile_once()  # before the imports below, which pytest would else compile, with its assertions, in each run

import asyncio  # noqa: E402
import gc  # noqa: E402
import logging  # noqa: E402
from collections.abc import Iterator  # noqa: E402

import pytest  # noqa: E402
import structlog  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

settings.register_profile("quick", max_examples=40, deadline=None)
settings.register_profile("thorough", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quick")


def pytest_configure() -> None:
    """No event loop unless a test asks for one: on Python 3.11 one would be made on the side and never be closed."""
    asyncio.set_event_loop(None)
    _plain_tracebacks()


def pytest_collection_finish() -> None:
    """Thousands of tests are a large heap that garbage collections need not look through again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _plain_tracebacks() -> None:
    """structlog's default renders local variables, which takes seconds of CPU time for each logged exception."""
    structlog.reset_defaults()
    *processors, _ = structlog.get_config()["processors"]
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*processors, plain])


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Commands that run in the process set up logging for all of it."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    _plain_tracebacks()
    root.setLevel(level)
    for handler in root.handlers[:]:
        if type(handler) is logging.StreamHandler and handler not in handlers:
            root.removeHandler(handler)
