"""The reasons that the errors of a probe mean, and the failing checks that an unhealthy server names."""

import pytest

from uniteddeployment.fleet import health
from uniteddeployment.fleet.identity import MissingRightError, RefusedError, UnidentifiedError
from uniteddeployment.fleet.probe import MOST_NODES, ReplacedError, facts, failing_checks, identify, trouble_of
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


class Unhealthy:
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
    assert await failing_checks(Client(Unhealthy(body), "m")) == named  # type: ignore[arg-type]  # a stand-in


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (errors.Unreachable("m", "no answer within 5 s"), "no answer within 5 s"),
        (RefusedError("it refuses our credentials"), "it refuses our credentials"),
        (UnidentifiedError("it has no namespace"), "it has no namespace"),
        (errors.from_status(403, "Forbidden"), "it answers 403 Forbidden"),
        (errors.from_status(503, "ServiceUnavailable"), "it answers 503 ServiceUnavailable"),
        (errors.from_status(404, "NotFound"), "it answers 404 NotFound"),
        (errors.from_status(502), "it answers 502"),
        (DecodingError("no JSON"), "it does not answer like a Kubernetes API server: no JSON"),
        (ZeroDivisionError("secret"), "ZeroDivisionError"),
    ],
)
def test_trouble_is_told_in_words(error: Exception, detail: str) -> None:
    assert trouble_of(error).detail == detail


class Answering:
    """An API server with fixed answers by path, 403 for others."""

    def __init__(self, **answers: bytes) -> None:
        self.answers = {"version": b'{"gitVersion": "v1.36.2"}', **answers}
        self.asked: list[tuple[str, tuple[tuple[str, str], ...], float]] = []
        self.identified = 0
        """How often its connection was said to be that of the expected server."""

    async def send(self, request: Request, *, timeout: float) -> Answer:  # noqa: ASYNC109  # the protocol's
        assert request.verb == "probe"
        self.asked.append((request.path, tuple(request.query), timeout))
        body = self.answers.get(request.path.rpartition("/")[2].replace("-", "_"))
        return Answer(403 if body is None else 200, {}, body or b"{}", self._identify)

    def _identify(self) -> None:
        self.identified += 1

    @property
    def client(self) -> Client:
        return Client(self, "m")  # type: ignore[arg-type]  # a stand-in


@pytest.mark.parametrize(
    ("nodes", "count"),
    [
        (None, None),
        (b'{"items": []}', 0),
        (b'{"items": [{}]}', 1),
        (b'{"items": [{}], "metadata": {"remainingItemCount": 41}}', 42),
        (b'{"items": [{}], "metadata": {"remainingItemCount": 1000000}}', MOST_NODES + 1),
    ],
)
async def test_the_version_and_the_number_of_nodes_are_asked_for_in_two_cheap_requests(
    nodes: bytes | None, count: int | None
) -> None:
    server = Answering(**({} if nodes is None else {"nodes": nodes}))
    found = await facts(server.client)
    assert (found.version, found.nodes) == ("v1.36.2", count)
    assert server.asked == [("/version", (), 5.0), ("/api/v1/nodes", (("limit", "1"),), 5.0)]


async def test_a_long_version_is_cut_and_impossible_numbers_are_refused() -> None:
    long = Answering(version=b'{"gitVersion": "%s"}' % (b"v" * 100))
    assert len((await facts(long.client)).version) == 64
    for count in (b"-1", b"1000001"):
        odd = Answering(nodes=b'{"items": [], "metadata": {"remainingItemCount": %s}}' % count)
        with pytest.raises(DecodingError):
            await facts(odd.client)


async def test_a_cluster_is_the_same_if_its_uid_is_or_if_it_may_not_be_read() -> None:
    """I14"""
    server = Answering(kube_system=b'{"metadata": {"uid": "u"}}')
    answers: list[Answer] = []
    await identify(server.client, "u", answers.append)
    await identify(server.client, "", answers.append)
    with pytest.raises(ReplacedError, match=r"^another cluster answers at its address$"):
        await identify(server.client, "v", answers.append)
    assert server.asked[0] == ("/api/v1/namespaces/kube-system", (), 5.0)
    assert len(answers) == 3
    assert server.identified == 2, "the connection to another cluster takes no writes"
    silent = Answering()
    await identify(silent.client, "u", answers.append)
    assert silent.identified == 1
