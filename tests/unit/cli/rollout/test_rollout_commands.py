"""What ``ud rollout`` prints and how it exits, without a cluster; docs/rollouts.md runs the commands against one."""

import copy
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from tests.unit.rollout.fleet import canary
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.cli.main import app
from uniteddeployment.cli.output.table import table
from uniteddeployment.cli.rollout import preview, show, waiting
from uniteddeployment_rollout.loop.objects import RolloutMetadata, StoredRollout
from uniteddeployment_rollout.loop.writes import dumped

SAMPLE = yaml.safe_load((Path(__file__).parents[4] / "config" / "samples" / "rollout.yaml").read_text())
NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)


def stored(controller):
    spec = controller.rollout.spec.model_dump(by_alias=True, exclude_none=True)
    metadata = RolloutMetadata("web", "default", generation=1, creation_timestamp="2026-01-01T00:00:00Z")
    return StoredRollout(metadata, spec, dumped(controller.status))


def released(*, bad=False, **spec):
    fleet, controller = canary(**spec)
    if bad:
        fleet.bad.add("v2")
    fleet.release("v2")
    controller.settle()
    return controller


def printed(columns, rows):
    return [line.plain.rstrip() for line in table(columns, rows, None)]


def test_a_run_is_shown_with_its_subsets():
    lines = printed(show._COLUMNS, show._rows(stored(released()), NOW))
    assert lines[1].split()[:7] == ["web", "web", "Paused", "1/3", "8", "1", "1"]
    assert lines[1].endswith("step 1 of 3: waits for approval")
    assert lines[2].split()[:7] == ["a", "a", "Progressing", "of", "1", "4", "1"]
    assert len(lines) == 5


def test_finished_runs_are_shown_with_their_outcome_and_duration():
    controller = released(steps=[{"replicas": "100%"}])
    (run,) = dumped(controller.status)["history"]
    line = printed(show._HISTORY, [show._run(run, NOW)])[1]
    assert line.split() == ["v2.1", "v1", "v2", "Completed", "1", "0s", "60m", "ago"]


def test_the_plan_shows_the_pods_of_each_subset_at_each_step():
    controller = released(steps=[{"replicas": 1, "pause": {}}, {"replicas": "50%", "bake": "60s"}])
    rows = preview._rows(controller.rollout.spec, {"a": 4, "b": 2, "c": 2})
    assert [list(row.cells.values()) for row in rows] == [
        ["1", "1/4", "0/2", "0/2", "1 of 8 (12%)", "wait for approval"],
        ["2", "2/4", "1/2", "1/2", "4 of 8 (50%)", "bake 60s"],
        ["3", "4/4", "2/2", "2/2", "8 of 8 (100%)", ""],
    ]


@pytest.mark.parametrize(
    ("controller", "code"),
    [
        (released, 4),
        (lambda: released(steps=[{"replicas": 1, "pause": {"duration": "1h"}}]), None),
        (lambda: released(bad=True), None),
    ],
    ids=["waits for approval", "pauses for a time", "progressing"],
)
def test_waiting_ends_early_only_where_time_alone_does_not_help(controller, code):
    rollout = stored(controller())
    phase = rollout.status["phase"]
    if code is None:
        waiting._raise_for(phase, rollout, "line")
        return
    with pytest.raises(CommandError) as caught:
        waiting._raise_for(phase, rollout, "line")
    assert caught.value.code == code


def test_waiting_for_a_degraded_rollout_fails():
    controller = released(bad=True)
    controller.wait(3600)
    with pytest.raises(CommandError) as caught:
        waiting._raise_for("Degraded", stored(controller), "line")
    assert caught.value.code == 1


def linted(tmp_path, document):
    file = tmp_path / "rollout.yaml"
    file.write_text(yaml.safe_dump(document))
    return CliRunner().invoke(app, ["rollout", "lint", "-f", str(file)])


def test_lint_accepts_the_sample(tmp_path):
    result = linted(tmp_path, SAMPLE)
    assert (result.exit_code, result.stdout) == (0, "UnitedRollout web: valid\n")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"replicas": "101%"}, "spec.steps[0].replicas: must be a whole number"),
        ({"replicas": "0%"}, "spec.steps[0].replicas: must be more than 0"),
        ({"replicas": 1, "wiggle": True}, "spec.steps[0].wiggle: unknown field"),
    ],
)
def test_lint_reports_each_problem_with_the_path_of_the_field(tmp_path, step, message):
    document = copy.deepcopy(SAMPLE)
    document["spec"]["steps"] = [step]
    result = linted(tmp_path, document)
    assert result.exit_code == 2
    assert f"UnitedRollout web: {message}" in result.output


def test_lint_without_a_rollout_is_a_usage_error(tmp_path):
    assert linted(tmp_path, {"kind": "ConfigMap"}).exit_code == 2


@pytest.mark.parametrize("options", [["--until", "bored"], ["--timeout", "soon"]])
def test_status_refuses_options_that_mean_nothing(options):
    assert CliRunner().invoke(app, ["rollout", "status", "web", *options]).exit_code == 2
