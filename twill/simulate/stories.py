"""Events in words."""

from __future__ import annotations

from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    Fence,
    Issue,
    Pass,
    PipelinedProgram,
    Receive,
    Release,
    Run,
    Send,
    Take,
    Wait,
)
from twill.simulate.walk import LOOP, Event


def when(event: Event) -> str:
    """Which iteration an event works on."""
    execution = f" of execution {event.entry + 1}" if event.entry else ""
    if event.where == LOOP:
        return f"of iteration {event.iteration}{execution}"
    return f"{event.where} the loop{execution}" if event.where == "before" else f"behind the loop{execution}"


def describe(program: PipelinedProgram, event: Event) -> str:
    """What an event is."""
    at = when(event)
    match event.instruction:
        case Issue(op=op):
            return f"issue {op} {at}"
        case Run(operation=number, name=name):
            return f"run {name} (op {number}) {at}"
        case Acquire(buffer=name):
            return f"acquire a slot of {name} for the instance {at} ({_slot(program, event, name)})"
        case Release(buffer=name):
            return f"give back {name} {at} ({_slot(program, event, name)})"
        case Wait(channel=name):
            return f"wait until {name} {at} is filled"
        case Arrive(channel=name):
            return f"announce {name} {at}"
        case Await(op=op):
            return f"wait until its own {op} {at} is done"
        case Send(value=value):
            return f"send {value} {at}"
        case Receive(value=value):
            return f"receive {value} {at}"
        case Pass(token=name):
            return f'pass the token "{name}" {at}'
        case Take(token=name):
            return f'take the token "{name}" {at}'
        case Fence(buffer=name):
            return f"fence {name} {at}"


def _slot(program: PipelinedProgram, event: Event, name: str) -> str:
    buffer = program.buffer(name)
    return f"slot {event.instance(buffer, event.iteration) % buffer.slots}"
