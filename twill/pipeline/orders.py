"""Tokens: which group may use a unit next, where groups use it in turns and nothing else keeps them in order (ping-pong).

A unit that works on what it was given while its groups go on takes ops as they come.  The schedule says in which order they must come,
so the group that is first passes a token to the one that is next.  Units that threads use while they wait for them are left to the
hardware, which mixes warps instruction by instruction.

A named barrier holds one token.  So a group may pass it again only when it knows that it was taken; it does when it takes a token of
the other group in between.  Where there is none, one is added for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from twill.errors import Unsupported
from twill.pipeline.places import Place, Places
from twill.pipeline.program import Instruction, Issue, Queue, Token
from twill.pipeline.rings import Ring
from twill.pipeline.timeline import Timeline

NAMED_BARRIERS = 16

Link = tuple[str, str, int]
"""What comes first, what comes after it, and by how many iterations the latter is later."""


@dataclass(frozen=True)
class Turnover:
    """`after`, `distance` iterations later, is the next op on `unit` behind `before`."""

    unit: str
    before: str
    after: str
    distance: int


def tokens(at: Places, rings: tuple[Ring, ...], bodies: Mapping[int, tuple[Instruction, ...]]) -> tuple[Token, ...]:
    """Tokens for all units that groups share in turns; none where data, rings or program order already keep the order.

    Raises Unsupported when they need more named barriers than a block has.
    """
    tl = at.tl
    links = [*_dependences(tl), *_ring_links(rings), *_program_order(bodies)]
    found: list[Token] = []
    for turn in _turnovers(tl):
        if not _implied(links, turn):
            found.append(Token("", turn.unit, turn.before, turn.after, tl.group[turn.before], tl.group[turn.after], turn.distance, 0))
            links.append((turn.before, turn.after, turn.distance))
    named = [replace(token, name=f"{token.unit}.{n}", barrier=1 + len(bodies) + n) for n, token in enumerate(found)]
    for token in tuple(named):
        if not any(_tells(at, token, other) for other in named if not other.answers):
            named.append(_answer(token, f"{token.unit}.{len(named)}", 1 + len(bodies) + len(named)))
    if len(bodies) + len(named) >= NAMED_BARRIERS:
        raise Unsupported(
            f"the order of groups on {named[0].unit} needs {len(named)} named barriers besides those of {len(bodies)} groups."
        )
    return tuple(named)


def shared(tl: Timeline) -> tuple[str, ...]:
    """Units with one server that several groups give work to and do not wait for: matrix products, as far as we know."""
    found = []
    for unit, servers in tl.problem.limits.units:
        givers = {
            tl.group[op.name]
            for op in tl.problem.ops
            for row in op.reservations
            if row.unit == unit and row.duration > op.issue and tl.queues[op.name] in (Queue.NONE, Queue.WGMMA, Queue.TENSOR)
        }
        if servers == 1 and len(givers) > 1:
            found.append(unit)
    return tuple(found)


def _turnovers(tl: Timeline) -> Iterable[Turnover]:
    """Changes of group on shared units, in the order of one turn of the schedule."""
    for unit in shared(tl):
        users = [
            (tl.start[op.name] + row.offset, op.name)
            for op in tl.problem.ops
            for row in op.reservations
            if row.unit == unit and row.duration
        ]
        users.sort(key=lambda user: (user[0] % tl.ii, user[1]))
        for (begin, before), (then, after) in zip(users, [*users[1:], *users[:1]], strict=True):
            if tl.group[before] != tl.group[after]:
                yield Turnover(unit, before, after, -(-(begin - then) // tl.ii))


# ------------------------------------------------------------------------------------------------------- passing and taking
def given(at: Places, token: Token) -> Place:
    """Where the token of iteration 0 is passed: behind its op."""
    return at.at(token.before, 1)


def taken(at: Places, token: Token) -> Place:
    """Where it is taken: before its op."""
    return at.at(token.after, -1, token.distance)


def _tells(at: Places, token: Token, other: Token) -> bool:
    """Whether taking `other` tells the giver of `token` that it was taken, before it passes it again.

    The taker passes `other`, that of the same iteration or of the next one, behind its take; the giver takes that before its next
    pass.  With this the same holds from one execution of the loop to the next.
    """
    if (other.giver, other.taker) != (token.taker, token.giver):
        return False
    ii = at.tl.ii
    return any(
        taken(at, token) < given(at, other).later(later * ii) and taken(at, other).later(later * ii) < given(at, token).later(ii)
        for later in (0, 1)
    )


def _answer(token: Token, name: str, barrier: int) -> Token:
    return Token(name, token.unit, token.after, token.before, token.taker, token.giver, 1, barrier, answers=token.name)


# ------------------------------------------------------------------------------------------------------------- what is implied
def _dependences(tl: Timeline) -> list[Link]:
    return [(dep.src, dep.dst, dep.distance) for dep in tl.problem.dependences]


def _ring_links(rings: tuple[Ring, ...]) -> list[Link]:
    """A slot is filled again only after its readers began."""
    return [(use.op, ring.values[0], ring.slots - use.distance) for ring in rings for use in ring.readers if not ring.copied]


def _program_order(bodies: Mapping[int, tuple[Instruction, ...]]) -> list[Link]:
    """Each op of a group before the next one; the last one of a turn before the first one of the next turn."""
    links = []
    for body in bodies.values():
        ops = [i for i in body if isinstance(i, Issue)]
        for first, second in zip(ops, [*ops[1:], *ops[:1]], strict=True):
            turn = 1 if second is ops[0] else 0
            links.append((first.op, second.op, first.stage - second.stage + turn))
    return links


def _implied(links: Iterable[Link], wanted: Turnover) -> bool:
    """Whether a chain of links leads from `before` to `after` within the same distance.  Chains around a cycle only get longer."""
    known = list(links)
    nearest = {wanted.before: 0}
    for _ in known:
        changed = False
        for src, dst, distance in known:
            if src in nearest and nearest[src] + distance < nearest.get(dst, nearest[src] + distance + 1):
                nearest[dst] = nearest[src] + distance
                changed = True
        if not changed:
            break
    return nearest.get(wanted.after, wanted.distance + 1) <= wanted.distance
