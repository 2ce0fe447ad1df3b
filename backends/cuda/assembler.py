"""What ptxas can follow: an order of instructions that it does not answer with waits of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from twill.pipeline.program import Await, Group, Instruction, Issue, Queue


def followable(group: Group) -> Group:
    """The group with waits for products where ptxas understands them.

    A wait for a product of an earlier turn that leaves a product of this turn under way makes ptxas 13.0 serialise all products of a
    function (C7514) in most loops that were tried; for a product of the same turn it does not.  Such a wait goes before the first product
    of the turn.  Waiting earlier is always right.
    """
    issued = {i.op: i.stage for i in group.body if isinstance(i, Issue)}
    body: list[Instruction] = []
    for instruction in group.body:
        body.insert(_place(body, instruction, issued), instruction)
    return replace(group, body=tuple(body))


def _place(body: list[Instruction], instruction: Instruction, issued: Mapping[str, int]) -> int:
    """Where an instruction goes: behind all others, or before the first product that a wait for one of an earlier turn would leave."""
    if not isinstance(instruction, Await) or instruction.queue is not Queue.WGMMA or not instruction.pending:
        return len(body)
    products = [(at, i.op) for at, i in enumerate(body) if isinstance(i, Issue) and i.queue is Queue.WGMMA]
    if not products or instruction.stage == issued[instruction.op] or instruction.op in (op for _, op in products):
        return len(body)
    return products[0][0]
