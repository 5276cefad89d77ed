"""Output that follows changes, into a pipe."""

import asyncio

import pytest

from uniteddeployment.cli.output.labels import line
from uniteddeployment.cli.output.watching import redraw_on_changes


async def test_lines_that_did_not_change_are_not_printed_again(capsys: pytest.CaptureFixture[str]) -> None:
    """A status has many fields that the lines do not show."""
    changed, drawn, texts = asyncio.Event(), asyncio.Event(), iter(["one", "one", "two", "two", "one"])

    def draw(_: object) -> list[object]:
        drawn.set()
        return [line(next(texts))]

    watching = asyncio.create_task(redraw_on_changes(draw, changed))  # type: ignore[arg-type]
    for _ in range(5):
        await drawn.wait()
        drawn.clear()
        changed.set()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert capsys.readouterr().out.split() == ["one", "two", "one"]
