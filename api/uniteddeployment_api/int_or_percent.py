"""Arithmetic on IntOrPercent values: a number of pods, or a percentage of a total."""


def percent_of(text: str) -> int:
    """Return the number in a percentage that matches the schema's pattern.

    >>> percent_of("25%")
    25
    """
    return int(text.removesuffix("%"))


def scaled(value: int | str, total: int) -> int:
    """Return an integer unchanged and a percentage as that part of ``total``, rounded half up.

    Shares and bounds of subsets are resolved this way.

    >>> scaled("25%", 6), scaled("25%", 5), scaled(3, 5)
    (2, 1, 3)
    """
    if isinstance(value, int):
        return value
    return (percent_of(value) * total + 50) // 100


def rounded_down(value: int | str, total: int) -> int:
    """Return an integer unchanged and a percentage as that part of ``total``, rounded down, as for maxUnavailable.

    >>> rounded_down("25%", 7), rounded_down(3, 7)
    (1, 3)
    """
    return value if isinstance(value, int) else percent_of(value) * total // 100


def held_back(partition: int | str, replicas: int) -> int:
    """Return how many of ``replicas`` pods a partition holds at the old revision, at most all of them.

    A percentage is rounded up, so that rounding never updates more pods than the user asked for.

    >>> held_back("50%", 3), held_back(1, 3), held_back(5, 3)
    (2, 1, 3)
    """
    if isinstance(partition, int):
        return min(partition, replicas)
    return -(-percent_of(partition) * replicas // 100)
