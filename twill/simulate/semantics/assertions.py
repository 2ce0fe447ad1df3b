"""Assertions stop the execution; prints print nothing."""

from __future__ import annotations

from twill.simulate.faults import Fault
from twill.simulate.semantics.call import Call, Handler


def _assert(call: Call) -> tuple[()]:
    (condition,) = call.arrays
    if not condition.all():
        raise Fault(f"fails: {call.op.get('message', call.op.get('msg', 'no message'))}")
    return ()


def _print(call: Call) -> tuple[()]:
    return ()


HANDLERS: dict[str, Handler] = {"tt.assert": _assert, "cf.assert": _assert, "tt.print": _print}
