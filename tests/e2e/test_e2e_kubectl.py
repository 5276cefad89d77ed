"""Every kubectl command of the documentation, as written, on the life of one application."""

import json
from pathlib import Path

import pytest

from tests.support.applications import application
from tests.support.site import Site

SAMPLES = Path(__file__).parents[2] / "config" / "samples"


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines()]


def test_kubectl_tells_the_whole_life_of_an_application(site: Site) -> None:
    """From apply to delete, with nothing but kubectl (I4, I6)."""
    site.fleet.needs_pods()
    with site.controller():
        site.wait_phase("Running", "udc", *site.fleet.members)
        assert "unchanged" not in site.kubectl("apply", "-f", str(SAMPLES / "web.yaml"))
        site.kubectl("wait", "--for=condition=Ready", "ud/web", "--timeout=60s")
        assert site.all_images() == {"member-1": {"app:1": 4}, "member-2": {"app:1": 2}, "member-3": {"app:1": 2}}

        table = site.kubectl("get", "ud,udc")
        assert "uniteddeployment.uniteddeployment.io/web" in table
        assert [
            line for line in table.splitlines() if "cluster.uniteddeployment.io/member-2" in line and "Running" in line
        ]
        assert "unchanged" in site.kubectl("apply", "-f", str(SAMPLES / "web.yaml"))

        workloads = site.kubectl("get", "sts,pods", "--context", "member-1")
        assert "statefulset.apps/web-member-1" in workloads
        assert workloads.count("pod/web-member-1-") == 4

        site.kubectl("scale", "ud", "web", "--replicas=12")
        site.wait_settled()
        assert site.all_images() == {"member-1": {"app:1": 6}, "member-2": {"app:1": 3}, "member-3": {"app:1": 3}}

        image = {
            "statefulSetTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}}}
        }
        partitions = {"manualUpdate": {"partitions": {"member-1": 4, "member-2": 3, "member-3": 2}}}
        patch = json.dumps({"spec": {"template": image, "updateStrategy": partitions}})
        site.kubectl("patch", "ud", "web", "--type", "merge", "-p", patch)
        site.wait_settled()
        assert site.all_images() == {
            "member-1": {"app:1": 4, "app:2": 2},
            "member-2": {"app:1": 3},
            "member-3": {"app:1": 2, "app:2": 1},
        }
        patch = json.dumps(
            {
                "spec": {
                    "updateStrategy": {"manualUpdate": {"partitions": {"member-1": 0, "member-2": 1, "member-3": 0}}}
                }
            }
        )
        site.kubectl("patch", "ud", "web", "--type", "merge", "-p", patch)
        site.wait_settled()
        assert site.all_images() == {
            "member-1": {"app:2": 6},
            "member-2": {"app:1": 1, "app:2": 2},
            "member-3": {"app:2": 3},
        }

        described = site.kubectl("describe", "ud", "web")
        assert "Name:         web" in described
        assert "Events:" in described
        assert "member-3" in described

        site.kubectl("delete", "ud", "web", "--timeout=60s")
        assert not site.names("ud")
        for member in site.fleet.members:
            assert not site.names("sts", member)


def test_kubectl_and_ud_show_the_same_state_and_never_that_of_an_older_spec(site: Site) -> None:
    """What no controller has looked at is not shown as ready (I8)."""
    site.fleet.needs_pods()

    def kubectl_shows() -> list[str]:
        header, row = rows(site.kubectl("get", "ud", "web"))
        shown = dict(zip(header, row, strict=True))
        return [shown["STATUS"], shown["GENERATION"], shown["OBSERVED"]]

    def ud_shows() -> str:
        return next(line.split()[-2] for line in site.ud("get", "web").stdout.splitlines() if " web " in line)

    with site.controller("--no-leader-elect"):
        site.apply(application())
        site.wait_settled()
        assert (kubectl_shows(), ud_shows()) == (["Ready", "1", "1"], "Ready")
        site.apply(application(image="app:2", member_1=2))
        site.wait_settled()
        assert (kubectl_shows(), ud_shows()) == (["Held", "2", "2"], "Held")
        site.kubectl("patch", "ud", "web", "--type=merge", "-p", '{"spec":{"paused":true}}')
        site.wait_settled()
        assert (kubectl_shows(), ud_shows()) == (["Paused", "3", "3"], "Paused")
    site.kubectl("patch", "ud", "web", "--type=merge", "-p", '{"spec":{"paused":false}}')
    assert (kubectl_shows(), ud_shows()) == (["Paused", "4", "3"], "Progressing")
    waited = site.try_kubectl("wait", "--for=condition=Ready", "--timeout=1s", "ud/web")
    assert "timed out" in waited.stderr, "the condition says which generation it is about, and kubectl looks at that"


@pytest.mark.parametrize("path", ["udc.spec", "ud.spec.topology.subsets.replicas"])
def test_kubectl_explains_our_kinds(shared_site: Site, path: str) -> None:
    explained = shared_site.kubectl("explain", path)
    assert "GROUP:      uniteddeployment.io" in explained
    assert "DESCRIPTION:" in explained
