"""``ud demo``, ``ud playground`` and ``ud embedded``: programs that bring their own clusters."""

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from tests.support import processes
from tests.support.kubectl import kubectl
from tests.support.processes import Process

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
SAMPLES = ROOT / "config" / "samples"
SECONDS = 60

Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def demos() -> tuple[Done, Done]:
    """``ud demo`` for people and for programs, side by side: most of their time is waiting for pods."""
    run = partial(processes.run, environment=os.environ, stdin="", seconds=SECONDS)
    with ThreadPoolExecutor() as pool:
        people, programs = (pool.submit(run, ["demo", *options]) for options in ([], ["-o", "json"]))
        return people.result(), programs.result()


def test_the_demo_tells_the_story_to_people(demos: tuple[Done, Done]) -> None:
    done = demos[0]
    assert (done.returncode, done.stderr) == (0, "")
    story = done.stdout
    told = ["8 replicas over three members", "partitions 2, 1, 1", "Held", "partitions to 0", "Create a rollout"]
    told += ["waits for approval", "✔ restarts", "Approve", "✔ Done in"]
    places = [story.index(part) for part in told]
    assert places == sorted(places), story


def test_the_readme_shows_what_the_demo_prints(demos: tuple[Done, Done]) -> None:
    """Apart from ages and durations, the recording in the README is the output of the present version."""
    recorded = re.search(r"^```\n(Starting a host.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    assert recorded is not None
    assert _without_times(recorded[1]) == _without_times(demos[0].stdout)


def _without_times(text: str) -> str:
    return re.sub(r"[\d.]+ ?s\b", "TIME", text)


def test_the_demo_gives_programs_the_state_after_each_phase(
    demos: tuple[Done, Done],
) -> None:
    """The demo's phases have the replicas and updated pods that their specs ask for (I4, I6)."""
    done = demos[1]
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["seconds"] < SECONDS
    assert {phase["name"]: phase["images"] for phase in document["phases"]} == {
        "created": {"member-1": {"app:1": 4}, "member-2": {"app:1": 2}, "member-3": {"app:1": 2}},
        "half updated": {
            "member-1": {"app:1": 2, "app:2": 2},
            "member-2": {"app:1": 1, "app:2": 1},
            "member-3": {"app:1": 1, "app:2": 1},
        },
        "finished": {"member-1": {"app:2": 4}, "member-2": {"app:2": 2}, "member-3": {"app:2": 2}},
        "rollout waits": {
            "member-1": {"app:2": 2, "app:3": 2},
            "member-2": {"app:2": 1, "app:3": 1},
            "member-3": {"app:2": 1, "app:3": 1},
        },
        "rollout finished": {"member-1": {"app:3": 4}, "member-2": {"app:3": 2}, "member-3": {"app:3": 2}},
    }
    rollouts = [phase["unitedRollout"]["status"] for phase in document["phases"] if phase["unitedRollout"]]
    assert [(status["phase"], status.get("step")) for status in rollouts] == [("Paused", 2), ("Healthy", None)]
    for phase in document["phases"]:
        subsets = phase["unitedDeployment"]["status"]["subsetStatuses"]
        assert [one["replicas"] for one in subsets] == [4, 2, 2]


@contextmanager
def program(*arguments: str, log: Path) -> Iterator[Process]:
    """``ud`` in a process group of its own, which has to be empty when it has ended."""
    with log.open("wb") as out:
        popen = processes.start(arguments, out, environment=os.environ, session=True)
    process = Process(popen, log)
    try:
        yield process
        with pytest.raises(ProcessLookupError):
            os.killpg(popen.pid, 0)
    finally:
        if popen.poll() is None:
            process.stop(signal.SIGKILL)


def ports(kubeconfig: Path) -> list[int]:
    clusters = yaml.safe_load(kubeconfig.read_text())["clusters"]
    return [urlsplit(one["cluster"]["server"]).port or 0 for one in clusters]


def listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_playground_is_there_until_ctrl_c_and_then_nothing_of_it_is_left(tmp_path: Path) -> None:
    with program("playground", "--dir", str(tmp_path), log=tmp_path / "log") as playground:
        shown = playground.wait_for(r"export KUBECONFIG=(\S+)\n(?s:.*)Ctrl-C stops everything", SECONDS)
        kubeconfig = Path(shown[1])

        def run(*arguments: str) -> str:
            command = [kubectl(), "--kubeconfig", str(kubeconfig), *arguments]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        phases = run("get", "udc", "-o", "jsonpath={.items[*].status.phase}")
        assert phases == "Running Running Running", "what it says to try works at once"
        for kind, file in zip(("ud", "uro"), re.findall(r"kubectl apply -f (\S+)", shown[0]), strict=True):
            run("apply", "-f", file)
            run("wait", "--for=condition=Ready", f"{kind}/web", f"--timeout={SECONDS}s")
        assert run("get", "pods", "-o", "name", "--context", "member-1").count("pod/web-member-1-") == 4
        assert all(listens(port) for port in ports(kubeconfig))
        assert playground.stop(signal.SIGINT) == 0
        assert not any(listens(port) for port in ports(kubeconfig))
        assert "Traceback" not in playground.log.read_text()


@pytest.mark.parametrize("way", ["file", "environment"])
def test_a_token_need_not_be_in_the_list_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """A token can come from a file or the environment, so no other user sees it (I12)."""
    arguments = []
    if way == "file":
        (tmp_path / "token").write_text("my-token\n")
        arguments = ["--token-file", str(tmp_path / "token")]
    else:
        monkeypatch.setenv("UD_EMBEDDED_TOKEN", "my-token")
    file = tmp_path / "kubeconfig"
    with program("embedded", *arguments, "--nodes", "0", "--kubeconfig", str(file), log=tmp_path / "log") as server:
        server.wait_for("export KUBECONFIG")
        assert yaml.safe_load(file.read_text())["users"][0]["user"] == {"token": "my-token"}
        assert "my-token" not in server.log.read_text()
        assert server.stop(signal.SIGTERM) == 0


def test_an_embedded_cluster_has_the_port_token_and_nodes_that_were_asked_for(tmp_path: Path) -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = tmp_path / "kubeconfig"
    arguments = ["--port", str(port), "--token", "T", "--nodes", "4", "--zones", "a,b", "--cpu", "2", "--memory", "3Gi"]
    with program("embedded", *arguments, "--kubeconfig", str(file), log=tmp_path / "log") as server:
        server.wait_for("export KUBECONFIG")
        assert ports(file) == [port]
        assert yaml.safe_load(file.read_text())["users"][0]["user"] == {"token": "T"}
        command = [kubectl(), "--kubeconfig", str(file), "get", "nodes", "-o", "json"]
        nodes = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=SECONDS).stdout)["items"]
        zones = sorted(node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes)
        assert zones == ["a", "a", "b", "b"]
        assert {(one["status"]["capacity"]["cpu"], one["status"]["capacity"]["memory"]) for one in nodes} == {
            ("2", "3Gi")
        }
        assert server.stop(signal.SIGTERM) == 0
        assert not listens(port)
