"""Servers on loopback that gates send requests to, and a client that has Secrets."""

import base64
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from uniteddeployment.kube import errors
from uniteddeployment_api.v1alpha1.gates import RolloutGate
from uniteddeployment_rollout.gates.credentials import SECRET_TYPE, CredentialsSecret
from uniteddeployment_rollout.gates.measuring import Subject
from uniteddeployment_rollout.gates.probe import Probe, ProbeId
from uniteddeployment_rollout.gates.resolve import resolve

SUBJECT = Subject("default", "web", "uid-1")
VARIABLES = {
    "namespace": "default",
    "name": "web",
    "subset": "a",
    "cluster": "member-1",
    "revision": "new",
    "stableRevision": "old",
}


class Secrets:
    """The part of a client that reads Secrets."""

    def __init__(self, **secrets: dict[str, str]) -> None:
        self.type = SECRET_TYPE
        self._secrets = secrets

    async def get(self, _resource: Any, name: str, _type: Any, *, namespace: str) -> CredentialsSecret:
        assert namespace == "default"
        if name not in self._secrets:
            raise errors.NotFound(404, "NotFound", "no such Secret")
        data = {key: base64.b64encode(value.encode()).decode() for key, value in self._secrets[name].items()}
        return CredentialsSecret(self.type, data)


@contextlib.asynccontextmanager
async def serving(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """Serve all paths with one handler; the value is the URL."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def probe(**gate: Any) -> Probe:
    """The first measurement of a gate."""
    variables = gate.pop("variables", {})
    resolved = resolve(RolloutGate.model_validate({"name": "errors", **gate}), {})
    assert not resolved.problem, resolved.problem
    return Probe(ProbeId("new.1", 1, 0, "errors", "a", 0), resolved, {**VARIABLES, **variables})


def vector(*values: str) -> bytes:
    """An answer of Prometheus with these samples."""
    result = [{"metric": {"n": str(place)}, "value": [1.5, value]} for place, value in enumerate(values)]
    return msgspec.json.encode({"status": "success", "data": {"resultType": "vector", "result": result}})
