"""Ages in the style of kubectl."""

from datetime import UTC, datetime

import pytest

from uniteddeployment.cli.output.age import age

NOW = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("timestamp", "shown"),
    [
        (None, ""),
        ("yesterday", "<invalid>"),
        ("2026-01-01", "10m"),
        ("2026-01-01T00:11:00Z", "0s"),
        ("2026-01-01T00:08:01Z", "119s"),
        ("2026-01-01T00:06:55Z", "3m5s"),
        ("2025-12-31T21:11:00Z", "179m"),
        ("2025-12-31T21:09:00Z", "3h"),
        ("2025-12-29T00:00:00Z", "3d"),
    ],
)
def test_an_age_has_two_units_at_most(timestamp: str | None, shown: str) -> None:
    assert age(timestamp, NOW) == shown
