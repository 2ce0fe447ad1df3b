"""Whether the names that a text uses are defined, each once, and in the right group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from twill.backends.pipelined_ir.lexer import Token as Lexeme
from twill.errors import BadInput
from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    Fence,
    Group,
    Instruction,
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

Reference = tuple[str, str]
"""Kind of what is named, and its name."""


def check_names(program: PipelinedProgram, places: Mapping[int, Lexeme]) -> None:
    """Raises BadInput at the first name that is defined twice, used without a definition, or used in a group that has no part in it."""
    _Names(program, places).check()


@dataclass(frozen=True)
class _Names:
    program: PipelinedProgram
    places: Mapping[int, Lexeme]

    def fail(self, at: object, message: str) -> NoReturn:
        raise BadInput(message, place=self.places[id(at)].place)

    def check(self) -> None:
        self.unique()
        for owner, kind, name in self.definitions_use():
            self.defined(owner, kind, name)
        issued: dict[str, Instruction] = {}
        for group in self.program.groups:
            for instruction in group.body:
                self.instruction(group, instruction)
                if isinstance(instruction, Issue):
                    if instruction.op in issued:
                        self.fail(instruction, f'"@{instruction.op}" is issued twice.')
                    issued[instruction.op] = instruction
            for instruction in (*group.before, *group.after):
                self.instruction(group, instruction)
        for op in self.program.ops:
            if op.name not in issued:
                self.fail(op, f'"@{op.name}" is issued nowhere.')

    def unique(self) -> None:
        p = self.program
        for kind, owners in (("op", p.ops), ("buffer", p.buffers), ("channel", p.channels), ("token", p.tokens)):
            seen: set[str] = set()
            for owner in owners:
                if owner.name in seen:
                    self.fail(owner, f'the {kind} "@{owner.name}" is defined twice.')
                seen.add(owner.name)
        indices: set[int] = set()
        for group in p.groups:
            if group.index in indices:
                self.fail(group, f"group {group.index} is defined twice.")
            indices.add(group.index)

    def definitions_use(self) -> Iterable[tuple[object, str, str | int]]:
        for channel in self.program.channels:
            yield channel, "buffer", channel.buffer
            for group in (channel.producer, *channel.consumers):
                yield channel, "group", group
        for token in self.program.tokens:
            yield from (
                (token, "op", token.before),
                (token, "op", token.after),
                (token, "group", token.giver),
                (token, "group", token.taker),
            )

    def defined(self, owner: object, kind: str, name: str | int) -> None:
        p = self.program
        known: dict[str, Iterable[str | int]] = {
            "op": [op.name for op in p.ops],
            "buffer": [buffer.name for buffer in p.buffers],
            "channel": [channel.name for channel in p.channels],
            "token": [token.name for token in p.tokens],
            "group": [group.index for group in p.groups],
        }
        if name not in known[kind]:
            shown = f"group {name}" if kind == "group" else f'the {kind} "@{name}"'
            self.fail(owner, f"{shown} is not defined.")

    def instruction(self, group: Group, instruction: Instruction) -> None:
        for kind, name in _references(instruction):
            self.defined(instruction, kind, name)
        held = {register.value for register in group.registers}
        for name in _values(instruction):
            if name not in held:
                self.fail(instruction, f'group {group.index} has no register "%{name}".')
        if isinstance(instruction, Receive) and instruction in group.body and instruction.value not in held:
            self.fail(instruction, f'group {group.index} has no register "%{instruction.value}".')
        if instruction.stage >= group.stages:
            self.fail(instruction, f"stage {instruction.stage} in a group of {group.stages} stages.")


def _references(instruction: Instruction) -> Iterable[Reference]:
    match instruction:
        case Issue(op=op, into=into, reads=reads):
            yield "op", op
            if into:
                yield "buffer", into
            yield from (("buffer", read.buffer) for read in reads if read.buffer)
        case Acquire(buffer=name) | Release(buffer=name) | Fence(buffer=name) | Send(buffer=name) | Receive(buffer=name):
            yield "buffer", name
        case Run(into=into, reads=reads):
            yield from (("buffer", name) for name in (into, *(read.buffer for read in reads)) if name)
        case Arrive(channel=name):
            yield "channel", name
        case Wait(channel=name):
            yield "channel", name
        case Await(op=name):
            yield "op", name
        case Pass(token=name) | Take(token=name):
            yield "token", name


def _values(instruction: Instruction) -> Iterable[str]:
    """Registers of the group that the instruction uses."""
    match instruction:
        case Issue(reads=reads):
            yield from (read.value for read in reads if not read.buffer)
        case Send(value=name):
            yield name
