"""Gates that send a POST request and let the server decide."""

from typing import Literal

import msgspec
from msgspec import Struct

from uniteddeployment.kube.client import Client
from uniteddeployment.kube.web import Web
from uniteddeployment_api import gate_texts
from uniteddeployment_api.duration import seconds
from uniteddeployment_api.validation.gates import url_problem
from uniteddeployment_rollout.gates.credentials import authorization
from uniteddeployment_rollout.gates.measuring import CannotMeasure, Subject
from uniteddeployment_rollout.gates.probe import Measured, Outcome, Probe

_OUTCOMES: dict[str, Outcome] = {
    "pass": "Success",
    "fail": "Failure",
    "inconclusive": "Inconclusive",
    "wait": "Wait",
}


class _Reply(Struct, frozen=True):
    result: Literal["pass", "fail", "inconclusive", "wait"] = "pass"
    message: str = ""
    value: str = ""


class Webhook:
    """Measures gates with requests. A request has the same id each time that it is repeated."""

    def __init__(self, client: Client, web: Web) -> None:
        self._client = client
        self._web = web

    async def measure(self, subject: Subject, probe: Probe) -> Measured:
        """Take one measurement. Raises RequestFailed and KubeError."""
        measurement = probe.gate.measurement.webhook if probe.gate.measurement is not None else None
        if measurement is None:
            raise CannotMeasure("the gate has no webhook", permanent=True)
        url = gate_texts.filled(measurement.url, {**probe.variables, **(probe.gate.args or {})})
        if problem := url_problem(url):
            raise CannotMeasure(f"url {problem}", permanent=True)
        headers = await authorization(self._client, subject.namespace, measurement.secret_ref, url)
        answer = await self._web.post(
            url,
            headers={**headers, "Content-Type": "application/json", "Accept": "application/json"},
            body=body(subject, probe),
            ca_bundle=measurement.ca_bundle,
            seconds=seconds(measurement.timeout),
        )
        return measured(answer.status, answer.body)

    async def discard(self, subject: Subject, probe: Probe) -> None:
        """Do nothing: requests create nothing that is known here."""


def body(subject: Subject, probe: Probe) -> bytes:
    """Return the body of the request."""
    id_, prefix = probe.id, len(gate_texts.ARGS)
    return msgspec.json.encode(
        {
            "id": f"{subject.uid}/{id_.text}",
            "rollout": subject.name,
            "runID": id_.run_id,
            "step": id_.step,
            "gate": id_.gate,
            **probe.variables,
            "args": {name[prefix:]: value for name, value in (probe.gate.args or {}).items()},
        }
    )


def measured(status: int, content: bytes) -> Measured:
    """Return the result in an answer. Raises CannotMeasure."""
    if not 200 <= status < 300:
        raise CannotMeasure(f"HTTP status {status}")
    if not content.strip():
        return Measured("Success", str(status))
    try:
        reply = msgspec.json.decode(content, type=_Reply)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        if content.lstrip()[:1] != b"{":
            return Measured("Success", str(status))  # a page or a word, such as "ok"
        raise CannotMeasure("the answer has no valid result: pass, fail, inconclusive or wait") from None
    message = "".join(character if character.isprintable() else " " for character in reply.message[:1024])
    value = "".join(character for character in reply.value[:64] if character.isprintable())
    return Measured(_OUTCOMES[reply.result], value or reply.result, message)
