"""What is said and done while a Cluster cannot be connected, and what its token has to do with it."""

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import structlog

from tests.support.narrowing import of
from tests.unit.kube.fakes import FakeTransport, json_answer, running, status_answer, until
from uniteddeployment.fleet.clusters import ClusterMetadata, ClusterObject, ClusterSpec, Credentials, SecretRef
from uniteddeployment.fleet.connector import IDENTIFYING, Connector, unexpected
from uniteddeployment.fleet.entry import REPLACED, Entry, Problem
from uniteddeployment.fleet.health import INTERNAL_ERROR, INVALID_CREDENTIALS
from uniteddeployment.fleet.tokens import Tokens, TokenTrouble
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer
from uniteddeployment.planning.observed import Reach
from uniteddeployment_api import names

pytestmark = pytest.mark.looptime
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with structlog.testing.capture_logs():
        yield


def jwt(seconds: float) -> str:
    claims = {"iat": BEGUN.timestamp(), "exp": BEGUN.timestamp() + seconds}
    return ".".join(("e30", base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("="), "x"))


class Following:
    """A member that does nothing until it is told."""

    def __init__(self, client: Client) -> None:
        self.client, self.uid, self.name = client, "uid-1", "ns/m"
        self.replaced, self.failing = asyncio.Event(), asyncio.Event()
        self.runs = False

    async def run(self) -> None:
        self.runs = True
        try:
            await asyncio.Event().wait()
        finally:
            self.runs = False

    def disconnect(self, _detail: str) -> bool:
        return True


class Stage:
    """One Cluster with a Secret, whatever the registrar says about it, and notes of what happens."""

    def __init__(self, *problems: Problem | None, token: str = "opaque", expired: bool = False, **spec: Any) -> None:  # noqa: S107
        self.problems = list(problems)
        self.token, self.refuses = token, False
        self.offset = timedelta(days=1) if expired else timedelta()
        self.log: list[Any] = []
        self.members: list[Following] = []
        self.transports: list[FakeTransport] = []
        given = ClusterSpec(server="https://m:6443", credentials=Credentials(SecretRef("s")), **spec)
        self.entry = Entry(ClusterObject(ClusterMetadata("m", "ns", "uid-m"), given))
        self.fails: Exception | None = None
        host = Client(FakeTransport(self._secret), "host")
        self.connector = Connector(
            host,
            self._connect,
            self,  # type: ignore[arg-type]  # stands for the registrar
            new_member=self._new_member,  # type: ignore[arg-type]
            set_state=lambda _entry, reach, detail: self.log.append(("state", reach, detail)),
            reach_changed=lambda _member: self.log.append("reach"),
            refused=lambda _entry, problem: self.log.append(problem),
            disconnected=lambda _member: self.log.append("disconnected"),
            tokens=Tokens(host, self._connect, self._now),
            token_changed=lambda _entry, trouble: self.log.append(("token", trouble)),
        )

    def _now(self) -> datetime:
        return BEGUN + self.offset + timedelta(seconds=asyncio.get_running_loop().time())

    def _secret(self, _request: Request) -> Answer:
        if self.refuses:
            return status_answer(404, "NotFound")
        data = {"token": base64.b64encode(self.token.encode()).decode()}
        return json_answer({"metadata": {"name": "s"}, "type": names.TOKEN_SECRET_TYPE, "data": data})

    def _connect(self, _connection: Connection) -> Client:
        if self.fails is not None:
            raise self.fails
        self.transports.append(FakeTransport())
        return Client(self.transports[-1], "ns/m")

    def _new_member(self, _entry: Entry, client: Client) -> Following:
        self.members.append(Following(client))
        return self.members[-1]

    # the registrar
    async def admit(self, _entry: Entry, _client: Client) -> Problem | None:
        return self.problems.pop(0) if self.problems else None

    def problem(self, _entry: Entry) -> Problem | None:
        return None

    async def superseded(self, _entry: Entry) -> None:
        await asyncio.Event().wait()

    async def wait_refused(self, _entry: Entry, _problem: Problem, seconds: float) -> None:
        self.log.append(("wait", seconds))
        await asyncio.sleep(seconds)


async def test_a_suspended_cluster_is_not_connected() -> None:
    stage = Stage(suspended=True)
    await stage.connector.run(stage.entry)
    assert stage.log == [("state", Reach.SUSPENDED, "spec.suspended is set")]


async def test_a_cluster_is_followed_until_its_member_is_replaced_by_another_cluster() -> None:
    """I14"""
    stage = Stage()
    async with running(stage.connector.run(stage.entry)):
        await until(lambda: stage.members and stage.members[0].runs)
        assert stage.log == [("token", None)]
        stage.log.clear()
        stage.members[0].replaced.set()
        await until(lambda: len(stage.members) == 2)
        assert stage.log[:3] == [
            "disconnected",
            ("state", Reach.PENDING, IDENTIFYING),
            Problem(Reach.PENDING, IDENTIFYING),
        ]
        assert not stage.members[0].runs
        assert stage.transports[0].closed
    assert stage.transports[1].closed


async def test_a_missing_secret_is_named_and_read_again_at_fixed_intervals() -> None:
    stage = Stage()
    stage.refuses = True
    problem = Problem(Reach.PENDING, "Secret ns/s does not exist", trouble=INVALID_CREDENTIALS)
    async with running(stage.connector.run(stage.entry)):
        await asyncio.sleep(14)
        assert stage.log == [("state", Reach.PENDING, problem.detail), problem]
        await asyncio.sleep(2)
        assert stage.log[2:] == [("state", Reach.PENDING, problem.detail), problem]
        stage.refuses = False
        await asyncio.sleep(15)
        assert len(stage.members) == 1


async def test_an_unexpected_error_is_reported_by_its_type_and_tried_again() -> None:
    """I10, I12"""
    stage = Stage()
    stage.fails = ZeroDivisionError("secret")
    async with running(stage.connector.run(stage.entry)):
        await until(lambda: stage.log)
        text = "internal error: ZeroDivisionError; the controller's log says where"
        assert stage.log[-1] == Problem(Reach.PENDING, text, trouble=INTERNAL_ERROR)
        stage.fails = None
        await until(lambda: stage.members)


async def test_pauses_after_refusals_grow_and_those_with_a_reason_are_fixed() -> None:
    silent, replaced = Problem(Reach.PENDING, "no answer"), Problem(Reach.PENDING, "another", REPLACED)
    stage = Stage(*[silent] * 7, replaced)
    async with running(stage.connector.run(stage.entry)):
        await asyncio.sleep(100)
    waits = [entry[1] for entry in stage.log if isinstance(entry, tuple) and entry[0] == "wait"]
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]
    assert all(transport.closed for transport in stage.transports)


async def test_a_refusal_says_that_the_token_has_expired_and_how_to_get_another_one() -> None:
    problem = Problem(Reach.PENDING, "it refuses our credentials")
    stage = Stage(problem, token=jwt(1000), expired=True)
    async with running(stage.connector.run(stage.entry)):
        await until(lambda: ("wait", 0.5) in stage.log)
    message = "the token expired at 2026-01-01T00:16:40Z; 'ud clusters register m' creates a new one"
    assert stage.log[0] == ("token", TokenTrouble("TokenExpired", message))
    assert stage.log[2] == Problem(Reach.PENDING, f"it refuses our credentials: {message}")


@pytest.mark.parametrize("token", ["opaque", jwt(1e6)])
async def test_a_refusal_is_no_matter_of_a_token_that_is_valid(token: str) -> None:
    problem = Problem(Reach.PENDING, "it refuses our credentials")
    stage = Stage(problem, token=token)
    async with running(stage.connector.run(stage.entry)):
        await until(lambda: ("wait", 0.5) in stage.log)
    assert stage.log[:2] == [("state", Reach.PENDING, problem.detail), problem]


async def test_trouble_with_the_rotation_of_a_followed_member_is_told() -> None:
    stage = Stage(token=jwt(1000), expired=True)
    async with running(stage.connector.run(stage.entry)):
        await until(lambda: len(stage.log) > 1)
    kind, trouble = stage.log[1]
    assert kind == "token"
    assert trouble.reason == "TokenExpired"


async def test_other_credentials_are_used_once_the_cluster_fails_and_not_before() -> None:
    stage = Stage(token="old")
    async with running(stage.connector.run(stage.entry)):
        await until(lambda: stage.members and stage.members[0].runs)
        stage.token = "new"
        await asyncio.sleep(100)
        assert len(stage.members) == 1
        stage.members[0].failing.set()
        await asyncio.sleep(14)
        assert len(stage.members) == 1
        await asyncio.sleep(2)
        assert len(stage.members) == 2
        stage.members[1].failing.set()
        await asyncio.sleep(100)
        assert len(stage.members) == 2, "the Secret has nothing new"
        stage.refuses = True
        await asyncio.sleep(100)
        assert len(stage.members) == 2, "nothing better is known"


async def test_what_a_cluster_showed_stays_known_unless_it_may_be_of_another() -> None:
    stage = Stage()
    member = Following(Client(FakeTransport(), "ns/m"))
    stage.entry.member = member  # type: ignore[assignment]
    stage.connector._refuse(stage.entry, Problem(Reach.PENDING, "no answer"))
    assert stage.log == ["reach", Problem(Reach.PENDING, "no answer")]
    assert of(Following, stage.entry.member) is member
    stage.entry.undecided = False
    stage.connector._refuse(stage.entry, Problem(Reach.PENDING, "no answer"))
    assert stage.log[2:] == [Problem(Reach.PENDING, "no answer")], "the same problem is no news"
    stage.connector._refuse(stage.entry, Problem(Reach.PENDING, "another", REPLACED))
    assert stage.entry.member is None
    assert stage.log[3:] == [("state", Reach.PENDING, "another"), Problem(Reach.PENDING, "another", REPLACED)]


def test_a_group_of_errors_is_told_by_its_first() -> None:
    group = ExceptionGroup("g", [ExceptionGroup("h", [KeyError("secret")]), ValueError("x")])
    with structlog.testing.capture_logs() as logs:
        assert unexpected("ns/m", group) == "internal error: KeyError; the controller's log says where"
    assert [entry["error"] for entry in logs] == ["KeyError", "ValueError"]


def test_without_tokens_nothing_is_rotated_or_explained() -> None:
    stage = Stage()
    stage.connector._tokens = None
    problem = Problem(Reach.PENDING, "x")
    connection: Any = SimpleNamespace(tokens=None)
    assert stage.connector._explained(stage.entry, problem, connection) is problem
    nothing: Any = None
    assert stage.connector._rotations(nothing, stage.entry, nothing, connection) == []
