"""What all tests need."""

import asyncio
import logging
from collections.abc import Iterator

import pytest
import structlog


def pytest_configure() -> None:
    """No event loop unless a test asks for one: on Python 3.11 one would be made on the side and never be closed."""
    asyncio.set_event_loop(None)
    _log_cheaply()


def _log_cheaply() -> None:
    """Logs cost little. The default of structlog prints the local variables of each traceback, which takes seconds."""
    structlog.reset_defaults()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(key_order=["level", "event"]),
        ]
    )


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Commands that run in the process set up logging for all of it."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    _log_cheaply()
    root.setLevel(level)
    for handler in root.handlers[:]:
        if type(handler) is logging.StreamHandler and handler not in handlers:
            root.removeHandler(handler)
