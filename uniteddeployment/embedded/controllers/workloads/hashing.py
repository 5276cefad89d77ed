"""Hashes of pod templates: short, stable, and made of characters that form no words."""

import json
from typing import Any, Final

_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193
_SAFE: Final = "bcdfghjklmnpqrstvwxz2456789"


def template_hash(value: Any, collisions: int = 0) -> str:
    """The hash of decoded JSON for labels and names.

    ``collisions`` is the owner's collision count: another count yields another hash of the same value.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if collisions:
        text += str(collisions)
    number = _OFFSET
    for byte in text.encode():
        number = (number ^ byte) * _PRIME & 0xFFFFFFFF
    return "".join(_SAFE[ord(digit) % len(_SAFE)] for digit in str(number))
