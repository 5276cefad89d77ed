"""``config/`` as documented: the installation on the host, and the rights in a member."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.site import Site

CONFIG = Path(__file__).parents[2] / "config"


@pytest.fixture
def cleared(bare_site: Site) -> Iterator[Site]:
    """Takes away afterwards what the installation has brought, but for the CRDs, which the fleet had before."""
    yield bare_site
    installed = list(yaml.safe_load_all(bare_site.kubectl("kustomize", str(CONFIG))))
    rest = [one for one in installed if one["kind"] != "CustomResourceDefinition"]
    delete = ["delete", "--ignore-not-found", "--wait=false", "-f"]
    bare_site.kubectl(*delete, "-", stdin=yaml.safe_dump_all(rest))
    bare_site.kubectl(
        "delete", "--ignore-not-found", "--wait=false", "-k", str(CONFIG / "member"), "--context", "member-1"
    )


def test_every_sample_is_accepted(bare_site: Site) -> None:
    for sample in sorted((CONFIG / "samples").glob("*.yaml")):
        assert "created" in bare_site.kubectl("apply", "--dry-run=server", "-f", str(sample)), sample.name


def test_the_documented_installation_is_accepted(cleared: Site) -> None:
    done = cleared.try_kubectl("apply", "-k", str(CONFIG))
    assert done.returncode == 0, done.stderr
    kinds = {line.partition("/")[0].partition(".")[0] for line in done.stdout.splitlines()}
    assert {"namespace", "customresourcedefinition", "clusterrole", "clusterrolebinding", "deployment"} <= kinds
    again = cleared.kubectl("apply", "-k", str(CONFIG))
    assert all(line.endswith("unchanged") for line in again.splitlines()), again
    cleared.kubectl("apply", "-k", str(CONFIG / "member"), "--context", "member-1")
