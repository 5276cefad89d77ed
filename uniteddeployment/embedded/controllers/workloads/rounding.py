"""Numbers that users may write as a percentage of a total."""


def scaled(value: int | str, total: int, *, up: bool) -> int:
    """An IntOrString as a number: ``"25%"`` of ``total``, rounded up or down."""
    if isinstance(value, int):
        return value
    part = int(value.removesuffix("%")) * total
    return -(-part // 100) if up else part // 100
