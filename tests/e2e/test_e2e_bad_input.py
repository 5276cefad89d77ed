"""I11: bad input is refused with the path of the field, or becomes a condition; what runs keeps running."""

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from tests.support.api import ApiError
from tests.support.applications import application
from tests.support.preloaded import Preloaded
from tests.support.site import Site
from uniteddeployment.cli.program import app

Change = Callable[[dict[str, Any]], Any]


def _spec(document: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = document["spec"]
    return spec


def _two_templates(document: dict[str, Any]) -> None:
    template = _spec(document)["template"]
    template["deploymentTemplate"] = {"spec": {"template": template["statefulSetTemplate"]["spec"]["template"]}}


def _set(path: str, value: object) -> Change:
    def change(document: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        found: Any = document
        for part in parents:
            found = found[int(part)] if part.isdigit() else found[part]
        found[last] = value

    return change


REFUSED = {
    "two templates": (_two_templates, "spec.template"),
    "a negative partition": (
        _set("spec.updateStrategy.manualUpdate.partitions", {"member-1": -1}),
        "spec.updateStrategy.manualUpdate.partitions",
    ),
    "an unparsable percent": (_set("spec.topology.subsets.0.replicas", "half%"), "spec.topology.subsets[0].replicas"),
    "an unknown field": (_set("spec.topology.subsets.0.cluster", "x"), "spec.topology.subsets[0].cluster"),
    "the same name twice": (_set("spec.topology.subsets.1.name", "member-1"), "spec.topology.subsets[1]"),
}

STALLED = {
    "a cluster that is not known": (_set("spec.topology.subsets.2.targetCluster", {"name": "nowhere"}), "nowhere"),
    "shares above the total": (_set("spec.topology.subsets.1.replicas", "75%"), "spec.topology.subsets"),
    "a selector of other pods": (
        _set("spec.template.statefulSetTemplate.spec.template.metadata.labels", {"app": "other"}),
        "spec.template",
    ),
}


@pytest.mark.parametrize(("change", "path"), REFUSED.values(), ids=list(REFUSED))
def test_the_api_server_refuses_it_with_the_path_of_the_field(shared_site: Site, change: Change, path: str) -> None:
    document = application()
    change(document)
    with pytest.raises(ApiError) as refusal:
        shared_site.create(document)
    assert path in refusal.value.message
    assert not shared_site.objects("ud")


def refused(site: Site, document: Mapping[str, Any]) -> str:
    """Why the API server refuses a change; empty if it is stored."""
    try:
        site.apply(document)
    except ApiError as error:
        return error.message
    return ""


def test_what_only_the_controller_can_know_is_said_while_everything_keeps_running(site: Site) -> None:
    """Each becomes Stalled or is refused; the pods stay as they are (I7, I11)."""
    site.fleet.needs_pods()
    with site.controller("--no-leader-elect"):
        site.apply(application())
        site.wait_settled()
        running = site.all_images()
        for what, (change, told) in STALLED.items():
            document = application()
            change(document)
            if refusal := refused(site, document):
                assert told in refusal, what
                continue
            site.wait("ud", "web", "Stalled")
            stalled = next(one for one in site.get("ud", "web")["status"]["conditions"] if one["type"] == "Stalled")
            assert stalled["reason"]
            assert told in stalled["message"], what
            assert site.all_images() == running, what
            site.apply(application())
            site.wait_settled()


@pytest.fixture
def broken_kubeconfig(tmp_path: Path) -> Path:
    path = tmp_path / "broken"
    path.write_text("clusters: [\n")
    return path


def complains(site: Site, *arguments: str, code: int | None = None) -> str:
    """The one line on standard error with which ``ud`` ends."""
    done = site.ud(*arguments)
    assert done.returncode > 0
    assert code is None or done.returncode == code
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    assert "Traceback" not in done.stdout + done.stderr
    return lines[0]


COMMANDS = (("controller", "run"), ("get",))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_kubeconfig_that_does_not_load_is_one_line(
    shared_site: Site, broken_kubeconfig: Path, command: tuple[str, ...]
) -> None:
    assert str(broken_kubeconfig) in complains(shared_site, *command, "--kubeconfig", str(broken_kubeconfig))


def test_a_kubeconfig_that_is_not_there_is_one_line(shared_site: Site) -> None:
    assert "no such kubeconfig" in complains(shared_site, "get", "--kubeconfig", "/does/not/exist")


def changed(site: Site, file: Path, section: str, change: dict[str, str]) -> str:
    """The site's kubeconfig with something else in each cluster or user."""
    config = yaml.safe_load(site.kubeconfig.read_text())
    for entry in config[f"{section}s"]:
        entry[section] = {**entry[section], **change} if section == "cluster" else change
    file.write_text(yaml.safe_dump(config))
    return str(file)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_refused_token_is_one_line(shared_site: Site, tmp_path: Path, command: tuple[str, ...]) -> None:
    """And the token is not in it (I12)."""
    file = changed(shared_site, tmp_path / "refused", "user", {"token": "not-a-token"})
    said = complains(shared_site, *command, "--kubeconfig", file)
    assert "Unauthorized" in said
    assert "not-a-token" not in said


@pytest.mark.parametrize("command", [*COMMANDS, ("get", "-w")], ids=" ".join)
def test_missing_crds_are_one_line(shared_site: Site, command: tuple[str, ...]) -> None:
    """Members have none."""
    assert "CRD" in complains(shared_site, *command, "--context", "member-1")


def test_a_port_in_use_is_one_line(shared_site: Site) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert port in complains(shared_site, "embedded", "--port", port, "--token", "t")
        metrics = ["--metrics-host", "127.0.0.1", "--metrics-port", port]
        assert port in complains(shared_site, "controller", "run", "--log-level", "error", *metrics)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_server_that_is_not_there_is_one_line(shared_site: Site, tmp_path: Path, command: tuple[str, ...]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = f"https://127.0.0.1:{free.getsockname()[1]}"
    complains(
        shared_site, *command, "--kubeconfig", changed(shared_site, tmp_path / "nobody", "cluster", {"server": server})
    )


def test_a_bad_manifest_is_one_line_with_an_exit_code_of_its_own(shared_site: Site, tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    complains(shared_site, "plan", "-f", str(file), code=2)
    file.write_text("a: [")
    complains(shared_site, "plan", "-f", str(file), code=2)
    document = application()
    _two_templates(document)
    file.write_text(yaml.safe_dump(document))
    assert "spec.template" in complains(shared_site, "plan", "-f", str(file), code=2)


@pytest.mark.parametrize("output", ["/dev/full", "a pipe that nobody reads"])
def test_output_that_cannot_be_written_is_no_traceback(
    shared_site: Site, forks: Preloaded, tmp_path: Path, output: str
) -> None:
    forks.launcher(tmp_path / "ud")
    if output == "/dev/full":
        script, code, said = "ud crds > /dev/full", 1, "error: input or output: No space left on device\n"
    else:
        script, code, said = 'ud crds | true; exit "${PIPESTATUS[0]}"', 1, ""
    done = shared_site.run(["bash", "-c", script], PATH=os.pathsep.join([str(tmp_path), os.environ["PATH"]]))
    assert (done.returncode, done.stderr) == (code, said)


NO_NAMES = [("get", name) for name in ("sts/web", "a/b/c", "../../secrets/x", "%2e%2e", "W", "")]
NO_NAMES += [(command, "a/b/c") for command in ("wait", "history", "undo")]


@pytest.mark.parametrize(("command", "name"), NO_NAMES)
def test_what_is_no_name_is_one_line(command: str, name: str) -> None:
    result = CliRunner().invoke(app, [command, name])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("error: ")


def test_a_terminal_without_unicode_is_no_reason_to_fail(shared_site: Site) -> None:
    shared_site.apply({**application(), "metadata": {"name": "ascii"}})
    try:
        done = shared_site.ud("get", "ascii", PYTHONIOENCODING="ascii")
        assert (done.returncode, done.stderr) == (0, "")
        assert "~ ascii" in done.stdout
        assert done.stdout.isascii()
    finally:
        shared_site.delete("ud", "ascii")


def test_an_application_that_is_not_there_is_one_line(shared_site: Site) -> None:
    assert "no-such-application" in complains(shared_site, "get", "no-such-application", code=1)
