"""Tokens of registered members are replaced in time, without a gap, whatever happens meanwhile."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.support import rights
from tests.support.narrowing import present
from tests.support.planning import manifest
from tests.support.registering import account_user, register, token
from tests.support.world import World
from uniteddeployment.cli.clusters import registration
from uniteddeployment.embedded.auth.audit import AuditEvent
from uniteddeployment.fleet import account, tokens
from uniteddeployment.fleet.account import Token, read_lifetime
from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Unreachable
from uniteddeployment.kube.requests import Request
from uniteddeployment_api import names

LIFE = 600.0
"""Seconds. Real API servers allow the same minimum."""
LEFT = timedelta(seconds=0.19 * LIFE)
"""At most 80 % of the life of a token are used."""
pytestmark = pytest.mark.fleet(members=1, controller=False, registered=False)


@pytest.fixture(autouse=True)
def tokens_live_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A year of virtual time takes too long."""
    monkeypatch.setattr(account, "TOKEN_SECONDS", int(LIFE))
    monkeypatch.setattr(registration, "SHORTEST_TOKEN", timedelta(seconds=LIFE))


class Watched:
    """What the member answered the controller, and the tokens that were in the Secret."""

    def __init__(self, world: World) -> None:
        self.refused: list[AuditEvent] = []
        self.tokens: list[str] = [token(world, "member-1")]
        self._world = world
        world.members["member-1"].audit.append(self._note)
        world.host.access.subscribe("secrets", lambda _: self._look())

    def _note(self, event: AuditEvent) -> None:
        if event.status in (401, 403):
            self.refused.append(event)

    def _look(self) -> None:
        present = token(self._world, "member-1")
        if present != self.tokens[-1]:
            self.tokens.append(present)


async def connected(world: World) -> None:
    await world.until(lambda: world.phase("member-1") == "Running", what="the connection")


def message(world: World) -> str:
    found = present(world.host.access.get("clusters.uniteddeployment.io", "default", "member-1"))
    return " ".join(one["message"] for one in (found.get("status") or {}).get("conditions", ()))


def expires_in(world: World) -> timedelta:
    life = read_lifetime(token(world, "member-1"))
    assert life is not None
    return life.expires - world.clock.now()


async def test_tokens_are_replaced_over_several_lifetimes_without_a_gap(world: World) -> None:
    """No request is refused, and the connection with its watches and caches stays the same."""
    await register(world, "member-1")
    world.start_controller()
    await connected(world)
    world.apply(manifest(shares={"member-1": None}, replicas=2))
    await world.until(world.settled, what="the application")
    watched = Watched(world)
    assert world.controller is not None
    member = world.controller.fleet.member("default/member-1")
    for _ in range(50):
        await asyncio.sleep(LIFE / 10)
        assert expires_in(world) > LEFT
        assert world.phase("member-1") == "Running"
    assert len(watched.tokens) in range(6, 10), "each is used for 60 % to 80 % of its life"
    assert not watched.refused
    assert world.controller.fleet.member("default/member-1") is member
    world.apply(manifest(shares={"member-1": None}, replicas=3))
    await world.until(world.settled, what="an edit with the last token")


def a_request_for_a_token(request: Request) -> bool:
    return request.path.endswith("/token")


def a_write_of_the_secret(request: Request) -> bool:
    return request.method == "PATCH" and "/secrets/" in request.path


@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", [a_request_for_a_token, a_write_of_the_secret])
async def test_a_crash_at_any_step_leaves_a_token_that_works(
    world: World, step: Callable[[Request], bool], answered: bool
) -> None:
    """``answered`` is whether the step still takes effect. The next process replaces the token (I9)."""
    await register(world, "member-1")
    world.start_controller()
    await connected(world)
    watched, crashed = Watched(world), asyncio.Event()

    def crash(request: Request) -> None:
        if step(request):
            crashed.set()
            asyncio.get_running_loop().call_soon(world.kill_controller) if answered else world.kill_controller()

    for transport in world.transports.values():
        transport.before = crash
    async with asyncio.timeout(LIFE):
        await crashed.wait()
    await asyncio.sleep(1)
    before = len(watched.tokens)
    world.start_controller()
    await world.until(lambda: len(watched.tokens) > before, LIFE, "the next token", every=1.0)
    await asyncio.sleep(60)
    assert world.phase("member-1") == "Running"
    assert not watched.refused


async def test_a_token_that_expired_while_no_controller_ran_is_reported_with_the_way_out(world: World) -> None:
    await register(world, "member-1")
    world.start_controller()
    await connected(world)
    await world.stop_controller()
    await asyncio.sleep(2 * LIFE)
    world.start_controller()
    await world.until(lambda: "the token expired at" in message(world), what="the message")
    assert "'ud clusters register member-1' creates a new one" in message(world)
    assert token(world, "member-1") not in message(world)
    await register(world, "member-1")
    await connected(world)
    await world.until(lambda: "expired" not in message(world), what="a message without trouble")


async def test_a_member_that_is_registered_again_goes_on_with_the_new_token(world: World) -> None:
    """Even if the old token is worth nothing from one moment to the next: the Secret is read at the first refusal."""
    await register(world, "member-1")
    world.start_controller()
    await connected(world)
    assert world.controller is not None
    member = world.controller.fleet.member("default/member-1")
    watched = Watched(world)
    path = f"/api/v1/namespaces/{names.SYSTEM_NAMESPACE}/serviceaccounts/{names.MEMBER_ACCOUNT}"
    world.request(world.members["member-1"], "DELETE", path)
    await register(world, "member-1")
    await asyncio.sleep(120)
    assert {event.status for event in watched.refused} == {401}
    assert world.phase("member-1") == "Running"
    assert world.controller.fleet.member("default/member-1") is member


async def test_trouble_is_reported_long_before_the_token_expires_and_tried_again(world: World) -> None:
    await register(world, "member-1")
    world.start_controller()
    await connected(world)
    watched = Watched(world)

    def fail(request: Request) -> None:
        if a_write_of_the_secret(request):
            raise Unreachable("host", "connection reset")

    world.transports["host"].before = fail
    await world.until(lambda: "cannot be replaced: host: connection reset" in message(world), LIFE, every=1.0)
    assert expires_in(world) > LEFT
    assert world.phase("member-1") == "Running"
    world.transports["host"].before = lambda _: None
    await world.until(lambda: len(watched.tokens) == 2, 600, "the next attempt", every=1.0)
    await world.until(lambda: "replaced" not in message(world), what="a message without trouble")


async def test_a_token_that_does_not_work_is_not_stored(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The present one stays in the Secret and in use, and the trouble is reported."""

    async def useless(_client: Client) -> Token:
        return Token("useless", world.clock.now())

    await register(world, "member-1")
    monkeypatch.setattr(tokens, "issue_token", useless)
    world.start_controller()
    await connected(world)
    first = token(world, "member-1")
    await world.until(lambda: "cannot be replaced: it refuses our credentials" in message(world), LIFE, every=1.0)
    assert token(world, "member-1") == first
    assert world.phase("member-1") == "Running"


async def test_a_registration_in_between_wins(world: World) -> None:
    """Its token is the one that stays in the Secret, and that the controller uses."""
    await register(world, "member-1")
    world.start_controller()
    await connected(world)
    watched, registered_again = Watched(world), asyncio.Event()

    def change(request: Request) -> None:
        if a_write_of_the_secret(request) and not registered_again.is_set():
            registered_again.set()
            path = f"/api/v1/namespaces/{names.SYSTEM_NAMESPACE}/serviceaccounts/{names.MEMBER_ACCOUNT}/token"
            spec = {"spec": {"expirationSeconds": int(LIFE)}}
            other = world.request(world.members["member-1"], "POST", path, spec)["status"]["token"]
            data = account.token_data(other, world.clock.now())
            secret = "/api/v1/namespaces/default/secrets/member-1-member-token"
            world.request(world.host, "PATCH", secret, data, content_type="application/merge-patch+json")

    world.transports["host"].before = change
    async with asyncio.timeout(LIFE):
        await registered_again.wait()
    await asyncio.sleep(60)
    assert len(watched.tokens) == 2, "the controller did not overwrite it"
    assert not watched.refused
    assert world.phase("member-1") == "Running"


async def test_tokens_in_other_secrets_are_left_alone(world: World) -> None:
    """A Secret that a user made is not written, even if its token expires."""
    await register(world, "member-1")
    made = present(world.host.access.get("secrets", "default", "member-1-member-token"))
    own: dict[str, Any] = {"metadata": {"name": "own"}, "type": "Opaque", "data": made["data"]}
    world.request(world.host, "POST", "/api/v1/namespaces/default/secrets", own)
    path = f"{names.API_PATH}/namespaces/default/clusters/member-1"
    change = {"spec": {"credentials": {"secretRef": {"name": "own"}}}}
    world.request(world.host, "PATCH", path, change, content_type="application/merge-patch+json")
    world.start_controller()
    await connected(world)
    await asyncio.sleep(LIFE - 30)
    assert present(world.host.access.get("secrets", "default", "own"))["data"] == made["data"]
    assert not any(a_request_for_a_token(request) for request in world.transports["member-1"].sent)


def test_the_account_of_a_registered_member_is_the_one_whose_rights_are_tested() -> None:
    assert rights.identity("member").name == account_user()
