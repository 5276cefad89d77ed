"""``ud adopt --owner-lost``: the choice of the lost UnitedDeployment, and the options that belong to it."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from uniteddeployment.cli.adopt.lost_owner import Lost, choose
from uniteddeployment.cli.errors import CommandError
from uniteddeployment.cli.program import app

ONE, TWO = "0b4fd3f6-5d2f-4f0c-9d3f-3f0a5a4a0f11", "ffffffff-5d2f-4f0c-9d3f-3f0a5a4a0f11"


def lost(*uids: str) -> list[Lost]:
    return [Lost("default/member-1", "StatefulSet", "web-member-1", 2, uid) for uid in uids]


def test_the_only_lost_owner_is_chosen() -> None:
    assert choose("default/web", lost(ONE, ONE), "") == ONE
    assert choose("default/web", lost(ONE), ONE) == ONE


def test_of_several_lost_owners_the_user_chooses() -> None:
    with pytest.raises(CommandError) as caught:
        choose("default/web", lost(ONE, TWO, ONE), "")
    assert str(caught.value) == (
        f"the workloads of default/web have 2 different owners: {ONE} (2 workloads), {TWO} (1 workload). "
        "Choose one with --owner-uid"
    )
    assert choose("default/web", lost(ONE, TWO, ONE), TWO) == TWO


def test_a_uid_that_no_workload_has_is_refused() -> None:
    with pytest.raises(CommandError, match=rf"no workload of default/web has the owner uid {TWO}; there are: {ONE}"):
        choose("default/web", lost(ONE), TWO)


@pytest.mark.parametrize("wanted", ["", ONE])
def test_without_lost_workloads_there_is_nothing_to_take_back(wanted: str) -> None:
    with pytest.raises(CommandError, match="there is nothing to take back"):
        choose("default/web", [], wanted)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["web", "--owner-lost", "--name", "web"], "--owner-lost cannot be combined with --name"),
        (["web", "--owner-lost", "--cluster", "a"], "--owner-lost cannot be combined with --name, --cluster"),
        (["web", "--owner-lost", "--subset", "a"], "cannot be combined with --name, --cluster or --subset"),
        (["sts/web", "--owner-lost"], "'sts/web' is not a UnitedDeployment"),
        (["web", "--owner-lost", "-o", "xml"], "--output must be yaml or json"),
        (["sts/web", "--name", "web", "--owner-uid", ONE], "--owner-uid and --filename need --owner-lost"),
        (["sts/web", "--name", "web", "-f", "x.yaml"], "--owner-uid and --filename need --owner-lost"),
        (["sts/web"], "--name is required"),
        (["sts/web", "--name", "Web"], "'Web' is not a valid name"),
    ],
)
def test_options_that_do_not_fit_are_invalid_usage(arguments: list[str], said: str) -> None:
    """They are reported before the kubeconfig is read."""
    result = CliRunner().invoke(app, ["adopt", *arguments, "--kubeconfig", "/does/not/exist"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


@pytest.mark.parametrize("metadata", [{"name": "other"}, {"name": "web", "namespace": "shop"}])
def test_a_manifest_of_another_object_is_invalid_usage(metadata: dict[str, str], tmp_path: Path) -> None:
    file, kubeconfig = tmp_path / "other.yaml", tmp_path / "kubeconfig"
    kubeconfig.write_text("{}")
    document = {"apiVersion": "uniteddeployment.io/v1alpha1", "kind": "UnitedDeployment", "metadata": metadata}
    file.write_text(yaml.safe_dump(document))
    arguments = ["adopt", "web", "--owner-lost", "-n", "default", "-f", str(file), "--kubeconfig", str(kubeconfig)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert f"no UnitedDeployment web of namespace default in {file}" in result.stderr
