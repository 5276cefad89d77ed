"""Queries of gates that Prometheus cannot parse, found when a rollout or a GateTemplate is written.

This is best effort: it takes at most :data:`SECONDS`, and a query counts as valid unless its Prometheus answers that it
is not. The rollout controller reports such queries when it measures.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from uniteddeployment.kube.web import RequestFailed, Web
from uniteddeployment.text import shortened
from uniteddeployment_api import FieldError, InvalidObject, names
from uniteddeployment_api.v1alpha1.gates import PrometheusMeasurement
from uniteddeployment_api.validation.gates import parse_gate_template, queries
from uniteddeployment_api.validation.rollout import parse_united_rollout

SECONDS = 1.5
"""Time for all queries of an object. An API server waits 5 seconds for the webhook."""
MOST = 16
"""The most queries that are tried."""
_PARSE = "/api/v1/format_query"
_LONGEST = 200

Query = tuple[str, str, PrometheusMeasurement]
"""Path of the field, text, and the measurement that it belongs to."""


class _Reply(Struct, rename="camel", frozen=True):
    status: str = ""
    error_type: str = ""
    error: str = ""


async def query_errors(obj: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> tuple[FieldError, ...]:
    """Return an error for each query that is new in ``obj`` and that its Prometheus cannot parse."""
    before = {(text, measurement.address) for _, text, measurement in _queries(old or {})}
    new = [query for query in _queries(obj) if (query[1], query[2].address) not in before]
    if not new:
        return ()
    web = Web()
    try:
        tried = [asyncio.create_task(_tried(web, query)) for query in new[:MOST]]
        done, late = await asyncio.wait(tried, timeout=SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return tuple(error for task in tried if task in done and (error := task.result()) is not None)
    finally:
        await web.close()


def _queries(obj: Mapping[str, Any]) -> Iterator[Query]:
    document = {key: value for key, value in obj.items() if key != "status"}
    try:
        if obj.get("kind") == names.GATE_TEMPLATE_KIND:
            template = parse_gate_template(document)
            yield from queries("spec", template.spec, {arg.name: arg.default for arg in template.spec.args})
        elif obj.get("kind") == names.UNITED_ROLLOUT_KIND:
            for place, step in enumerate(parse_united_rollout(document).spec.steps):
                for index, gate in enumerate(step.gates):
                    path = f"spec.steps[{place}].gates[{index}]"
                    yield from queries(path, gate, {arg.name: arg.value for arg in gate.args})
    except InvalidObject:
        return  # reported with the path of the field


async def _tried(web: Web, query: Query) -> FieldError | None:
    path, text, measurement = query
    try:
        answer = await web.post(
            measurement.address.rstrip("/") + _PARSE,
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            body=urlencode({"query": text}).encode(),
            ca_bundle=measurement.ca_bundle,
            seconds=SECONDS,
        )
        reply = msgspec.json.decode(answer.body, type=_Reply)
    except (RequestFailed, msgspec.MsgspecError, RecursionError, ValueError):
        return None
    if answer.status != 400 or reply.error_type != "bad_data":
        return None
    said = "".join(character if character.isprintable() else " " for character in reply.error)
    return FieldError(path, f"Prometheus cannot parse the query: {shortened(said, _LONGEST)}", "gate-query")
