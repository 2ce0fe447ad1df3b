"""Stage 1 as a mixed-integer linear model whose size does not depend on cycles (solvers.md, section 5).

    start_v     in its window                                            every op
    length      >= start_v + remaining path of v, minimised
    start_v - start_u >= delay - distance * II                           every dependence
    low <= start_v - start_u + II * k <= high                            every pair of arcs that exclude each other; k integer
    where an arc `at` rises, with d_j = (phase of at) - (phase of arc j) + II * k_j, k_j integer:
        0 <= d_j <= II - 1,   d_j >= length_j * (1 - c_j),   amount + sum of amount_j * c_j <= free;   c_j in {0, 1}

For fixed integers the rest is a system of differences with integer sides, so its vertices are integral: starts may be continuous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twill.bounds.gaps import Gaps
from twill.bounds.paths import Arc as Precedence
from twill.modulo.circle import Arc, Peak, Separation
from twill.modulo.windows import Windows


@dataclass(frozen=True)
class Column:
    """A variable in [low, high]; `whole` for integers."""

    name: str
    low: int
    high: int
    whole: bool


@dataclass(frozen=True)
class Row:
    """low <= sum of coefficient * column <= high; None for no limit.  `terms` are (coefficient, column number)."""

    terms: tuple[tuple[int, int], ...]
    low: int | None
    high: int | None


@dataclass(frozen=True)
class LinearModel:
    """Minimise column `objective`.  The first columns are the starts of the ops, in order."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    objective: int


def linear_model(
    windows: Windows,
    gaps: Gaps,
    precedences: Sequence[Precedence],
    pairs: Sequence[Separation],
    peaks: Sequence[Peak],
    floor: int,
) -> LinearModel:
    """The model under the windows `gaps`; `pairs` are those that `windows` was made of."""
    build = _Builder(windows.ii)
    count, origin, end = windows.origin, windows.origin, windows.end
    for v in range(count):
        build.column(f"start_{v}", gaps[origin, v], -gaps[v, origin], whole=False)
    objective = build.column("length", floor, -gaps[end, origin], whole=False)
    for v in range(count):
        build.row([(1, objective), (-1, v)], gaps[v, end], None)
    for u, v, gap in precedences:
        if u != v and gap > build.columns[v].low - build.columns[u].high:
            build.row([(1, v), (-1, u)], gap, None)
    for number, (pair, (first, last)) in enumerate(zip(pairs, windows.turns(gaps), strict=True)):
        build.separate(number, pair, first, last)
    for number, peak in enumerate(peaks):
        build.peak(number, peak, gaps)
    return LinearModel(tuple(build.columns), tuple(build.rows), objective)


class _Builder:
    def __init__(self, ii: int) -> None:
        self.ii = ii
        self.columns: list[Column] = []
        self.rows: list[Row] = []

    def column(self, name: str, low: int, high: int, *, whole: bool) -> int:
        self.columns.append(Column(name, low, high, whole))
        return len(self.columns) - 1

    def row(self, terms: list[tuple[int, int]], low: int | None, high: int | None) -> None:
        self.rows.append(Row(tuple(terms), low, high))

    def separate(self, number: int, pair: Separation, first: int, last: int) -> None:
        difference = [(1, pair.second), (-1, pair.first)]
        if first == last:
            self.row(difference, pair.low - first * self.ii, pair.high - first * self.ii)
            return
        turn = self.column(f"turn_{number}", first, last, whole=True)
        self.row([*difference, (self.ii, turn)], pair.low, pair.high)

    def peak(self, number: int, peak: Peak, gaps: Gaps) -> None:
        covers = []
        for index, arc in enumerate(peak.others):
            distance = self._distance(f"{number}_{index}", peak.at, arc, gaps)
            cover = self.column(f"cover_{number}_{index}", 0, 1, whole=True)
            shift = peak.at.offset - arc.offset
            self.row(distance, -shift, self.ii - 1 - shift)
            self.row([*distance, (arc.length, cover)], arc.length - shift, None)
            covers.append((arc.amount, cover))
        self.row(covers, None, peak.free - peak.at.amount)

    def _distance(self, label: str, at: Arc, arc: Arc, gaps: Gaps) -> list[tuple[int, int]]:
        """Terms of the distance on the circle from the start of `arc` to that of `at`, less the difference of their offsets."""
        shift = at.offset - arc.offset
        least, most = gaps[arc.op, at.op] + shift, -gaps[at.op, arc.op] + shift
        # 0 <= x + k * II <= II - 1 for some x in [least, most].
        turn = self.column(f"turn_{label}", -(most // self.ii), -(least // self.ii), whole=True)
        return [(1, at.op), (-1, arc.op), (self.ii, turn)]
