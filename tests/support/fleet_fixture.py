"""A host and members for end-to-end tests, of the kind that the environment asks for.

``UD_E2E_CLUSTERS`` is ``embedded`` (the default), ``envtest`` (real binaries from ``KUBEBUILDER_ASSETS``) or
``existing``; naming ``UD_E2E_HOST_KUBECONFIG`` and ``UD_E2E_MEMBER_KUBECONFIGS`` (paths between commas or the path
separator) also means the last. The tests are the same for all of them; what a kind cannot do, its fleet says
(``needs_pods``, ``needs_processes``), and the test that needs it skips.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.support import control_planes, envtest
from tests.support.api import Api, ApiError
from tests.support.control_planes import ControlPlane
from tests.support.waiting import until
from uniteddeployment_api.crd import custom_resource_definitions

HOST = "host"
MEMBERS = ("member-1", "member-2", "member-3")
KIND = "UD_E2E_CLUSTERS"
HOST_KUBECONFIG = "UD_E2E_HOST_KUBECONFIG"
MEMBER_KUBECONFIGS = "UD_E2E_MEMBER_KUBECONFIGS"


class EnvironmentUnusableError(Exception):
    """The environment asks for clusters that cannot be; one line."""


@dataclass
class Fleet:
    """Running clusters. ``folder`` has their kubeconfigs and logs."""

    kind: str
    host: ControlPlane
    members: dict[str, ControlPlane]
    folder: Path

    @property
    def planes(self) -> list[ControlPlane]:
        return [self.host, *self.members.values()]

    def needs_pods(self) -> None:
        """Skip the test if workloads get no pods here."""
        if not all(plane.runs_pods for plane in self.members.values()):
            pytest.skip("without kube-controller-manager no workload gets pods")

    def needs_processes(self) -> None:
        """Skip the test if the clusters are not ours to stop."""
        if any(plane.process is None for plane in self.planes):
            pytest.skip("clusters of somebody else are not cut off")


def kind(environment: Mapping[str, str]) -> str:
    """Which kind of clusters is asked for. Raises EnvironmentUnusableError if it is none."""
    named = bool(environment.get(HOST_KUBECONFIG) or environment.get(MEMBER_KUBECONFIGS))
    found = environment.get(KIND) or ("existing" if named else "embedded")
    if found not in ("embedded", "envtest", "existing"):
        raise EnvironmentUnusableError(f"{KIND} must be embedded, envtest or existing, not {found!r}")
    return found


def existing_kubeconfigs(environment: Mapping[str, str]) -> tuple[Path, list[Path]]:
    """The files that name existing clusters. Raises EnvironmentUnusableError."""
    host, listed = environment.get(HOST_KUBECONFIG, ""), environment.get(MEMBER_KUBECONFIGS, "")
    members = [Path(part) for part in re.split(rf"[,{re.escape(os.pathsep)}]", listed) if part]
    if not host or len(members) < len(MEMBERS):
        raise EnvironmentUnusableError(
            f"set {HOST_KUBECONFIG}, and {MEMBER_KUBECONFIGS} with {len(MEMBERS)} files; there are {len(members)}"
        )
    for file in (Path(host), *members):
        if not file.is_file():
            raise EnvironmentUnusableError(f"no such kubeconfig: {file}")
    return Path(host), members


def check(environment: Mapping[str, str]) -> None:
    """Raises EnvironmentUnusableError, before any test, when what is asked for cannot be."""
    asked = kind(environment)
    if asked == "existing":
        existing_kubeconfigs(environment)
    if asked == "envtest":
        try:
            envtest.find(environment.get(envtest.ASSETS, ""))
        except envtest.BinariesMissingError as error:
            raise EnvironmentUnusableError(str(error)) from None


@contextmanager
def fleet(folder: Path, members: Sequence[str] = MEMBERS, *, bare: bool = False) -> Iterator[Fleet]:
    """Start or find the clusters and install the CRDs on the host, unless it is to be bare."""
    asked = kind(os.environ)
    with ExitStack() as stack:
        planes = _planes(asked, folder, [HOST, *members], stack)
        found = Fleet(asked, planes[0], dict(zip(members, planes[1:], strict=False)), folder)
        if not bare:
            _install(found)
        yield found


@contextmanager
def members(folder: Path) -> Iterator[dict[str, ControlPlane]]:
    """Members without a host. Skips the test if they are not ours to disturb."""
    asked = kind(os.environ)
    if asked == "existing":
        pytest.skip("clusters of somebody else are not disturbed")
    with ExitStack() as stack:
        planes = _planes(asked, folder, list(MEMBERS), stack)
        if not all(plane.runs_pods for plane in planes):
            pytest.skip("without kube-controller-manager no workload gets pods")
        yield dict(zip(MEMBERS, planes, strict=True))


def _planes(asked: str, folder: Path, names: list[str], stack: ExitStack) -> list[ControlPlane]:
    if asked == "envtest":
        return stack.enter_context(envtest.control_planes(names, folder, envtest.find()))
    if asked == "existing":
        host, members = existing_kubeconfigs(os.environ)
        planes = zip(names, [host, *members], strict=False)
        return [stack.enter_context(control_planes.existing(name, file)) for name, file in planes]
    return list(stack.enter_context(control_planes.all_embedded(names, folder)))


def _install(found: Fleet) -> None:
    """Create the CRDs, and wait until they are served. That kubectl installs them is tested with the documentation."""
    api = found.host.api
    definitions = custom_resource_definitions()
    for definition in definitions:
        api.apply(definition)
    for definition in definitions:
        name = definition["metadata"]["name"]
        until(partial(_is_established, api, name), f"{name} is established")
    for name in ("ud", "udc", "uro"):
        until(partial(_is_served, api, name), f"{name} is served")


def _is_served(api: Api, name: str) -> bool:
    """A real server starts the storage of a new kind after it is established; until then, it answers 404 or 429."""
    try:
        api.get(name)
    except ApiError as error:
        if error.code not in (404, 429):
            raise
        return False
    return True


def _is_established(api: Api, name: str) -> bool:
    conditions = api.get("crd", one=name).get("status", {}).get("conditions") or ()  # real servers store null first
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
