"""Matrices of least differences: lists and arrays hold the same values, which are those of the longest paths."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from twill.bounds.arrays import ArrayGaps
from twill.bounds.gaps import FAR, ListGaps, Separations
from twill.bounds.paths import earliest, longest_paths, positive_cycle

COUNT = 6
arcs = st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1), st.integers(-9, 6)), max_size=12)


@st.composite
def separations(draw: st.DrawFn) -> Separations:
    ii = draw(st.integers(2, 12))
    pairs = draw(st.lists(st.sampled_from([(u, v) for v in range(COUNT) for u in range(v)]), max_size=6))
    low = [draw(st.integers(1, ii)) for _ in pairs]
    high = [at + draw(st.integers(0, ii - 1)) for at in low]
    return Separations(ii, tuple(u for u, _ in pairs), tuple(v for _, v in pairs), tuple(low), tuple(high))


def values(gaps: ListGaps | ArrayGaps) -> list[int | None]:
    """All values; None where there is no path."""
    return [gaps[u, v] if gaps[u, v] > FAR // 2 else None for u in range(COUNT) for v in range(COUNT)]


@settings(deadline=None, max_examples=200)
@given(arcs, separations(), st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1), st.integers(-5, 9)), max_size=3))
def test_lists_and_arrays_agree(graph: list[tuple[int, int, int]], pairs: Separations, more: list[tuple[int, int, int]]) -> None:
    # As in an iteration of bounded length, every pair has a path in both directions.
    graph = [*graph, *((u, v, -50) for u in range(COUNT) for v in range(COUNT))]
    assume(positive_cycle(COUNT, graph) is None)
    lists, arrays = ListGaps.of(COUNT, graph), ArrayGaps.of(COUNT, graph)
    lists.close()
    arrays.close()
    assert values(lists) == values(arrays)
    copies = lists.copy(), arrays.copy()
    for u, v, gap in more:
        fits = lists.tighten(u, v, gap)
        assert fits == arrays.tighten(u, v, gap)
        graph = [*graph, (u, v, gap)]
        assert fits == (positive_cycle(COUNT, graph) is None)
        if not fits:
            break
        assert values(lists) == values(arrays)
        assert lists.turns(pairs) == arrays.turns(pairs)
        found, others = lists.loose(pairs), arrays.loose(pairs)
        assert (found is None) == (others is None)
        assert found is None or others is None or sorted(found) == sorted(others)
        assert earliest(COUNT, graph) == [max(lists[u, v] for u in range(COUNT)) for v in range(COUNT)]
    assert values(copies[0]) == values(copies[1])


@settings(deadline=None, max_examples=200)
@given(arcs, st.integers(1, COUNT), st.booleans())
def test_essential_arcs_imply_all_gaps_and_each_is_needed(graph: list[tuple[int, int, int]], count: int, bounded: bool) -> None:
    graph = [*graph, *((u, v, -20) for u in range(COUNT) for v in range(COUNT) if bounded)]
    assume(positive_cycle(COUNT, graph) is None)
    lists, arrays = ListGaps.of(COUNT, graph), ArrayGaps.of(COUNT, graph)
    lists.close()
    arrays.close()
    kept = lists.essential(count)
    assert sorted(kept) == sorted(arrays.essential(count))

    def told(arcs: list[tuple[int, int, int]]) -> list[int | None]:
        gaps = longest_paths(COUNT, arcs)
        return [gaps[u, v] if gaps[u, v] > FAR // 2 else None for u in range(count) for v in range(count)]

    whole = [lists[u, v] if lists[u, v] > FAR // 2 else None for u in range(count) for v in range(count)]
    assert told(kept) == whole
    fixed = {v for u in range(count) for v in range(count) if u != v and lists[u, v] + lists[v, u] == 0}
    for arc in kept:
        assert fixed & {*arc[:2]} or told([other for other in kept if other != arc]) != whole
