"""Indexes between labels and selectors return all candidates after any sequence of changes."""

from random import Random

from uniteddeployment.embedded.access import Change
from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.controllers.framework.label_index import LabelIndex, SelectorIndex


def obj(name: str, **labels: str) -> Obj:
    return {"metadata": {"namespace": "ns", "name": name, "labels": labels}}


def test_the_label_index_follows_changes() -> None:
    """After any sequence of changes the index returns what a scan returns, sorted by name."""
    chance = Random(4)
    present: dict[str, Obj] = {"p0": obj("p0", a="1")}
    index = LabelIndex(present.values())
    for _ in range(300):
        name = f"p{chance.randrange(12)}"
        old = present.get(name)
        if old is not None and chance.random() < 0.3:
            del present[name]
            index.note(Change("DELETED", "pods", old, old))
            continue
        new = obj(name, **{key: chance.choice("12") for key in "ab" if chance.random() < 0.7})
        present[name] = new
        index.note(Change("MODIFIED" if old else "ADDED", "pods", new, old))
        for wanted in ({"a": "1"}, {"a": "2", "b": "1"}):
            results = [
                n for n in index.find("ns", wanted) if wanted.items() <= present[n]["metadata"]["labels"].items()
            ]
            scan = sorted(n for n, o in present.items() if wanted.items() <= o["metadata"]["labels"].items())
            assert results == scan


def test_the_selector_index_names_whoever_may_match() -> None:
    index = SelectorIndex()
    index.put(obj("web"), {"app": "web", "tier": "front"})
    index.put(obj("db"), {"app": "db"})
    index.put(obj("expressions"), {})
    assert index.candidates("ns", {"app": "web"}) == ["expressions", "web"]
    assert index.candidates("ns", {"app": "web"}, {"app": "db"}) == ["db", "expressions", "web"]
    assert index.candidates("elsewhere", {"app": "web"}) == []
    index.put(obj("web"), {"app": "db"})
    index.drop(obj("db"))
    index.drop(obj("never"))
    assert index.candidates("ns", {"app": "web"}) == ["expressions"]
    assert index.candidates("ns", {"app": "db"}) == ["expressions", "web"]
