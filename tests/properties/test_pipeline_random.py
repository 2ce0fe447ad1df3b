"""Random loops: what `expand` makes is proved, survives printing and parsing, and passes where every order of events is tried."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from oracle.interleavings import explore
from oracle.loops import loops

from twill.backends.pipelined_ir import from_text, to_text
from twill.errors import Unsupported
from twill.pipeline import expand
from twill.pipeline.program import PipelinedProgram
from twill.problem import Problem
from twill.schedule import Schedule
from twill.simulate.eventgraph import EventGraph
from twill.simulate.protocol import prove
from twill.simulate.timing import event_graph

Loop = tuple[Problem, Schedule]

SLOW = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def expanded(loop: Loop) -> PipelinedProgram:
    try:
        return expand(*loop)
    except Unsupported:
        assume(False)
        raise


@given(loops())
@SLOW
def test_programs_are_proved(loop: Loop) -> None:
    program = expanded(loop)
    assert prove(program, loop[0], trips=[(0, 0), (1, 1), (2, 3), (5, 5)]).failure is None


@given(loops())
@SLOW
def test_text_spells_the_program(loop: Loop) -> None:
    program = expanded(loop)
    assert from_text(to_text(program)) == program


@given(loops())
@SLOW
def test_event_graphs_are_live(loop: Loop) -> None:
    program = expanded(loop)
    graph: EventGraph = event_graph(program, loop[0])
    assert graph.hang() == ()


@given(loops(max_ops=3))
@settings(SLOW, max_examples=20)
def test_no_order_of_events_goes_wrong(loop: Loop) -> None:
    program = expanded(loop)
    assert explore(program, (2, 1), limit=1000) in (None, "")
