"""Timed event graphs: the tests T7 to T10, T15 and T16 of the performance model, and graphs whose answers are known."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations, permutations

import pytest

from twill.simulate.eventgraph import Edge, EventGraph, smallest_slots

TAU, LATENCY, STEP, SIGNAL = 100, 600, 128, 40


def graph(*edges: tuple[str, str, int, int] | tuple[str, str, int, int, str]) -> EventGraph:
    """Edges as the performance model writes them: from, to, weight, distance, and the ring that adds its slots to the distance."""
    names = tuple(dict.fromkeys(name for edge in edges for name in edge[:2]))
    at = {name: i for i, name in enumerate(names)}
    return EventGraph(names, tuple(Edge(at[s], at[t], w, d, *rest) for s, t, w, d, *rest in edges))  # type: ignore[arg-type]


def channel(release: int = 0) -> EventGraph:
    """One copy engine and one consumer; `release` matrix products stay in flight before a slot is given back."""
    edges = [
        ("x", "x", TAU, 1),
        ("x", "z", TAU + LATENCY, 0),
        ("z", "z", STEP, 1),
        ("z", "x", STEP + SIGNAL, 0, "ring"),
    ]
    if release:
        edges.append(("z", "x", SIGNAL, -release, "ring"))
    return graph(*edges)


# ---------------------------------------------------------------------------------------------------------------------- T7, T8
LAST = {1: 55384, 2: 27736, 3: 18928, 4: 14104, 5: 11500, 6: 9764, 7: 8764, 8: 8764}


@pytest.mark.parametrize(
    ("slots", "period"),
    [
        (1, 868),
        (2, 434),
        (3, Fraction(868, 3)),
        (4, 217),
        (5, Fraction(868, 5)),
        (6, Fraction(434, 3)),
        (7, 128),
        (8, 128),
    ],
)
def test_one_channel(slots: int, period: Fraction) -> None:
    found = channel().with_slots({"ring": slots})
    assert found.period()[0] == period
    assert found.times(64)[1][63] == LAST[slots]


def test_one_channel_first_times() -> None:
    assert channel().with_slots({"ring": 4}).times(8)[1] == (700, 828, 956, 1084, 1568, 1696, 1824, 1952)


@pytest.mark.parametrize(("slots", "period"), [(2, 740), (3, 370), (4, Fraction(740, 3)), (5, 185), (6, 148), (7, 128), (8, 128)])
def test_slots_given_back_one_product_later(slots: int, period: Fraction) -> None:
    found = channel(release=1).with_slots({"ring": slots})
    assert found.period()[0] == period
    assert found.times(64)[1][63] == {2: 47320, 3: 23768, 6: 9964}.get(slots, found.times(64)[1][63])


def test_one_slot_given_back_one_product_later_hangs() -> None:
    found = channel(release=1).with_slots({"ring": 1})
    assert [(found.events[e.source], found.events[e.target]) for e in found.hang()] in ([("x", "z"), ("z", "x")], [("z", "x"), ("x", "z")])
    with pytest.raises(ValueError, match="can hang"):
        found.period()


# ------------------------------------------------------------------------------------------------------------------------- T9
def attention(groups: int, overlapped: bool, slots: tuple[int, int]) -> EventGraph:
    product, softmax, copy, latency, signal = 512, 900, 512, 700, 40
    edges: list[tuple[str, str, int, int] | tuple[str, str, int, int, str]] = [("LV", "LK", copy, 0), ("LK", "LV", copy, 1)]
    for q in range(groups):
        s, m, o = f"QK{q}", f"SM{q}", f"PV{q}"
        edges += [("LK", s, copy + latency, 0), ("LV", o, copy + latency, 0)]
        edges += [(s, "LK", product + signal, 0, "K"), (o, "LV", product + signal, 0, "V"), (s, m, product, 1), (m, o, softmax, 0)]
        edges += [(s, o, product, 0), (o, s, product, 1), (m, m, softmax, 1)] if overlapped else [(o, s, product, 0)]
    if groups == 2 and overlapped:
        edges += [("PV0", "QK1", product, 0), ("PV1", "QK0", product, 1)]
    elif groups == 2:
        edges += [("QK0", "PV1", product, 0), ("QK1", "PV0", product, 1)]
    return graph(*edges).with_slots(dict(zip("KV", slots, strict=True))) if slots != (0, 0) else graph(*edges)


SLOTS = [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2)]


@pytest.mark.parametrize(
    ("groups", "overlapped", "periods"),
    [
        (1, False, [1924, 1924, 1924, 1924, 1924, 1924]),
        (2, False, [2788, 2788, 2788, 2048, 2048, 2048]),
        (1, True, [2788, 1764, 2788, 1394, 1024, 1394]),
        (2, True, [3812, 2788, 3812, 2048, 2048, 2048]),
    ],
)
def test_attention(groups: int, overlapped: bool, periods: list[int]) -> None:
    assert [attention(groups, overlapped, slots).period()[0] for slots in SLOTS] == periods


def test_critical_cycle_of_ping_pong() -> None:
    found = attention(2, False, (1, 1))
    period, cycle = found.period()
    names = [found.events[edge.source] for edge in cycle]
    begin = next(i for i, name in enumerate(names) if name.startswith("PV"))
    group = names[begin][-1]
    assert period == 2788
    assert names[begin:] + names[:begin] == [f"PV{group}", "LV", "LK", f"QK{1 - int(group)}"]
    weights = [edge.weight for edge in cycle]
    assert (weights[begin:] + weights[:begin], sum(edge.distance for edge in cycle)) == ([552, 512, 1212, 512], 1)


# ------------------------------------------------------------------------------------------------------------------------ T10
@pytest.mark.parametrize(
    ("groups", "overlapped", "target", "slots"),
    [(1, False, 1924, (1, 1)), (2, False, 2048, (2, 2)), (1, True, 1024, (2, 3)), (2, True, 2048, (2, 2))],
)
def test_smallest_rings_of_attention(groups: int, overlapped: bool, target: int, slots: tuple[int, int]) -> None:
    assert smallest_slots(attention(groups, overlapped, (0, 0)), {"K": 1, "V": 1}, target) == dict(zip("KV", slots, strict=True))


@pytest.mark.parametrize("release", [0, 1])
def test_smallest_ring_of_a_channel(release: int) -> None:
    assert smallest_slots(channel(release), {"ring": 1}, 128) == {"ring": 7}
    assert smallest_slots(channel(release), {"ring": 1}, 127) is None


# ------------------------------------------------------------------------------------------------------------------------ T15
def exchange(tokens: int) -> EventGraph:
    """Two groups, each of which takes what the other one made before it makes its own; `tokens` are there at the beginning."""
    return graph(("a", "b", 5, 0), ("b", "a", 7, tokens))


def test_two_groups_that_wait_for_each_other_hang() -> None:
    found = exchange(0)
    assert sorted(found.events[edge.source] for edge in found.hang()) == ["a", "b"]


def test_one_token_makes_them_live() -> None:
    found = exchange(1)
    assert found.hang() == ()
    assert found.period()[0] == 12


# ------------------------------------------------------------------------------------------------------------------------ T16
def random_graph(seed: int) -> EventGraph:
    rng = random.Random(seed)
    events = rng.randint(2, 7)
    order = {event: rng.randint(-2, 2) for event in range(events)}
    edges = []
    for _ in range(rng.randint(events, 3 * events)):
        source, target = rng.randrange(events), rng.randrange(events)
        least = 0 if source < target else 1
        edges.append(Edge(source, target, rng.randint(0, 50), rng.randint(least, least + 2) + order[source] - order[target]))
    return EventGraph(tuple(f"e{n}" for n in range(events)), tuple(edges))


def by_enumeration(found: EventGraph) -> Fraction:
    """Largest ratio over all simple cycles."""
    best = Fraction(0)
    between: dict[tuple[int, int], list[Edge]] = {}
    for edge in found.edges:
        between.setdefault((edge.source, edge.target), []).append(edge)
    for size in range(1, len(found.events) + 1):
        for chosen in combinations(range(len(found.events)), size):
            for rest in permutations(chosen[1:]):
                around = (chosen[0], *rest)
                steps = [between.get((around[i], around[(i + 1) % size]), []) for i in range(size)]
                if all(steps):
                    best = max([best, *_ratios(steps)])
    return best


def _ratios(steps: list[list[Edge]]) -> list[Fraction]:
    totals = {(0, 0)}
    for choices in steps:
        totals = {(w + edge.weight, d + edge.distance) for w, d in totals for edge in choices}
    return [Fraction(w, d) for w, d in totals]


@pytest.mark.parametrize("seed", range(60))
def test_period_is_that_of_the_worst_cycle(seed: int) -> None:
    found = random_graph(seed)
    assert found.hang() == ()
    assert found.period()[0] == by_enumeration(found)


@pytest.mark.parametrize("seed", range(60))
def test_dates_dominate_the_simulation(seed: int) -> None:
    found = random_graph(seed)
    period = -(-found.period()[0] // 1)
    dates = found.dates(period)
    assert dates is not None
    assert found.kept(dates, period) == ()
    for event, times in enumerate(found.times(60)):
        assert all(time <= dates[event] + k * period for k, time in enumerate(times))
    if period > 0:
        assert found.dates(found.period()[0] - Fraction(1, 1000)) is None or found.period()[0] == 0


@pytest.mark.parametrize("seed", range(20))
def test_simulation_reaches_the_period(seed: int) -> None:
    found = random_graph(seed)
    period = found.period()[0]
    times = found.times(120)
    fastest = max((Fraction(each[119] - each[59], 60) for each in times), default=Fraction(0))
    assert fastest <= period
    assert period - fastest < Fraction(50, 10)


def test_empty_graph() -> None:
    assert EventGraph((), ()).period() == (0, ())
    assert EventGraph((), ()).times(3) == ()
