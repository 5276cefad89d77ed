"""What ``ud rollout`` prints and how it exits, without a cluster; docs/rollouts.md runs the commands against one."""

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from tests.unit.rollout.fleet import Controller, at_half, canary
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.cli.output.terminal import Glyphs
from uniteddeployment.cli.program import app
from uniteddeployment.cli.rollout import history, listing, tree, waiting
from uniteddeployment_rollout.loop.objects import RolloutMetadata, StoredRollout
from uniteddeployment_rollout.loop.writes import dumped

SAMPLES = Path(__file__).parents[4] / "config" / "samples"
SAMPLE = yaml.safe_load((SAMPLES / "rollout.yaml").read_text())
NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
STEPS = [{"replicas": 1, "pause": {}}, {"replicas": "50%"}, {"wave": {"subsets": ["a"]}, "replicas": "100%"}]


def stored(controller: Controller, **status: Any) -> StoredRollout:
    spec = controller.rollout.spec.model_dump(by_alias=True, exclude_none=True)
    metadata = RolloutMetadata("web", "default", generation=1, creation_timestamp="2026-01-01T00:00:00Z")
    return StoredRollout(metadata, spec, dumped(controller.status) | status)


def released(*, bad: bool = False, **spec: Any) -> Controller:
    fleet, controller = canary(**spec)
    if bad:
        fleet.bad.add("v2")
    fleet.release("v2")
    controller.settle()
    return controller


def degraded() -> Controller:
    controller = released(bad=True, steps=STEPS)
    controller.wait(3600)
    return controller


def shown(rollout: StoredRollout, width: int | None = None, **options: Any) -> list[str]:
    view = tree.View(Glyphs(), width, now=NOW, **options)
    return [line.plain for line in view.lines([rollout])]


def listed(rollout: StoredRollout, width: None = None, **options: Any) -> list[str]:
    view = tree.View(Glyphs(), width, now=NOW, **options)
    return [line.plain.rstrip() for line in listing.rows(view, [rollout])]


def test_a_run_is_shown_with_its_steps_its_subsets_and_the_next_command() -> None:
    assert shown(stored(at_half()[1])) == [
        "⏸ web  Paused",
        "  Message   step 2 of 3: waits for approval",
        "  Next      ud rollout approve web",
        "  Target    UnitedDeployment web",
        "  Run       v2.1, for 60m",
        "  Revision  v1 → v2",
        "  Steps     ✔ 1  ▶ 50%  ○ 100%",
        "  Pods      ██████████░░░░░░░░░░ 4 of 8 updated, 4 ready",
        "SUBSET  CLUSTER  UPDATED  READY  PARTITION  STATE",
        "├─ ◌ a  a            2/2      2        2/4  Progressing",
        "├─ ◌ b  b            1/1      1        1/2  Progressing",
        "└─ ◌ c  c            1/1      1        1/2  Progressing",
    ]


def test_pods_that_fail_are_explained_below_their_subset_also_on_a_narrow_terminal() -> None:
    lines = shown(stored(degraded()), 56)
    assert lines[:3] == [
        "✖ web  Degraded",
        "  Message   step 1 of 4: 1 updated pods were not ready",
        "            within 10m (a: ImagePullBackOff: 1)",
    ]
    assert "  Steps     ▶ 1  ○ 50%  ○ a: 100%  ○ 100%" in lines
    row = lines.index("├─ ◌ a  a            1/1      0        3/4  Progressing")
    assert lines[row + 1] == "│    ImagePullBackOff: 1"
    assert max(map(len, lines)) <= 56
    assert shown(stored(degraded()), 45)[-1].split() == ["└─", "◌", "c", "0/0", "0", "Progressing"]


GATES = [
    {"name": "errors", "subset": "a", "state": "Passed", "successes": 5, "values": ["0.01/0.01", "0.02/0.01"]},
    {"name": "errors", "subset": "b", "state": "Failed", "successes": 1, "failures": 2, "message": "0.5 is too much"},
    {"name": "smoke", "dryRun": True},
]


def test_gates_are_shown_with_their_counts_and_last_values() -> None:
    lines = shown(stored(at_half()[1], gates=GATES))
    assert lines[-5:] == [
        "GATE               SUBSET  STATE    ✔  ✖  ERRORS  LAST VALUES",
        "✔ errors           a       Passed   5  0       0  0.01/0.01 0.02/0.01",
        "✖ errors           b       Failed   1  2       0",
        "    0.5 is too much",
        "◌ smoke (dry run)  all     Running  0  0       0",
    ]


def test_of_many_gates_those_that_have_not_passed_are_shown() -> None:
    many = [{"name": "errors", "subset": f"s{n}", "state": "Passed"} for n in range(40)] + [GATES[1]]
    lines = shown(stored(at_half()[1], gates=many))
    assert lines[-1] == "and 29 more; -o wide shows all"
    assert any("✖ errors" in line for line in lines)
    assert sum("errors" in line for line in shown(stored(at_half()[1], gates=many), wide=True)) == 41


def test_a_pause_with_a_duration_names_no_command() -> None:
    rollout = stored(released(steps=[{"replicas": 1, "pause": {"duration": "1h"}}]))
    assert not [line for line in shown(rollout) if "approve" in line]


def test_a_healthy_rollout_shows_its_revision_and_no_table() -> None:
    assert shown(stored(canary()[1])) == [
        "✔ web  Healthy",
        "  Message   all pods run v1",
        "  Target    UnitedDeployment web",
        "  Revision  v1",
    ]


def test_a_status_of_an_older_spec_is_not_taken_for_the_present_state() -> None:
    rollout = stored(canary()[1], observedGeneration=0)
    assert shown(rollout)[:2] == [
        "? web  Unknown",
        "  Message   the rollout controller has not observed generation 1 of the spec yet",
    ]


def test_texts_from_the_cluster_cannot_change_the_terminal() -> None:
    rollout = stored(at_half()[1], message="\x1b[2Jgone", startedBy="me\r\n")
    assert not [line for line in shown(rollout) if "\x1b" in line or "\r" in line]


def test_a_list_has_one_row_for_each_rollout_and_explains_what_needs_attention() -> None:
    assert listed(stored(degraded())) == [
        "NAME   TARGET  PHASE     STEP  UPDATED  READY  PODS  AGE",
        "✖ web  web     Degraded  1/4         1      0     8  60m",
        "    step 1 of 4: 1 updated pods were not ready within 10m (a: ImagePullBackOff: 1)",
    ]
    assert len(listed(stored(canary()[1]))) == 2
    assert listed(stored(degraded()), wide=True, namespaces=True)[0].split() == [
        "NAMESPACE", "NAME", "TARGET", "PHASE", "STEP", "UPDATED", "READY", "PODS", "AGE", "RUN", "MESSAGE",
    ]  # fmt: skip


def test_finished_runs_are_shown_with_their_outcome_and_duration() -> None:
    controller = released(steps=[{"replicas": "100%"}])
    line = history.lines(dumped(controller.status)["history"], None, NOW)[1].plain
    assert line.split() == ["v2.1", "v1", "v2", "Completed", "1", "0s", "60m", "ago"]


@pytest.mark.parametrize(
    ("controller", "code"),
    [
        (released, 4),
        (lambda: released(steps=[{"replicas": 1, "pause": {"duration": "1h"}}]), None),
        (lambda: released(bad=True), None),
        (degraded, 1),
    ],
    ids=["waits for approval", "pauses for a time", "progressing", "degraded"],
)
def test_waiting_ends_early_only_where_time_alone_does_not_help(
    controller: Callable[..., Any], code: int | None
) -> None:
    rollout, waiter = stored(controller()), waiting.Waiter("web", "healthy")
    if code is None:
        assert not waiter.ends(rollout)
        return
    with pytest.raises(CommandError) as caught:
        waiter.ends(rollout)
    assert caught.value.code == code


def test_waiting_fails_if_the_run_that_it_has_seen_is_rolled_back() -> None:
    """The rollout is healthy then, at the old revision: a pipeline must not report a success."""
    controller = released()
    waiter = waiting.Waiter("web", "healthy")
    with pytest.raises(CommandError):
        waiter.ends(stored(controller))
    controller.give("1", "abort")
    controller.settle()
    with pytest.raises(CommandError, match=r"run v2\.1 was rolled back: Aborted") as caught:
        waiter.ends(stored(controller))
    assert caught.value.code == 1
    assert waiting.Waiter("web", "healthy").ends(stored(controller)), "an older rollback does not count"


def test_waiting_for_a_pause_accepts_it() -> None:
    assert waiting.Waiter("web", "paused").ends(stored(released()))


def invoked(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, ["rollout", *arguments], input=stdin)


def linted(tmp_path: Path, *documents: Any) -> Result:
    file = tmp_path / "rollout.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    return invoked("lint", "-f", str(file))


def with_steps(*steps: Any) -> dict[str, Any]:
    document = copy.deepcopy(SAMPLE)
    document["spec"]["steps"] = list(steps)
    found: dict[str, Any] = document
    return found


def test_lint_accepts_the_sample(tmp_path: Path) -> None:
    result = linted(tmp_path, SAMPLE)
    assert (result.exit_code, result.stdout) == (0, "UnitedRollout web: valid\n")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"replicas": "101%"}, "spec.steps[0].replicas: must be a whole number"),
        ({"replicas": -1}, "spec.steps[0].replicas: must be a whole number"),
        ({"replicas": "0%"}, "spec.steps[0].replicas: must be more than 0"),
        ({"replicas": 1, "wiggle": True}, "spec.steps[0].wiggle: unknown field"),
        ({"replicas": 1, "wave": {"subsets": ["x"]}}, "spec.steps[0].wave.subsets[0]: every name must be"),
    ],
)
def test_lint_reports_each_problem_with_the_path_of_the_field(
    tmp_path: Path, step: dict[str, Any], message: str
) -> None:
    application = yaml.safe_load((SAMPLES / "web.yaml").read_text())
    result = linted(tmp_path, with_steps(step), application)
    assert result.exit_code == 2
    assert f"UnitedRollout web: {message}" in result.output


def test_waves_by_labels_of_clusters_are_planned_from_files() -> None:
    cluster: dict[str, Any] = {
        "apiVersion": "uniteddeployment.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"labels": {"tier": "test"}},
        "spec": {"server": "https://x", "credentials": {"secretRef": {"name": "x"}}},
    }
    clusters = [{**cluster, "metadata": {**cluster["metadata"], "name": f"member-{n}"}} for n in (1, 2, 3)]
    clusters[0]["metadata"]["labels"] = {"tier": "live"}
    application = yaml.safe_load((SAMPLES / "web.yaml").read_text())

    def wave(tier: str) -> dict[str, Any]:
        return with_steps({"wave": {"clusterSelector": {"matchLabels": {"tier": tier}}}, "replicas": "100%"})

    text = yaml.safe_dump_all([wave("live"), application, *clusters])
    result = invoked("plan", "-f", "-", stdin=text)
    assert result.stdout.splitlines()[1].split() == ["member-1", "member-1", "4", "4", "4"]
    assert "step 1: clusters with tier=live: 100%" in result.stdout
    refused = invoked("lint", "-f", "-", stdin=yaml.safe_dump_all([wave("none"), application, *clusters]))
    assert "spec.steps[0].wave.clusterSelector: the labels must be" in refused.output
    unknown = invoked("lint", "-f", "-", stdin=yaml.safe_dump_all([wave("none"), application]))
    assert unknown.exit_code == 0, "the labels of the clusters are not known here"


TEMPLATE = {
    "apiVersion": "uniteddeployment.io/v1alpha1",
    "kind": "GateTemplate",
    "metadata": {"name": "errors"},
    "spec": {"args": [{"name": "job"}], "webhook": {"url": "http://checks/{{args.job}}"}},
}


@pytest.mark.parametrize(
    ("gate", "template", "message"),
    [
        ({"args": [{"name": "job", "value": "web"}]}, TEMPLATE, ""),
        ({}, TEMPLATE, "spec.steps[0].gates[0]: the argument job of GateTemplate errors has no value"),
        ({"args": [{"name": "x", "value": "y"}]}, TEMPLATE, "gates[0]: GateTemplate errors has no argument x"),
        ({}, {"kind": "ConfigMap"}, ""),
        ({}, {**TEMPLATE, "spec": {"unknown": 1}}, "GateTemplate errors: spec.unknown: unknown field"),
    ],
)
def test_lint_checks_gates_against_the_templates_in_the_files(
    tmp_path: Path, gate: dict[str, Any], template: dict[str, Any], message: str
) -> None:
    """A template that is not in the files may be in the cluster."""
    rollout = with_steps({"replicas": 1, "gates": [{"name": "errors", **gate}]})
    result = linted(tmp_path, rollout, template)
    assert result.exit_code == (2 if message else 0), result.output
    assert message in result.output


def test_lint_checks_files_that_have_only_templates(tmp_path: Path) -> None:
    assert linted(tmp_path, TEMPLATE).stdout == "GateTemplate errors: valid\n"


def test_lint_without_a_rollout_is_a_usage_error(tmp_path: Path) -> None:
    assert linted(tmp_path, {"kind": "ConfigMap"}).exit_code == 2


STEPS_OF_PLAN = ({"replicas": 1, "pause": {}}, {"replicas": "50%", "bake": "60s"})


def test_the_plan_of_files_shows_the_pods_of_each_cluster_at_each_step() -> None:
    """No cluster is needed if the files have the target, too."""
    text = yaml.safe_dump_all([with_steps(*STEPS_OF_PLAN), yaml.safe_load((SAMPLES / "web.yaml").read_text())])
    result = invoked("plan", "-f", "-", stdin=text)
    assert [line.rstrip() for line in result.stdout.splitlines()] == [
        "SUBSET    CLUSTER   PODS   STEP 1   STEP 2    STEP 3",
        "member-1  member-1     4        1        2         4",
        "member-2  member-2     2        0        1         2",
        "member-3  member-3     2        0        1         2",
        "all       (host)       8  1 (12%)  4 (50%)  8 (100%)".replace("(host)", "      "),
        "",
        "step 1: 1, then wait for approval",
        "step 2: 50%, then bake 60s",
        "step 3: 100%",
    ]


def test_the_plan_for_programs_has_the_partitions() -> None:
    text = yaml.safe_dump_all([with_steps(*STEPS_OF_PLAN), yaml.safe_load((SAMPLES / "web.yaml").read_text())])
    document = json.loads(invoked("plan", "-f", "-", "-o", "json", stdin=text).stdout)
    assert [step["partitions"] for step in document["steps"]] == [
        {"member-1": 3, "member-2": 2, "member-3": 2},
        {"member-1": 2, "member-2": 1, "member-3": 1},
        {"member-1": 0, "member-2": 0, "member-3": 0},
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", "web", "--until", "bored"],
        ["status", "web", "--timeout", "soon"],
        ["plan"],
        ["plan", "web", "-f", "x.yaml"],
        ["plan", "web", "-o", "xml"],
        ["get", "web", "-A"],
        ["get", "web", "-l", "a=b"],
        ["get", "-w", "-o", "json"],
        ["approve", "ud/web"],
        ["approve", "No Name"],
        ["approve", "web", "--step", "0"],
        ["abort", "web", "--timeout", "soon"],
        ["history", "web", "-o", "wide"],
    ],
    ids=" ".join,
)
def test_options_that_mean_nothing_are_usage_errors(arguments: list[str]) -> None:
    result = invoked(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
