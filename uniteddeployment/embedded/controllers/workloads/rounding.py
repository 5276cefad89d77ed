"""Numbers that users may write as a share of a total."""


def scaled(value: int | str, total: int, *, up: bool) -> int:
    """An IntOrString as a number: ``"25%"`` of ``total``, rounded up or down; anything else as it is."""
    if isinstance(value, int):
        return value
    part = int(value.removesuffix("%")) * total
    return -(-part // 100) if up else part // 100
