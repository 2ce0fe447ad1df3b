"""One attempt at one interval: ops are placed, and ejected again by others, until all are placed or the budget is used up."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twill.bounds.gaps import FAR
from twill.ejection.board import NEVER, Board, Excess
from twill.ejection.table import Numbers, Table, Truths
from twill.schedule import Placement, Schedule

# Cost of ejecting an op of weight 1, beside which cycles and registers decide only between places that eject the same.
EJECTION = 1e6
# Places of one op in one group, and in all groups together, at which it is looked whether values fit, as long as none is found.
PLACES = 16
ALL_PLACES = 40
# Groups of one op that are looked at.
GROUPS = 6
# Words of registers that weigh as much as all of a memory does.
WORDS = 16384
# Cost of leaving the group that was proposed, and of a value that leaves its group; of the latter, in cycles of a value of WORDS / 4.
MOVED, LEFT = 200.0, 100.0
# Weight of the lives of values beside the distance from a hint.
HINTED = 0.1
# Weights of which multiples make an op eject what is around it.
STUCK = 8
# Times that a value is ejected for one placement.
ROUNDS = 20

Costs = NDArray[np.float64]


@dataclass(frozen=True)
class _Around:
    """What is placed around an op, whatever its group: ops, their starts, gaps from and to them, starts that units exclude (low, high,
    op), and the earliest starts of users of its values that are not placed."""

    others: Numbers
    at: Numbers
    lead: Numbers
    tail: Numbers
    bans: tuple[Numbers, Numbers, Numbers]
    expected: dict[int, int]


class Attempt:
    """One attempt.

    proposed  a warp group for every op, from which one is only moved with a reason
    hints     a start for every op, near which it is placed; None: ops start so that values live short
    steps     placements so far
    """

    def __init__(self, table: Table, proposed: Sequence[int], seed: int, hints: Sequence[int] | None = None) -> None:
        self.table, self.ii, self.proposed, self.hints = table, table.ii, proposed, hints
        self.board = Board(table)
        self.weight = np.ones(table.count)
        self.steps = 0
        self._draw = random.Random(seed)
        self._order = sorted(range(table.count), key=lambda v: (-int(table.height[v]) if hints is None else hints[v], v), reverse=True)
        self._seen = np.zeros(table.count, dtype=bool)
        self._worth = self._worths()
        self._sinks = self._pulls()

    def run(self, steps: int) -> bool:
        """Place ops until all are placed; False when that many steps more were not enough."""
        for _ in range(steps):
            missing = np.flatnonzero(~self.board.placed)
            if not len(missing):
                return True
            v = self._next(missing)
            self._seen[v] = True
            self._place(v)
            self.steps += 1
        return bool(self.board.placed.all())

    def schedule(self) -> Schedule:
        """The schedule of a board on which all ops are placed."""
        board, ops = self.board, self.table.problem.ops
        first, names = int(board.start.min()), {0: 0}
        for g in board.group:
            names.setdefault(int(g), len(names))
        placements = tuple(
            Placement(op.name, int(board.start[v]) - first, names[int(board.group[v])]) for v, op in enumerate(self.table.problem.ops)
        )
        return Schedule(self.ii, max(p.start + op.span for p, op in zip(placements, ops, strict=True)), placements)

    def _next(self, missing: Numbers) -> int:
        """Turn about what has never been placed, in order, and what was hardest to place of what was ejected, with some chance."""
        ejected = [int(v) for v in missing if self._seen[v]]
        if self._order and not (ejected and self._draw.random() < 0.5):
            return self._order.pop()
        return max(ejected, key=lambda v: self.weight[v] * (0.5 + self._draw.random()))

    def _worths(self) -> Costs:
        """What a cycle of the life of each value costs."""
        limits = self.table.problem.limits
        whole = [WORDS, *(max(1, size) for _, size in limits.memories)]
        return np.array([1e-3 + 4 * value.size / whole[value.pool + 1] for value in self.table.values])

    def _pulls(self) -> Costs:
        """What a cycle later saves or, negative, costs of each op: its own values live shorter, those that it uses longer."""
        pulls = np.zeros(self.table.count)
        for value, worth in zip(self.table.values, self._worth, strict=True):
            pulls[value.owner] += worth
            for user, _ in value.uses:
                pulls[user] -= worth
        return pulls

    def _groups(self, v: int) -> list[int]:
        """Groups that op v can be in, the likeliest first."""
        table, board = self.table, self.board
        if not table.free[v]:
            return [0]
        kin = np.flatnonzero(board.placed & (table.kin == table.kin[v]))
        if len(kin):
            return [int(board.group[kin[0]])]
        widths, most = board.widths(), table.problem.limits.warps
        total, mine = sum(widths.values()), int(table.width[v])
        warps = {int(g): table.problem.ops[u].warps for u, g in enumerate(board.group) if board.placed[u]}
        mixed = table.problem.rules.mixed
        fitting = [g for g, w in widths.items() if total + max(0, mine - w) <= most and (mixed or warps[g] == table.problem.ops[v].warps)]
        if total + mine <= most:
            unused = (g for g in range(1, len(widths) + 2) if g not in widths)
            fitting.append(self.proposed[v] if self.proposed[v] not in widths else next(unused))
        near = {int(board.group[u]) for u in np.flatnonzero(board.placed & (table.moves[v] | table.moves[:, v]))}
        load = {g: int(table.window[board.placed & (board.group == g)].sum()) for g in fitting}
        return sorted(fitting, key=lambda g: (g not in near, g != self.proposed[v], load[g], g))[:GROUPS]

    def _place(self, v: int) -> None:
        """Put op v where that ejects least, and eject what is in its way."""
        around = self._around(v)
        options = [option for group in self._groups(v) for option in self._options(v, group, around)]
        if not options:
            self._empty_group(v)
            return
        best: tuple[float, int, int, tuple[int, ...]] | None = None
        for cost, group, start, ejected in sorted(options)[:ALL_PLACES]:
            if best is not None and best[0] <= cost:
                break
            cost += self._pressure(v, start, group, ejected)
            if best is None or cost < best[0]:
                best = cost, group, start, ejected
        assert best is not None
        _, group, start, ejected = best
        before = self.weight[v]
        self.weight[v] += bool(ejected)
        for o in ejected:
            self.board.remove(o)
        self.board.place(v, start, group)
        self._relieve(v)
        if before // STUCK < self.weight[v] // STUCK:
            self._shake(v)

    def _shake(self, v: int) -> None:
        """Eject what is around op v, which has come back so often that the same few ops must be ejecting each other in turn."""
        for o in np.flatnonzero(self.table.close[v] & self.board.placed):
            self.board.remove(int(o))

    def _empty_group(self, v: int) -> None:
        """No warps are left for op v: those of the group with the fewest ops are."""
        board = self.board
        sizes = {g: int((board.placed & (board.group == g)).sum()) for g in board.widths()}
        group = min(sizes, key=lambda g: (sizes[g], g))
        self.weight[v] += 1
        for o in np.flatnonzero(board.placed & (board.group == group)):
            board.remove(int(o))

    def _options(self, v: int, group: int, around: _Around) -> list[tuple[float, int, int, tuple[int, ...]]]:
        """(cost, group, start, ops to be ejected) of the best places of op v in a group."""
        board, table = self.board, self.table
        starts, conflicts, first, last = self._places(v, group, around)
        conflicts[:, board.begin_to_wait(v, group)] = True
        cost = (conflicts @ self.weight) * EJECTION
        if self.hints is None:
            cost += self._lives(v, starts, around)
            if self._sinks[v] > 0 and around.expected and last is not None:
                cost += self._sinks[v] * np.abs(starts - last)
            else:
                cost += 1e-3 * np.abs(starts - (int(starts[0]) if first is None else first))
        else:
            cost += HINTED * self._lives(v, starts, around) + np.abs(starts - self.hints[v])
        if table.free[v]:
            leaving = (table.moves[v] | table.moves[:, v]) & board.placed & (board.group != group)
            cost += LEFT * int(leaving.sum()) + (0.0 if group == self.proposed[v] else MOVED)
        best = np.argsort(cost, kind="stable")[:PLACES]
        return [(float(cost[k]), group, int(starts[k]), tuple(map(int, np.flatnonzero(conflicts[k])))) for k in best]

    def _around(self, v: int) -> _Around:
        board, table = self.board, self.table
        others = np.flatnonzero(board.placed)
        at = board.start[others]
        users = {user for k in table.touched[v] if table.values[k].owner == v for user, _ in table.values[k].uses}
        missing = sorted(user for user in users - {v} if not board.placed[user])
        earliest = (at[:, None] + table.gap[others][:, missing]).max(axis=0, initial=FAR)
        expected = {user: int(start) for user, start in zip(missing, earliest, strict=True) if start > FAR // 2}
        ops, low, high = table.bans[v]
        on = board.placed[ops]
        ops, low, high = ops[on], low[on] + board.start[ops[on]], high[on] + board.start[ops[on]]
        return _Around(others, at, table.gap[others, v], table.gap[v, others], (low, high, ops), expected)

    def _places(self, v: int, group: int, around: _Around) -> tuple[Numbers, Truths, int | None, int | None]:
        """Starts of op v worth a look, which placed ops each of them excludes, and the earliest and the latest that dependences allow.

        Only where it touches something: a dependence, another op of its unit or group, or what its users are expected to wait for.
        """
        board, table, ii = self.board, self.table, self.ii
        others, at = around.others, around.at
        same = board.group[others] == group
        early = at + np.maximum(around.lead, np.where(same, FAR, table.crossing[others, v]))
        late = at - np.maximum(around.tail, np.where(same, FAR, table.crossing[v, others]))
        low, high, who = self._bans(v, others[same], board.would_wait(v, group), around)
        first, last = int(early.max(initial=FAR)), int(late.min(initial=-FAR))
        bounded, limited = first > FAR // 2, last < -(FAR // 2)
        windows = [first] if bounded else []
        windows += [last - ii + 1] if limited and (not bounded or first > last) else []
        wanted = [end - int(table.gap[v, user]) for user, end in around.expected.items() if table.gap[v, user] > FAR // 2]
        touching = np.concatenate([high + 1, low - 1, np.array([*wanted, *([last] if limited else [])], dtype=np.int64)])
        found = [np.append(base + (touching - base) % ii, (base, base + ii - 1)) for base in windows or [0]]
        starts = np.unique(np.concatenate(found))
        conflicts = np.zeros((len(starts), table.count), dtype=bool)
        which, ban = np.nonzero((starts[:, None] - low[None, :]) % ii <= (high - low)[None, :])
        conflicts[which, who[ban]] = True
        conflicts[:, others] |= (early[None, :] > starts[:, None]) | (late[None, :] < starts[:, None])
        return starts, conflicts, first if bounded else None, last if limited else None

    def _bans(self, v: int, mates: Numbers, waits: bool, around: _Around) -> tuple[Numbers, Numbers, Numbers]:
        """Starts low .. high of op v, modulo the interval, that the placed ops exclude: on units, and `mates` in its group."""
        board, table = self.board, self.table
        ordered = table.problem.rules.in_order
        issue = table.issue[mates] * bool(ordered and table.issue[v] > 0)
        mine = np.where(table.issue[mates] > 0, table.issue[v], 0) * bool(ordered)
        after = np.maximum(table.window[mates] if waits else 0, issue)
        before = np.maximum(np.where(board.waiting[mates], table.window[v], 0), mine)
        on = (after > 0) | (before > 0)
        mates, after, before = mates[on], after[on], before[on]
        at = board.start[mates]
        low, high, ops = around.bans
        return (
            np.concatenate([low, at - np.maximum(before - 1, 0)]),
            np.concatenate([high, at + np.maximum(after - 1, 0)]),
            np.concatenate([ops, mates]),
        )

    def _lives(self, v: int, starts: Numbers, around: _Around) -> Costs:
        """What the lives of values cost when op v is placed at each of the starts."""
        board, table, expected = self.board, self.table, around.expected
        cost = np.zeros(len(starts))
        for k in table.touched[v]:
            value = table.values[k]
            if value.owner == v:
                ends = [int(board.start[user]) + after for user, after in value.uses if user != v and board.placed[user]]
                ends += [expected[user] + after for user, after in value.uses if user in expected]
                cost += self._worth[k] * np.maximum(0, max(ends) - starts) if ends else 0.0
            elif board.placed[value.owner]:
                begun = max(int(board.start[value.owner]), int(board.until[k]) if board.until[k] > NEVER else FAR)
                cost += self._worth[k] * np.maximum(0, starts + dict(value.uses)[v] - begun)
        return cost

    def _pressure(self, v: int, start: int, group: int, ejected: tuple[int, ...]) -> float:
        """Cost of what would have to be ejected because values do not fit, when op v is put there."""
        board = self.board
        kept = [(o, int(board.start[o]), int(board.group[o])) for o in ejected]
        for o in ejected:
            board.remove(o)
        board.place(v, start, group)
        found = board.excess(v)
        board.remove(v)
        for o, at, g in kept:
            board.place(o, at, g)
        if found is None:
            return 0.0
        owners = [self.table.values[k].owner for k in found.values]
        return EJECTION * (1 + found.share) * float(np.median(self.weight[owners]))

    def _relieve(self, v: int) -> None:
        """Eject ends of values until all fit; op v itself only when nothing else helps."""
        for _ in range(ROUNDS):
            found = self.board.excess(v)
            if found is None:
                return
            lightest = self._lightest(v, found)
            self.weight[v] += 0.5
            for o in lightest:
                self.board.remove(o)
            if v in lightest:
                return

    def _lightest(self, v: int, found: Excess) -> tuple[int, ...]:
        """The ends of the value, of those that take something, that weigh least for what it takes."""
        options = []
        for k, taken in zip(found.values, found.taken, strict=True):
            ends = tuple(o for o in dict.fromkeys(self.board.ends(k)) if o != v)
            if taken > 0 and ends:
                options.append((sum(self.weight[o] for o in ends) / taken * (0.75 + 0.5 * self._draw.random()), ends))
        return min(options)[1] if options else (v,)
