"""String formats that the real server checks. Other formats are documentation only."""

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime
from typing import Final
from urllib.parse import urlsplit

_DATE_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_DURATION: Final = re.compile(r"[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_WORDY_DURATION: Final = re.compile(
    r"\d+\s*(?:ns|us|µs|ms|s|m|h|d|w|(?:second|minute|hour|day|week|milli\w*)s?)", re.ASCII
)
_HOSTNAME: Final = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\.?"
)
_EMAIL: Final = re.compile(r"[^@\s<>]+@[^@\s<>]+")
_MAC: Final = re.compile(r"[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2}){5,19}|(?:[0-9A-Fa-f]{4}\.){2,}[0-9A-Fa-f]{4}")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def _uuid(version: str) -> Callable[[str], bool]:
    pattern = re.compile(
        rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?[0-9a-f]{{4}}-?[0-9a-f]{{12}}", re.IGNORECASE
    )
    return lambda text: pattern.fullmatch(text) is not None


def _date_time(text: str) -> bool:
    if _DATE_TIME.fullmatch(text) is None:
        return False
    with suppress(ValueError):
        datetime.fromisoformat(re.sub(r"\.\d+", "", text.upper().replace(" ", "T")))
        return True
    return False


def _date(text: str) -> bool:
    with suppress(ValueError):
        return len(text) == 10 and date.fromisoformat(text) is not None
    return False


def _base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _ip(version: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        with suppress(ValueError):
            return ipaddress.ip_address(text).version == version
        return False

    return check


def _cidr(text: str) -> bool:
    with suppress(ValueError):
        return "/" in text and ipaddress.ip_interface(text) is not None
    return False


def _uri(text: str) -> bool:
    with suppress(ValueError):
        parts = urlsplit(text)
        return bool(parts.scheme or text.startswith("/")) and " " not in text
    return False


FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "byte": _base64,
    "cidr": _cidr,
    "date": _date,
    "date-time": _date_time,
    "datetime": _date_time,
    "duration": lambda text: (_DURATION.fullmatch(text) or _WORDY_DURATION.fullmatch(text)) is not None,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "hexcolor": lambda text: re.fullmatch(r"#?(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})", text) is not None,
    "hostname": lambda text: _HOSTNAME.fullmatch(text) is not None,
    "ipv4": _ip(4),
    "ipv6": _ip(6),
    "k8s-long-name": lambda text: len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None,
    "k8s-short-name": lambda text: len(text) <= 63 and _LABEL.fullmatch(text) is not None,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "uri": _uri,
    "uuid": _uuid("[0-9a-f]"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4"),
    "uuid5": _uuid("5"),
}
"""The checked formats, with their predicates."""
