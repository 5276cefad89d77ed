"""Commands that run until they are stopped: their logs, and the signals that stop them."""

import asyncio
import signal

from uniteddeployment.cli.errors import USAGE, CommandError
from uniteddeployment.controller import logs

_FORMATS = ("console", "json")
_LEVELS = ("debug", "info", "warning", "error")


def configure_logs(log_format: str, log_level: str) -> None:
    """Log in this format, from this level on. Raises CommandError for an unknown format or level."""
    if log_format not in _FORMATS:
        raise CommandError(f"--log-format must be {' or '.join(_FORMATS)}, not {log_format!r}", USAGE)
    if log_level not in _LEVELS:
        raise CommandError(f"--log-level must be {', '.join(_LEVELS[:-1])} or {_LEVELS[-1]}, not {log_level!r}", USAGE)
    logs.configure(log_format, log_level)


def stopped() -> asyncio.Event:
    """An event that SIGTERM and SIGINT set."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop
