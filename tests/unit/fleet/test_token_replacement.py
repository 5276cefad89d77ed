"""The token of a registered member is requested, proved, stored and used, in this order; and what is said if not."""

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.unit.kube.fakes import FakeTransport, json_answer, running, status_answer
from uniteddeployment.fleet.account import TOKEN_SECONDS, issue_token, parsed_time, read_lifetime, token_data
from uniteddeployment.fleet.clusters import (
    ClusterMetadata,
    ClusterObject,
    ClusterSpec,
    Credentials,
    SecretRef,
    token_of,
)
from uniteddeployment.fleet.clusters import Secret as StoredSecret
from uniteddeployment.fleet.member_token import REREAD_SECONDS, MemberToken
from uniteddeployment.fleet.rotation import schedule
from uniteddeployment.fleet.tokens import Subject, Tokens, TokenTrouble
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.credentials import Connection, CredentialsError
from uniteddeployment.kube.errors import Malformed, Unreachable
from uniteddeployment.kube.requests import Request
from uniteddeployment.kube.transport import Answer
from uniteddeployment_api import names

pytestmark = pytest.mark.looptime
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
LIFE = 1000
SPEC = ClusterSpec(server="https://m:6443", credentials=Credentials(SecretRef("s")))
CLUSTER = ClusterObject(ClusterMetadata("m", "ns", "uid"), SPEC)
ISSUED = {"status": {"token": "new", "expirationTimestamp": "2027-01-01T00:00:00Z"}}
SECRET_PATH = "/api/v1/namespaces/ns/secrets/s"


def jwt(issued: datetime, seconds: float = LIFE) -> str:
    claims = {"iat": issued.timestamp(), "exp": issued.timestamp() + seconds}
    return ".".join(("e30", base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("="), "x"))


OLD, NEW = jwt(BEGUN), jwt(BEGUN + timedelta(seconds=LIFE / 2))


def now() -> datetime:
    return BEGUN + timedelta(seconds=asyncio.get_running_loop().time())


class Stage:
    """A host with a Secret, and the member whose token is in it."""

    def __init__(self, *, token: str = OLD, type_: str = names.TOKEN_SECRET_TYPE, uid: str = "member-uid") -> None:
        self.secret: Any = {
            "metadata": {"name": "s", "uid": "secret-uid", "resourceVersion": "7"},
            "type": type_,
            "data": {"token": base64.b64encode(token.encode()).decode()},
        }
        self.uid = uid
        self.refuses_tokens = False
        self.host, self.member = FakeTransport(self._host), FakeTransport(self._member)
        self.made: list[tuple[Connection, FakeTransport]] = []
        self.token = MemberToken(OLD, BEGUN, self._unused)
        self.client = Client(self.member, "ns/m")
        connection = Connection("https://m:6443", tokens=self.token, name="ns/m")
        self.subject = Subject(CLUSTER, "member-uid", self.client, connection, self.token)
        self.tokens = Tokens(Client(self.host, "host"), self._connect, now)
        self.said: list[TokenTrouble | None] = []

    @staticmethod
    async def _unused() -> Any:
        raise AssertionError

    def _host(self, request: Request) -> Answer:
        assert request.path == SECRET_PATH
        return json_answer(self.secret)

    def _member(self, request: Request) -> Answer:
        if self.refuses_tokens:
            return status_answer(403, "Forbidden", "no")
        return json_answer({"status": {**ISSUED["status"], "token": NEW}}, 201)

    def _connect(self, connection: Connection) -> Client:
        transport = FakeTransport(lambda _: json_answer({"metadata": {"name": "kube-system", "uid": self.uid}}))
        self.made.append((connection, transport))
        return Client(transport, connection.name)


async def test_a_new_token_is_proved_before_it_is_stored_and_stored_before_it_is_used() -> None:
    stage = Stage()
    await stage.tokens._replace(stage.subject)
    (proof,) = stage.made
    assert proof[0].tokens is not None
    assert await proof[0].tokens.token() == NEW
    assert proof[0].server == "https://m:6443"
    read, stored = stage.host.requests
    assert (read.method, stored.method) == ("GET", "PATCH")
    assert msgspec.json.decode(stored.body) == {
        "metadata": {
            "annotations": {names.ANNOTATION_TOKEN_ISSUED: "2026-01-01T00:00:00Z"},
            "uid": "secret-uid",
            "resourceVersion": "7",
        },
        "data": {"token": base64.b64encode(NEW.encode()).decode()},
    }
    assert (stage.token.value, stage.token.issued) == (NEW, BEGUN)


async def test_a_token_that_another_cluster_takes_is_not_stored() -> None:
    """I14"""
    stage = Stage(uid="another")
    with pytest.raises(Exception, match="another cluster answers at its address"):
        await stage.tokens._replace(stage.subject)
    assert [request.method for request in stage.host.requests] == ["GET"]
    assert stage.token.value == OLD


async def test_a_token_that_somebody_else_stored_is_used() -> None:
    stage = Stage(token="registered-again")
    stage.secret["metadata"]["annotations"] = {names.ANNOTATION_TOKEN_ISSUED: "2026-01-01T00:05:00Z"}
    await stage.tokens._replace(stage.subject)
    assert (stage.token.value, stage.token.issued) == ("registered-again", BEGUN + timedelta(minutes=5))
    assert not stage.member.requests


async def test_a_secret_that_is_not_of_a_registration_is_not_written() -> None:
    stage = Stage(type_="Opaque")
    with pytest.raises(CredentialsError, match=r"^the Secret is not from a registration any more$"):
        await stage.tokens._replace(stage.subject)
    assert not stage.member.requests


async def test_a_token_is_replaced_when_it_is_due_and_the_next_one_again() -> None:
    stage = Stage()
    due = stage.token.schedule("uid")
    assert due is not None
    async with running(stage.tokens.keep(stage.subject, stage.said.append)):
        await asyncio.sleep((due.due - BEGUN).total_seconds() - 1)
        assert not stage.host.requests
        await asyncio.sleep(2)
        assert stage.token.value == NEW
        assert stage.said == [None]
        await asyncio.sleep(LIFE)
        assert len(stage.said) > 1


async def test_a_failed_replacement_is_reported_and_tried_again_until_it_works() -> None:
    stage = Stage()
    stage.refuses_tokens = True
    due = stage.token.schedule("uid")
    assert due is not None
    async with running(stage.tokens.keep(stage.subject, stage.said.append)):
        await asyncio.sleep((due.due - BEGUN).total_seconds() + 1)
        (trouble,) = stage.said
        assert trouble is not None
        assert trouble.reason == "TokenNotReplaced"
        assert trouble.message.startswith("the token expires at 2026-01-01T00:16:40Z and cannot be replaced: ")
        assert trouble.message.endswith("; 'ud clusters register m' creates a new one")
        await asyncio.sleep(50)
        assert len(stage.said) == 2, "a twentieth of its life is the longest pause"
        stage.refuses_tokens = False
        await asyncio.sleep(50)
        assert stage.said[-1] is None


async def test_a_token_without_an_end_is_never_replaced() -> None:
    stage = Stage()
    stage.token.replace("opaque", None)
    await stage.tokens.keep(stage.subject, stage.said.append)
    assert not stage.host.requests


@pytest.mark.parametrize(
    ("after", "error", "reason"),
    [
        (500, "why", None),
        (850, "", None),
        (850, "why", "TokenNotReplaced"),
        (999, "why", "TokenNotReplaced"),
        (1000, "", "TokenExpired"),
        (1000, "why", "TokenExpired"),
    ],
)
async def test_trouble_is_what_is_due_and_failed_or_what_has_expired(
    after: float, error: str, reason: str | None
) -> None:
    stage = Stage()
    times = stage.token.schedule("uid")
    assert times is not None
    await asyncio.sleep(after)
    trouble = stage.tokens.trouble(CLUSTER, times, error)
    assert (trouble.reason if trouble else None) == reason
    if trouble and reason == "TokenExpired":
        assert trouble.message == (
            "the token expired at 2026-01-01T00:16:40Z; 'ud clusters register m' creates a new one"
        )


async def test_a_token_is_requested_for_a_year_and_has_the_end_that_it_says_itself() -> None:
    token = NEW
    transport = FakeTransport(lambda _: json_answer({"status": {"token": token}}, 201))
    made = await issue_token(Client(transport, "m"))
    (request,) = transport.requests
    assert (request.method, request.path) == (
        "POST",
        f"/api/v1/namespaces/{names.SYSTEM_NAMESPACE}/serviceaccounts/{names.MEMBER_ACCOUNT}/token",
    )
    assert msgspec.json.decode(request.body) == {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": TOKEN_SECONDS},
    }
    assert (made.value, made.expires) == (NEW, BEGUN + timedelta(seconds=LIFE * 1.5))
    assert "Token(expires=" in repr(made)
    assert NEW not in repr(made)


@pytest.mark.parametrize("end", ["2027-01-01T00:00:00Z", ""])
async def test_the_end_of_an_opaque_token_is_that_of_the_answer(end: str) -> None:
    answer = {"status": {"token": "opaque", "expirationTimestamp": end}}
    client = Client(FakeTransport(lambda _: json_answer(answer, 201)), "m")
    if end:
        assert (await issue_token(client)).expires == datetime(2027, 1, 1, tzinfo=UTC)
        return
    with pytest.raises(Malformed, match=r"^the answer to the request for a token has no time of expiry$") as raised:
        await issue_token(client)
    assert (raised.value.status, raised.value.reason) == (201, "Malformed")


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-01-01T00:00:00Z", BEGUN),
        ("2026-01-01T01:00:00+01:00", BEGUN),
        ("2026-01-01T00:00:00", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_a_time_needs_a_zone(text: str | None, time: datetime | None) -> None:
    assert parsed_time(text) == time


def test_the_time_in_a_secret_is_in_utc() -> None:
    assert token_data("t", BEGUN)["metadata"] == {
        "annotations": {names.ANNOTATION_TOKEN_ISSUED: "2026-01-01T00:00:00Z"}
    }


def test_a_secret_without_a_token_is_named() -> None:
    secret = StoredSecret({"tls.crt": base64.b64encode(b"c").decode(), "tls.key": base64.b64encode(b"k").decode()})
    with pytest.raises(CredentialsError, match=r"^Secret ns/s has no token$"):
        token_of(CLUSTER, secret)
    assert token_of(CLUSTER, StoredSecret({"token": base64.b64encode(b"t").decode()})) == "t"


class Rereading:
    """A Secret that is read again."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.token = MemberToken("old", None, self._read)

    async def _read(self) -> tuple[str, datetime | None]:
        await asyncio.sleep(1)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer, BEGUN


async def test_a_refused_token_is_read_again_once_for_all_requests() -> None:
    found = Rereading("new")
    await asyncio.sleep(100)
    assert await found.token.token() == "old"
    assert await found.token.token(refused="older") == "old"
    both = await asyncio.gather(found.token.token(refused="old"), found.token.token(refused="old"))
    assert list(both) == ["new", "new"]
    assert found.token.issued == BEGUN


@pytest.mark.parametrize("error", [Unreachable("host", "reset"), CredentialsError("none")])
async def test_a_token_that_is_refused_all_the_time_is_read_now_and_then(error: Exception) -> None:
    found = Rereading(error, "old", "new")
    await asyncio.sleep(100)
    assert await found.token.token(refused="old") == "old"
    assert await found.token.token(refused="old") == "old"
    assert len(found.answers) == 2
    await asyncio.sleep(REREAD_SECONDS)
    assert await found.token.token(refused="old") == "old"
    assert len(found.answers) == 1
    await asyncio.sleep(REREAD_SECONDS - 2)
    assert await found.token.token(refused="old") == "old"
    await asyncio.sleep(2)
    assert await found.token.token(refused="old") == "new"


def test_a_member_token_is_equal_by_its_value_and_does_not_show_it() -> None:
    found = Rereading().token
    assert found == Rereading().token
    assert found != MemberToken("new", None, found._reread)
    assert found != "old"
    assert repr(found) == "MemberToken()"
    assert found.schedule("uid") is None
    found.replace(OLD, BEGUN)
    life = read_lifetime(OLD)
    assert life is not None
    assert found.schedule("uid") == schedule(life, BEGUN, "uid")
