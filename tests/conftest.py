"""What all tests need."""

import asyncio


def pytest_configure() -> None:
    """No event loop unless a test asks for one: on Python 3.11 one would be made on the side and never be closed."""
    asyncio.set_event_loop(None)
