"""The commands in the documentation work, and its links and file names are valid.

Every command of every ``sh`` block runs in order on a playground, except for those below, which other tests cover.
"""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.support.api import Api
from tests.support.documentation import DOCUMENTS, ROOT, blocks
from tests.support.kubectl import kubectl
from tests.support.preloaded import Preloaded
from tests.support.processes import ud
from tests.support.waiting import until

SECONDS = 90

ELSEWHERE = {
    r"make (setup|test|e2e|bench|format|generate|clean|lint|types)": "",  # this test is part of these targets
    r"make demo|ud demo": "test_the_demo_tells_the_story_to_people",
    r"ud demo -o json": "test_the_demo_gives_programs_the_state_after_each_phase",
    r"make playground|ud playground.*": "test_the_playground_is_there_until_ctrl_c_and_then_nothing_of_it_is_left",
    r"(KUBEBUILDER_ASSETS=\S+ )?make e2e-envtest": "test_real_binaries_are_started_with_these_commands",
    r"kubectl apply -k config/|ud clusters register member-1 --context member-1": (
        "test_the_documented_installation_works_with_the_rights_that_are_shipped"
    ),
    r"ud embedded .*": "test_an_embedded_cluster_has_the_port_token_and_nodes_that_were_asked_for",
    r"ud get -w": "test_get_shows_the_tree_and_plan_what_would_be_done",
    r"ud (convert|adopt) .*|ud plan -f web.yaml|kubectl apply -f (web|db-zone-a).yaml|"
    r"kubectl (wait|delete) .*uniteddeployments\.(uniteddeployment|apps\.kruise)\.io/.*": (
        "test_the_commands_that_migrate_an_application_work"
    ),
    r"ud controller run.*": "test_probes_and_metrics_tell_how_it_is_and_sigterm_ends_it_well",
}
"""Pattern of commands that do not run here -> the test that covers them."""
SECTIONS = {
    "Install": "test_the_documented_installation_works_with_the_rights_that_are_shipped",
    "Finalizers": "test_the_policy_adds_the_finalizer_to_new_applications",
    "Register a member": "test_the_documented_installation_works_with_the_rights_that_are_shipped",
    "Register a member with kubectl": "test_uninstalling_in_the_documented_order_leaves_nothing",
    "Upgrade": "test_the_documented_installation_works_with_the_rights_that_are_shipped",
    "Webhooks": "test_the_documented_installation_works_with_the_rights_that_are_shipped",
    "Uninstall": "test_uninstalling_in_the_documented_order_leaves_nothing",
}
"""Sections of docs/operations.md whose commands do not run here -> the test that runs them."""


def elsewhere(command: str) -> str | None:
    """Return the name of the test that covers a command; None if it runs here."""
    return next((test for pattern, test in ELSEWHERE.items() if re.fullmatch(pattern, command)), None)


@dataclass(frozen=True)
class Playground:
    """A playground, and a shell in the checkout with ``ud`` and ``kubectl``."""

    environment: dict[str, str]
    host: Api

    def with_sample(self) -> None:
        """Run the sample application, as it is in the file, and nothing else."""
        for one in self.host.get("ud", "default")["items"]:
            self.host.delete("ud", "default", one["metadata"]["name"])
        until(lambda: not self.host.get("ud", "default")["items"], "the applications are gone")
        self.host.apply(yaml.safe_load((ROOT / "config" / "samples" / "web.yaml").read_text()), "default")
        until(self._sample_is_ready, "the sample is ready")

    def _sample_is_ready(self) -> bool:
        conditions = self.host.get("ud", "default", "web").get("status", {}).get("conditions", ())
        return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)

    def sh(self, script: str) -> None:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory, forks: Preloaded) -> Iterator[Playground]:
    folder = tmp_path_factory.mktemp("docs")
    programs = folder / "bin"
    programs.mkdir()
    (programs / "kubectl").symlink_to(kubectl())
    forks.launcher(programs / "ud")
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    file = folder / "kubeconfig"
    with ud("playground", "--dir", str(folder), log=folder / "log") as process:
        process.wait_for("Ctrl-C stops everything", SECONDS)
        with closing(Api(yaml.safe_load(file.read_text()))) as host:
            cache = str(folder / "kube-cache")
            yield Playground({**os.environ, "PATH": path, "KUBECONFIG": str(file), "KUBECACHEDIR": cache}, host)
        assert process.stop(signal.SIGINT) == 0


def names(path: Path) -> str:
    return str(path.relative_to(ROOT))


WITH_COMMANDS = [document for document in DOCUMENTS if any(blocks(document))]


@pytest.mark.parametrize("document", WITH_COMMANDS, ids=names)
def test_every_command_of_the_documentation_works(playground: Playground, document: Path) -> None:
    """Each document starts with the sample application, ready in the playground."""
    here = [block for block in blocks(document) if block.section not in SECTIONS]
    scripts = ["\n".join(command for command in block.commands if elsewhere(command) is None) for block in here]
    if not any(scripts):
        return
    playground.with_sample()
    for script in scripts:
        playground.sh(script)


def test_the_tests_that_cover_other_commands_exist() -> None:
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    missing = [name for name in [*ELSEWHERE.values(), *SECTIONS.values()] if name and f"def {name}(" not in tests]
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS, ids=names)
def test_no_block_of_commands_is_hidden_from_these_tests(document: Path) -> None:
    """An indented block, as in a list, would not be found."""
    assert document.read_text().count("```sh\n") == len(blocks(document))


def test_documents_link_to_files_and_headings_that_exist() -> None:
    broken = []
    for document in DOCUMENTS:
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", document.read_text()):
            file = document.parent / target if target else document
            if not file.exists() or (anchor and anchor not in anchors(file)):
                broken.append(f"{names(document)}: {target}#{anchor}")
    assert not broken


def test_files_that_the_architecture_names_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    package = ROOT / "uniteddeployment"
    named = re.findall(r"`((?:planning|kube|fleet|controller|cli|embedded)/[\w/.]*)`", text)
    assert named
    assert [path for path in named if not (package / path).exists()] == []
    tree = re.search(r"^uniteddeployment/\n((?: {4}.*\n)+)", text, re.MULTILINE)
    assert tree is not None
    folder = package
    for line in tree[1].splitlines():
        names_of_line = re.findall(r"[\w]+(?:/|\.py)", line[:28])
        if not line.startswith(" " * 8):
            folder = package / names_of_line[0]
            assert folder.is_dir(), line
            continue
        assert names_of_line, line
        assert all((folder / name).exists() for name in names_of_line), line


def anchors(document: Path) -> set[str]:
    """Return the anchors that code hosts derive from the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
