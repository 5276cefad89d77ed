"""The status of a ResourceQuota follows usage."""

from typing import Any

from tests.embedded.infrastructure_kit import NAMESPACE, Site


def config(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


def test_a_quota_follows_what_it_counts_and_nothing_else() -> None:
    site = Site(nodes=1)
    site.create("configmaps", config("before"))
    hard = {"configmaps": "3", "count/nothings.example.com": "10"}
    site.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    site.run()
    assert site.get("resourcequotas", "q")["status"] == {
        "hard": hard,
        "used": {"configmaps": "1", "count/nothings.example.com": "0"},
    }
    site.create("configmaps", config("after"))
    site.create("secrets", config("uncounted"))
    site.run()
    assert site.get("resourcequotas", "q")["status"]["used"]["configmaps"] == "2"
    site.access.delete("configmaps", NAMESPACE, "before")
    site.run()
    assert site.get("resourcequotas", "q")["status"]["used"]["configmaps"] == "1"


def test_a_settled_quota_is_not_written_again() -> None:
    """Without a change there is no write (I3)."""
    site = Site(nodes=1)
    site.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "3"}}})
    site.run()
    version = site.get("resourcequotas", "q")["metadata"]["resourceVersion"]
    site.create("configmaps", config("other"))
    site.run(60)
    assert site.get("resourcequotas", "q")["metadata"]["resourceVersion"] == version


def test_a_quota_that_is_gone_is_counted_no_longer() -> None:
    site = Site(nodes=1)
    site.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "1"}}})
    site.run()
    site.access.delete("resourcequotas", NAMESPACE, "q")
    site.run()
    for name in ("a", "b"):
        site.create("configmaps", config(name))
    site.run()
    assert site.find("resourcequotas", "q") is None
