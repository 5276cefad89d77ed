"""Gates that query Prometheus, against a server that answers as Prometheus does, and as it should not."""

import asyncio
import contextlib
import gzip
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import ResolveResult

from tests.unit.rollout.gates.servers import SUBJECT, Secrets, probe, serving, vector
from uniteddeployment.kube.web import RequestFailed, Web
from uniteddeployment_rollout.gates.prometheus import Prometheus, number

QUERY = 'errors{revision="{{revision}}"}'
SECRET = "s3cr3t"
ZIPPED = gzip.compress(vector("0"))
"""A small compressed answer can be a large one, so none is asked for and none is unpacked."""


@contextlib.asynccontextmanager
async def prometheus(answers: Any, client: Secrets | None = None) -> AsyncIterator[tuple[Prometheus, str, list[Any]]]:
    """A server that answers each query with a number, or with a response; and the provider that asks it."""
    requests = []

    async def handler(request: web.Request) -> web.Response:
        form = await request.post()
        requests.append((request.path, form["query"], request.headers.get("Authorization")))
        answer = answers(form["query"]) if callable(answers) else answers
        if answer == "hang":
            await asyncio.sleep(60)
        return answer if isinstance(answer, web.Response) else web.Response(body=vector(*answer))

    session = Web()
    async with serving(handler) as url:
        try:
            yield Prometheus(client or Secrets(), session), url, requests  # type: ignore[arg-type]  # it needs no more of a client
        finally:
            await session.close()


def by_version(new: list[str], old: list[str]) -> Callable[..., Any]:
    return lambda query: new if "new" in query else old


async def measured(
    answers: Callable[..., Any] | list[str], variables: dict[str, str] | None = None, **fields: Any
) -> tuple[str, str]:
    async with prometheus(answers) as (provider, url, _):
        condition = (
            {} if {"successCondition", "failureCondition"} & fields.keys() else {"successCondition": "result < 0.05"}
        )
        gate = {"address": url, "query": QUERY, **condition, **fields}
        found = await provider.measure(SUBJECT, probe(prometheus=gate, variables=variables or {}))
        return found.outcome, found.value


@pytest.mark.parametrize(
    ("answers", "fields", "expected"),
    [
        (["0.01"], {}, ("Success", "0.01")),
        (by_version(["0.2"], ["0.01"]), {}, ("Failure", "0.2")),
        ([], {}, ("Inconclusive", "no data")),
        (["NaN"], {}, ("Inconclusive", "no data")),
        ([], {"noData": "Success"}, ("Success", "no data")),
        (["NaN"], {"noData": "Failure"}, ("Failure", "no data")),
        (by_version(["+Inf"], ["0"]), {}, ("Failure", "inf")),
        (by_version(["0.2"], []), {}, ("Failure", "0.2")),
        (by_version(["0.11"], ["0.1"]), {"successCondition": "canary <= stable * 1.2"}, ("Success", "0.11/0.1")),
        (by_version(["0.2"], ["0.1"]), {"successCondition": "canary <= stable * 1.2"}, ("Failure", "0.2/0.1")),
        (by_version(["0.2"], []), {"successCondition": "canary <= stable * 1.2"}, ("Inconclusive", "0.2")),
        (by_version(["0"], ["0"]), {"successCondition": "canary / stable < 2"}, ("Inconclusive", "0/0")),
        (["7"], {"failureCondition": "result > 9"}, ("Success", "7")),
        (by_version(["10"], ["1"]), {"failureCondition": "result > 9"}, ("Failure", "10")),
        (["7"], {"failureCondition": "result > 9", "successCondition": "result < 5"}, ("Inconclusive", "7")),
    ],
)  # fmt: skip
async def test_35_each_result_of_a_query_has_the_outcome_that_the_conditions_say(
    answers: Callable[..., Any] | list[str], fields: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert await measured(answers, **fields) == expected


async def test_36_what_is_as_bad_for_stable_pods_of_the_zone_is_not_blamed_on_the_new_version() -> None:
    assert await measured(by_version(["0.2"], ["0.19"])) == ("Inconclusive", "0.2/0.19")
    baseline: dict[str, Any] = {"query": "zone_b_canary", "baseline": "zone_b_stable"}
    assert await measured(["0.3"], **baseline) == ("Inconclusive", "0.3/0.3")
    assert await measured(["0.3"], query="not_by_version") == ("Failure", "0.3")
    assert await measured(["0.3"], variables={"stableRevision": ""}) == ("Failure", "0.3")


async def test_variables_and_arguments_are_filled_in_and_the_query_is_sent_as_a_form() -> None:
    async with prometheus(["0"]) as (provider, url, requests):
        query = (
            "up{s='{{subset}}',c='{{ cluster }}',v='{{revision}}',o='{{stableRevision}}',"
            "n='{{namespace}}/{{name}}',j='{{args.job}}'}"
        )
        gate = {"address": f"{url}/sub/", "query": query, "successCondition": "result < {{args.most}}"}
        args = [{"name": "job", "value": "a&b=c"}, {"name": "most", "value": "1"}]
        assert (await provider.measure(SUBJECT, probe(prometheus=gate, args=args))).outcome == "Success"
        expected = "up{s='a',c='member-1',v='new',o='old',n='default/web',j='a&b=c'}"
        assert requests == [("/sub/api/v1/query", expected, None)]


def reply(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text, content_type="application/json")


@pytest.mark.parametrize(
    ("answer", "message", "permanent"),
    [
        (reply(400, '{"status":"error","errorType":"bad_data","error":"parse error"}'), "not valid: parse", True),
        (reply(422, '{"status":"error","errorType":"execution","error":"duplicates"}'), "422: duplicates", False),
        (reply(503, '{"status":"error","errorType":"unavailable","error":"not ready"}'), "503: not", False),
        (reply(500, "<html>root:x:0:0</html>"), "HTTP status 500: the answer is not that of Prometheus", False),
        (reply(200, "[" * 100000), "the answer is not that of Prometheus", False),
        (reply(200, '{"status":"success","data":{"resultType":"vector","result":[{"value":["x"]}]}}'), "not", False),
        (reply(200, '{"status":"success","data":{"resultType":"matrix","result":[]}}'), "returns a matrix", True),
        (["1", "2"], "returns 2 series instead of one", True),
        (web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}), "HTTP status 302", False),
        (web.Response(body=b" " * ((1 << 20) + 1)), "the answer has more than 1 MiB", False),
        (web.Response(body=ZIPPED, headers={"Content-Encoding": "gzip"}), "the answer is not that of", False),
        ("hang", "did not answer within 1 seconds", False),
    ],
    ids=lambda value: None if isinstance(value, web.Response) else str(value)[:24],
)  # fmt: skip
async def test_35_an_answer_that_says_nothing_is_an_error_that_quotes_nothing_unexpected(
    answer: web.Response | list[str] | str, message: str, permanent: bool
) -> None:
    async with prometheus(answer) as (provider, url, _):
        gate = {"address": url, "query": QUERY, "successCondition": "result < 1", "timeout": "1s"}
        with pytest.raises(RequestFailed) as caught:
            await provider.measure(SUBJECT, probe(prometheus=gate))
    assert message in str(caught.value)
    assert caught.value.permanent is permanent
    assert "root:x" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://127.0.0.1:1/some/path", "http://127.0.0.1:1 cannot be reached"),
        ("http://169.254.169.254", "link-local address, which is not allowed"),
        ("http://[fe80::1]:80", "link-local address, which is not allowed"),
        ("http://[::ffff:169.254.169.254]", "link-local address, which is not allowed"),
        ("http://no-such-host.invalid", "http://no-such-host.invalid:80 cannot be reached"),
    ],
)
async def test_a_server_that_cannot_be_reached_is_an_error_with_its_name_alone(address: str, message: str) -> None:
    session = Web()
    gate = {"address": address, "query": QUERY, "successCondition": "result < 1"}
    with pytest.raises(RequestFailed) as caught:
        await Prometheus(Secrets(), session).measure(SUBJECT, probe(prometheus=gate))  # type: ignore[arg-type]  # it needs no more of a client
    await session.close()
    assert message in str(caught.value)
    assert "path" not in str(caught.value)


def test_a_name_of_a_link_local_address_is_refused_when_it_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes rollouts must not read what cloud providers serve to nodes."""

    async def resolve(
        self: object, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [{"hostname": host, "host": "169.254.169.254", "port": port, "family": 2, "proto": 0, "flags": 0}]

    monkeypatch.setattr("aiohttp.ThreadedResolver.resolve", resolve)
    asyncio.run(
        test_a_server_that_cannot_be_reached_is_an_error_with_its_name_alone("http://meta.example", "cannot be")
    )


@pytest.mark.parametrize(
    ("secret", "type_", "expected"),
    [
        ({"server": "{url}", "token": f"{SECRET}\n"}, None, f"Bearer {SECRET}"),
        ({"server": "{url}/ignored", "username": "ann", "password": "s3cr3t"}, None, "Basic YW5uOnMzY3IzdA=="),
        ({"server": "{url}"}, None, "must have the key token, or the keys username and password"),
        ({"server": "https://other:9090", "token": SECRET}, None, "is for another server"),
        ({"token": SECRET}, None, "the key server of Secret auth must be a URL"),
        ({"server": "{url}", "token": f"{SECRET}\nX-Evil: 1"}, None, "has control characters"),
        ({"server": "{url}", "token": SECRET}, "Opaque", "the type of Secret auth must be"),
        (None, None, "Secret auth does not exist"),
    ],
)
async def test_credentials_are_sent_only_to_the_server_that_their_secret_names(
    secret: dict[str, str] | None, type_: str | None, expected: str
) -> None:
    """A rollout must not be a way to read Secrets (I12), so nothing is sent anywhere else, and no text has them."""
    client = Secrets()
    async with prometheus(["0"], client) as (provider, url, requests):
        if secret is not None:
            client._secrets["auth"] = {key: value.replace("{url}", url) for key, value in secret.items()}
        client.type = type_ or client.type
        gate = {"address": url, "query": QUERY, "successCondition": "result < 1", "secretRef": {"name": "auth"}}
        try:
            await provider.measure(SUBJECT, probe(prometheus=gate))
            text = ""
        except RequestFailed as error:
            text = str(error)
        assert SECRET not in text
        if text:
            assert expected in text
        assert [request[2] for request in requests] == ([] if text else [expected])


def test_a_scalar_is_a_number_too() -> None:
    assert number(200, b'{"status":"success","data":{"resultType":"scalar","result":[1,"4.5"]}}') == 4.5
