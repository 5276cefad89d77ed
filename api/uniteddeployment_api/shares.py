"""Numbers that may be percentages."""


def percent_of(text: str) -> int:
    """``"25%"`` as 25. The text has the form that the schema demands."""
    return int(text.removesuffix("%"))


def scaled(value: int | str, total: int) -> int:
    """A number as it is; a percentage of ``total``, rounded half up, as a share of replicas is."""
    if isinstance(value, int):
        return value
    return (percent_of(value) * total + 50) // 100


def held_back(partition: int | str, replicas: int) -> int:
    """A partition in pods, never more than there are. A percentage is rounded up: fewer pods are updated."""
    if isinstance(partition, int):
        return min(partition, replicas)
    return -(-percent_of(partition) * replicas // 100)
