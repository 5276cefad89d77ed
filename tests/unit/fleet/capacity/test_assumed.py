"""Room is kept for pods that were assigned and have not appeared, and for no others."""

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from uniteddeployment.fleet.capacity.assumed import ASSUMED_SECONDS, Assumed, Demanded
from uniteddeployment.fleet.capacity.sums import SubsetKey

WEB, DB = ("default", "web", "a"), ("default", "db", "a")
SMALL, LARGE = Demanded((("cpu", 100),)), Demanded((("cpu", 900),))


def missing(assumed: Assumed, now: float = 0.0, *apart_from: SubsetKey, zones: frozenset[str] | None = None) -> int:
    """The missing pods of all requests."""
    return sum(pods for _, pods in assumed.missing(apart_from, zones, now))


def test_assigned_pods_count_until_the_cluster_shows_them() -> None:
    assumed = Assumed()
    assumed.assign(WEB, 3, SMALL, shown=1, now=0)
    assert missing(assumed) == 2
    assumed.show(WEB, 2, 1)
    assert missing(assumed) == 1
    assumed.show(WEB, 3, 2)
    assert missing(assumed) == len(assumed) == 0


def test_an_application_does_not_count_its_own_pods() -> None:
    """They are no reason to place them elsewhere."""
    assumed = Assumed()
    assumed.assign(WEB, 3, SMALL, shown=0, now=0)
    assumed.assign(DB, 2, SMALL, shown=0, now=0)
    assert (missing(assumed, 0, WEB), missing(assumed, 0, DB), missing(assumed, 0, WEB, DB)) == (2, 3, 0)


def test_pods_that_are_not_assigned_any_more_do_not_count() -> None:
    assumed = Assumed()
    assumed.assign(WEB, 3, SMALL, shown=0, now=0)
    assumed.assign(WEB, 1, SMALL, shown=0, now=0)
    assert missing(assumed) == 1
    assumed.drop(WEB)
    assert missing(assumed) == len(assumed) == 0


def test_pods_that_do_not_appear_count_for_a_time_and_each_pod_that_appears_extends_it() -> None:
    """Passes that assign the same number do not extend it, and another number does."""
    assumed = Assumed()
    assumed.assign(WEB, 3, SMALL, shown=0, now=0)
    assumed.show(WEB, 1, 50)
    assumed.assign(WEB, 3, SMALL, shown=1, now=100)
    assert missing(assumed, 49 + ASSUMED_SECONDS) == 2
    assert missing(assumed, 50 + ASSUMED_SECONDS) == 0
    assumed.assign(WEB, 3, SMALL, shown=1, now=120)
    assert missing(assumed, 120) == 0
    assumed.show(WEB, 2, 130)
    assert missing(assumed, 130) == 1
    assumed.assign(WEB, 4, SMALL, shown=2, now=400)
    assert missing(assumed, 400) == 2


def test_only_pods_that_may_run_in_the_zones_count() -> None:
    assumed = Assumed()
    assumed.assign(WEB, 3, Demanded(SMALL.amounts, frozenset("ab")), shown=0, now=0)
    assert [missing(assumed, zones=zones) for zones in (None, frozenset("a"), frozenset("bc"), frozenset("c"))] == [
        3, 3, 3, 0,
    ]  # fmt: skip


@dataclass
class Naive:
    """The same rules, without sums that are kept."""

    known: dict[SubsetKey, tuple[int, Demanded, int, float]] = field(default_factory=dict)

    def assign(self, subset: SubsetKey, pods: int, demanded: Demanded, shown: int, now: float) -> None:
        before = self.known.get(subset)
        if pods <= shown:
            self.known.pop(subset, None)
        elif before is not None and before[:2] == (pods, demanded):
            self.show(subset, shown, now)
        else:
            self.known[subset] = (pods, demanded, shown, now)

    def show(self, subset: SubsetKey, shown: int, now: float) -> None:
        if subset not in self.known:
            return
        pods, demanded, before, since = self.known[subset]
        self.known[subset] = (pods, demanded, shown, now if shown > before else since)
        if shown >= pods:
            del self.known[subset]

    def missing(self, now: float, apart_from: SubsetKey) -> Counter[tuple[tuple[str, int], ...]]:
        count: Counter[tuple[tuple[str, int], ...]] = Counter()
        for subset, (pods, demanded, shown, since) in self.known.items():
            if subset != apart_from and now - since < ASSUMED_SECONDS:
                count[demanded.amounts] += pods - shown
        return count


SUBSETS = [("default", "web", "a"), ("default", "web", "b"), ("default", "db", "a")]
subsets = st.sampled_from(SUBSETS)
moves = st.lists(
    st.tuples(
        st.sampled_from(["assign", "show", "drop", "ask"]),
        subsets,
        st.integers(0, 4),
        st.integers(0, 4),
        st.sampled_from([SMALL, LARGE]),
        st.sampled_from([0, 1, 30, 70]),
    ),
    max_size=30,
)


@given(moves, subsets)
def test_reservations_are_those_of_a_naive_account(
    history: list[tuple[str, SubsetKey, int, int, Demanded, int]], own: SubsetKey
) -> None:
    """After any assignments, appearances and pauses, asked at any time. Nothing is left when all pods are shown."""
    assumed, naive, now = Assumed(), Naive(), 0.0
    for kind, subset, pods, shown, demanded, pause in history:
        now += pause
        if kind == "assign":
            assumed.assign(subset, pods, demanded, shown=shown, now=now)
            naive.assign(subset, pods, demanded, shown, now)
        elif kind == "show":
            assumed.show(subset, shown, now)
            naive.show(subset, shown, now)
        elif kind == "drop":
            assumed.drop(subset)
            naive.known.pop(subset, None)
        else:
            assert Counter(dict(assumed.missing([own], None, now))) == naive.missing(now, own)
    assert Counter(dict(assumed.missing([own], None, now))) == naive.missing(now, own)
    for subset in SUBSETS:
        assumed.show(subset, 9, now)
    assert len(assumed) == 0
    assert not dict(assumed.missing([], None, now))
