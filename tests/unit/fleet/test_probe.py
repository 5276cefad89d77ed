"""The reasons that the errors of a probe mean, and the failing checks that a sick server names."""

import pytest

from uniteddeployment.fleet import health
from uniteddeployment.fleet.identity import MissingRightError, RefusedError, UnidentifiedError
from uniteddeployment.fleet.probe import failing_checks, trouble_of
from uniteddeployment.kube import errors
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.decoding import DecodingError
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer

CHECKS = (
    b"[+]ping ok\n[-]etcd failed: reason withheld\n[+]log ok\n[-]poststarthook/rbac failed: x\nreadyz check failed\n"
)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (errors.Unreachable("m", "no answer within 5 s"), health.UNREACHABLE),
        (RefusedError("it refuses our credentials (401 Unauthorized)"), health.UNAUTHORIZED),
        (MissingRightError("get"), health.UNAUTHORIZED),
        (errors.from_status(401), health.UNAUTHORIZED),
        (errors.from_status(403), health.UNAUTHORIZED),
        (errors.from_status(500), health.NOT_HEALTHY),
        (errors.from_status(503), health.NOT_HEALTHY),
        (errors.from_status(429), health.NOT_HEALTHY),
        (errors.from_status(404), health.NOT_READABLE),
        (UnidentifiedError("it has no namespace kube-system"), health.NOT_READABLE),
        (errors.Malformed(200, "Malformed", "no list"), health.NOT_READABLE),
        (DecodingError("no JSON"), health.NOT_READABLE),
    ],
)
def test_silence_refusal_sickness_and_nonsense_have_different_reasons(error: Exception, reason: str) -> None:
    assert trouble_of(error).reason == reason
    assert trouble_of(error).detail


class Sick:
    """An API server whose checks answer with this body, or not at all."""

    def __init__(self, body: bytes | None) -> None:
        self.body = body

    async def send(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # the protocol's
        assert (request.method, request.path) == ("GET", "/readyz")
        if self.body is None:
            raise errors.Unreachable("m", "connection reset")
        return Answer(500, {}, self.body)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (CHECKS, "etcd, poststarthook/rbac"),
        (b"".join(b"[-]c%d failed\n" % number for number in range(10)), "c0, c1, c2, c3, c4, c5, c6, c7 and 2 more"),
        (b"\xff\xfe", ""),
        (b"[-]" + b"x" * 100_000, "x" * 64),
        (None, ""),
    ],
    ids=["names", "many", "garbage", "long", "silent"],
)
async def test_the_failing_checks_of_a_sick_server_are_named_within_limits(body: bytes | None, named: str) -> None:
    assert await failing_checks(Client(Sick(body), "m")) == named  # type: ignore[arg-type]  # a stand-in
