"""Properties of server-side apply: idempotence, ownership and removal."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.embedded.managed_fields.apply_kit import Obj, apply_thing, owners, thing
from uniteddeployment.embedded.managed_fields import field_set as fieldset

texts = st.sampled_from(["x", "y"])


def _name_of(item: Any) -> str:
    return str(item["name"])


specs = st.fixed_dictionaries(
    {},
    optional={
        "text": texts,
        "set": st.lists(st.sampled_from("abc"), unique=True, min_size=1, max_size=3),
        "amap": st.dictionaries(st.sampled_from("pq"), texts, min_size=1, max_size=2),
        "atomicmap": st.dictionaries(st.sampled_from("pq"), texts, max_size=2),
        "free": st.dictionaries(st.sampled_from("pq"), texts | st.just({"r": 1}), min_size=1, max_size=2),
        "byname": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("ab")}, optional={"val": texts}),
            unique_by=_name_of,
            min_size=1,
            max_size=2,
        ),
    },
)
applies = st.lists(st.tuples(st.sampled_from(["m", "n"]), specs), min_size=1, max_size=5)


def history(writes: list[tuple[str, Obj]]) -> Obj:
    live: Obj | None = None
    for manager, spec in writes:
        live = apply_thing(live, thing(spec or None), manager, force=True)
    assert live is not None
    return live


@given(applies)
def test_applying_twice_is_applying_once(writes: list[tuple[str, Obj]]) -> None:
    live = history(writes)
    manager, spec = writes[-1]
    assert apply_thing(live, thing(spec or None), manager, at=9, force=True) == live


@given(applies)
def test_applied_fields_are_set_and_owned(writes: list[tuple[str, Obj]]) -> None:
    live = history(writes)
    manager, spec = writes[-1]
    mine = owners(live).get(manager, {})
    if "text" in spec:
        assert live["spec"]["text"] == spec["text"]
        assert fieldset.has(mine, ("f:spec", "f:text"))
    for item in spec.get("set", ()):
        assert item in live["spec"]["set"]
        assert fieldset.has(mine, ("f:spec", "f:set", fieldset.value(item)))
    for item in spec.get("byname", ()):
        assert any(item.items() <= result.items() for result in live["spec"]["byname"])
        assert fieldset.has(mine, ("f:spec", "f:byname", fieldset.key({"name": item["name"]})))


@given(applies)
def test_a_field_without_any_owner_left_is_removed(writes: list[tuple[str, Obj]]) -> None:
    live = history(writes)
    for manager in ("m", "n"):
        live = apply_thing(live, thing(), manager, force=True)
    assert not owners(live)
    assert not live.get("spec")
