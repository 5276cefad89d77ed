"""Certificates of the webhooks: which are good, and what is kept when one is replaced."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from uniteddeployment.controller.certificates import RENEWAL, VALIDITY, Serving, make, renewed

NAME = "webhook.system.svc"
NOW = datetime(2026, 5, 1, tzinfo=UTC)
GOOD = make(NAME, NOW)
OTHER = make(NAME, NOW)


def test_a_certificate_is_good_until_it_is_about_to_expire() -> None:
    last = NOW + VALIDITY - RENEWAL
    assert GOOD.expires == NOW + VALIDITY
    assert GOOD.valid(NAME, NOW)
    assert GOOD.valid(NAME, last - timedelta(seconds=1))
    assert not GOOD.valid(NAME, last)


@pytest.mark.parametrize(
    "odd",
    [
        Serving(b"", b"", b""),
        replace(GOOD, certificate=b"nonsense"),
        replace(GOOD, key=b"nonsense"),
        replace(GOOD, key=OTHER.key),
        replace(GOOD, authorities=b"nonsense"),
        replace(GOOD, authorities=OTHER.authorities),
        make("elsewhere.system.svc", NOW),
    ],
)
def test_what_does_not_belong_together_is_not_good(odd: Serving) -> None:
    """Somebody edits the Secret, or copies it from elsewhere."""
    assert not odd.valid(NAME, NOW)


def test_the_previous_authority_is_trusted_until_it_expires() -> None:
    second = renewed(NAME, NOW + timedelta(days=310), GOOD.authorities)
    assert second.valid(NAME, NOW + timedelta(days=310))
    assert second.authorities.endswith(GOOD.authorities)
    third = renewed(NAME, NOW + timedelta(days=620), second.authorities)
    kept = x509.load_pem_x509_certificates(third.authorities)
    assert len(kept) == 2, "the first has expired"
    assert kept[1] == x509.load_pem_x509_certificates(second.authorities)[0]
    assert len(x509.load_pem_x509_certificates(renewed(NAME, NOW, third.authorities).authorities)) == 2


def test_an_unreadable_previous_authority_is_dropped() -> None:
    assert renewed(NAME, NOW, b"nonsense").valid(NAME, NOW)


def test_the_key_is_in_no_text() -> None:
    """I12"""
    assert "PRIVATE" not in repr(GOOD)
