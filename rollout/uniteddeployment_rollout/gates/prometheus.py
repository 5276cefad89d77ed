"""Gates that query Prometheus: one number for updated pods and, where it is needed, one for stable pods."""

import math
from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec
from msgspec import Raw, Struct

from uniteddeployment.kube.client import Client
from uniteddeployment.kube.web import Web
from uniteddeployment_api import gate_conditions, gate_texts
from uniteddeployment_api.duration import seconds
from uniteddeployment_api.v1alpha1.gates import PrometheusMeasurement
from uniteddeployment_api.validation.gates import url_problem
from uniteddeployment_rollout.gates.credentials import authorization
from uniteddeployment_rollout.gates.measuring import CannotMeasure, Subject
from uniteddeployment_rollout.gates.probe import Measured, Outcome, Probe

_QUERY = "/api/v1/query"
_FORM = "application/x-www-form-urlencoded"
_LONGEST_ERROR = 160


class _Data(Struct, rename="camel", frozen=True):
    result_type: str = ""
    result: Raw = Raw(b"null")


class _Reply(Struct, rename="camel", frozen=True):
    """An answer of Prometheus' HTTP API."""

    status: str
    data: _Data = _Data()
    error_type: str = ""
    error: str = ""


class _Sample(Struct, frozen=True):
    value: tuple[float, str]


class Prometheus:
    """Measures gates with queries."""

    def __init__(self, client: Client, web: Web) -> None:
        self._client = client
        self._web = web

    async def measure(self, subject: Subject, probe: Probe) -> Measured:
        """Take one measurement. Raises RequestFailed and KubeError."""
        measurement = probe.gate.measurement.prometheus if probe.gate.measurement is not None else None
        if measurement is None:
            raise CannotMeasure("the gate has no query", permanent=True)
        values = {**probe.variables, **(probe.gate.args or {})}
        query = _Query(self._web, measurement, values)
        query.headers = await authorization(self._client, subject.namespace, measurement.secret_ref, query.address)
        return await _measure(measurement, values, query)

    async def discard(self, subject: Subject, probe: Probe) -> None:
        """Do nothing: a query creates nothing."""


class _Query:
    """Sends the queries of one measurement."""

    def __init__(self, web: Web, measurement: PrometheusMeasurement, values: Mapping[str, str]) -> None:
        self._web = web
        self._measurement = measurement
        self.address = gate_texts.filled(measurement.address, values)
        self.headers: dict[str, str] = {}
        if problem := url_problem(self.address):
            raise CannotMeasure(f"address {problem}", permanent=True)

    async def number(self, text: str) -> float | None:
        """Return the result of a query; None if there is none, or if it is not a number."""
        limit = seconds(self._measurement.timeout)
        answer = await self._web.post(
            self.address.rstrip("/") + _QUERY,
            headers={**self.headers, "Content-Type": _FORM, "Accept": "application/json"},
            body=urlencode({"query": text, "timeout": f"{limit}s"}).encode(),
            ca_bundle=self._measurement.ca_bundle,
            seconds=limit,
        )
        return number(answer.status, answer.body)


def number(status: int, body: bytes) -> float | None:
    """Return the number in an answer; None if there is none, or if it is NaN. Raises CannotMeasure."""
    try:
        reply = msgspec.json.decode(body, type=_Reply)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise CannotMeasure(f"HTTP status {status}: the answer is not that of Prometheus") from None
    if reply.status != "success" or status != 200:
        bad = reply.error_type == "bad_data"
        what = "the query is not valid" if bad else f"HTTP status {status}"
        raise CannotMeasure(f"{what}: {_printable(reply.error)}", permanent=bad)
    try:
        if reply.data.result_type == "scalar":
            value = float(msgspec.json.decode(reply.data.result, type=tuple[float, str])[1])
        elif reply.data.result_type == "vector":
            samples = msgspec.json.decode(reply.data.result, type=list[_Sample])
            if len(samples) > 1:
                raise CannotMeasure(
                    f"the query returns {len(samples)} series instead of one; aggregate them, for example with sum",
                    permanent=True,
                )
            value = float(samples[0].value[1]) if samples else math.nan
        else:
            kind = _printable(reply.data.result_type)
            raise CannotMeasure(f"the query returns a {kind} instead of one number", permanent=True)
    except (msgspec.MsgspecError, ValueError):
        raise CannotMeasure("the answer is not that of Prometheus") from None
    return None if math.isnan(value) else value


async def _measure(measurement: PrometheusMeasurement, values: Mapping[str, str], query: _Query) -> Measured:
    conditions = _Conditions.of(measurement, values)
    canary = await query.number(gate_texts.filled(measurement.query, values))
    if canary is None:
        return Measured(measurement.no_data, "no data", "the query returns no data")
    if conditions.compares:
        stable = await _stable(measurement, values, query)
        if stable is None:
            return Measured("Inconclusive", _text(canary), "the query returns no data for stable pods")
        return conditions.judge(canary, stable)
    measured = conditions.judge(canary)
    if measured.outcome != "Failure":
        return measured
    stable = await _stable(measurement, values, query)
    if stable is None or conditions.judge(stable).outcome != "Failure":
        return measured
    message = f"{_text(stable)} for stable pods is as bad: the new version is not to blame"
    return Measured("Inconclusive", f"{measured.value}/{_text(stable)}", message)


async def _stable(measurement: PrometheusMeasurement, values: Mapping[str, str], query: _Query) -> float | None:
    """Return the number for stable pods; None if there are none, or if the query does not distinguish them."""
    if not values["stableRevision"]:
        return None
    if measurement.baseline is not None:
        return await query.number(gate_texts.filled(measurement.baseline, values))
    if "revision" not in gate_texts.variables(measurement.query):
        return None
    return await query.number(gate_texts.filled(measurement.query, {**values, "revision": values["stableRevision"]}))


class _Conditions:
    """The conditions of a gate with its arguments."""

    def __init__(self, success: gate_conditions.Condition | None, failure: gate_conditions.Condition | None) -> None:
        self._success = success
        self._failure = failure
        self.compares = any("stable" in condition.names for condition in (success, failure) if condition is not None)
        """Whether the value of stable pods is needed."""

    @classmethod
    def of(cls, measurement: PrometheusMeasurement, values: Mapping[str, str]) -> "_Conditions":
        """Parse the conditions. Raises CannotMeasure."""

        def parsed(text: str | None) -> gate_conditions.Condition | None:
            try:
                return gate_conditions.parse(gate_texts.filled(text, values)) if text is not None else None
            except gate_conditions.InvalidCondition as error:
                raise CannotMeasure(f"condition: {error}", permanent=True) from None

        return cls(parsed(measurement.success_condition), parsed(measurement.failure_condition))

    def judge(self, canary: float, stable: float | None = None) -> Measured:
        """Judge a value, and with ``stable`` a pair of values."""
        value = _text(canary) if stable is None else f"{_text(canary)}/{_text(stable)}"
        other = math.nan if stable is None else stable
        failed = None if self._failure is None else self._failure.holds(canary, other)
        passed = None if self._success is None else self._success.holds(canary, other)
        outcome: Outcome
        if self._failure is None:
            outcome = "Inconclusive" if passed is None else "Success" if passed else "Failure"
        elif self._success is None:
            outcome = "Inconclusive" if failed is None else "Failure" if failed else "Success"
        else:
            outcome = "Failure" if failed else "Success" if passed else "Inconclusive"
        if outcome == "Success":
            return Measured(outcome, value)
        condition = self._failure if failed else self._success or self._failure
        return Measured(outcome, value, f"{value} ({condition.text})" if condition is not None else value)


def _text(value: float) -> str:
    return f"{value:.5g}"


def _printable(text: str) -> str:
    kept = "".join(character if character.isprintable() else " " for character in text[: _LONGEST_ERROR + 1])
    return kept if len(kept) <= _LONGEST_ERROR else f"{kept[:_LONGEST_ERROR]}..."
