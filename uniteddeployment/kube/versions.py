"""The order of resource versions."""

_DIGITS = 20
"""The digits of the largest number that API servers count with."""


def newer(version: str, other: str) -> bool:
    """Return whether a resource version is later than another one of the same resource (KEP-5504).

    False if either is not a number, since then nothing is known of their order.

    >>> newer("10", "9"), newer("9", "9"), newer("a", "9")
    (True, False, False)
    """
    return _is_number(version) and _is_number(other) and int(version) > int(other)


def _is_number(version: str) -> bool:
    return version.isascii() and version.isdecimal() and len(version) <= _DIGITS
