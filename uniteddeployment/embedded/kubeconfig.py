"""Kubeconfig files: one file with one context per cluster."""

import base64
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from uniteddeployment.embedded.serving.tls import KeyPair


@dataclass(frozen=True, slots=True)
class Context:
    """Address and credentials of one cluster."""

    name: str
    server: str
    ca: bytes
    token: str = ""
    client: KeyPair | None = None
    namespace: str = ""

    def cluster(self) -> dict[str, Any]:
        return {"server": self.server, "certificate-authority-data": _text(self.ca)}

    def user(self) -> dict[str, Any]:
        if self.client is not None:
            return {
                "client-certificate-data": _text(self.client.certificate),
                "client-key-data": _text(self.client.key),
            }
        return {"token": self.token}

    def context(self) -> dict[str, Any]:
        context = {"cluster": self.name, "user": self.name}
        return {**context, "namespace": self.namespace} if self.namespace else context


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def kubeconfig(contexts: Sequence[Context], current: str = "") -> dict[str, Any]:
    """The content of a kubeconfig. ``current`` defaults to the first context."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": each.name, "cluster": each.cluster()} for each in contexts],
        "users": [{"name": each.name, "user": each.user()} for each in contexts],
        "contexts": [{"name": each.name, "context": each.context()} for each in contexts],
        "current-context": current or (contexts[0].name if contexts else ""),
    }


def write(path: Path, contexts: Sequence[Context], current: str = "") -> None:
    """Write a kubeconfig atomically, readable by its owner only."""
    text = yaml.safe_dump(kubeconfig(contexts, current), sort_keys=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    temporary.replace(path)
