"""Issue order C' (formulation 4.8), under the rule `in_order`: a warp group issues one op at a time.

The spans [start, start + issue) of the ops of a group, of all iterations, do not overlap.
"""

from __future__ import annotations

from collections.abc import Iterator

from twill.verify.audit import Violation
from twill.verify.steady import Arc, Steady, overlay, overloads


def check_issue(steady: Steady) -> Iterator[Violation]:
    """Every run of slots in which a group issues several ops at once, at its worst slot."""
    if not steady.problem.rules.in_order:
        return
    for group in steady.groups():
        starts = [(op, steady.start[op.name]) for op in steady.members(group)]
        spans = [Arc(op.name, start, start + op.issue, 1) for op, start in starts]
        for piece in overloads(overlay(spans, steady.ii), 1):
            message = f"Group {group}, slot {piece.begin} (mod {steady.ii}): {piece.load} ops issue at once, {piece}."
            yield Violation("issue", message, f"group {group}", piece.ops, piece.begin, piece.load, 1)
