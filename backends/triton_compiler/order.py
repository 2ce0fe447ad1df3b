"""Whether machine code keeps the order of a schedule: products, loads and waits in the loop with the products.

ptxas may rotate the loop, unroll nothing of it, and move what leaves no trace here; Triton issues the pieces of one product in a row,
and those of one load.  Compared is the cyclic sequence of products and of groups of loads, and that a product whose result its own
iteration reads is waited for before the next product.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from twill.backends.cuda.toolchain.sass import PRODUCTS, Function, Instruction, parse

PRODUCT, LOAD, WAIT = "product", "load", "wait"


@dataclass(frozen=True)
class Verdict:
    """What was found.

    found  events of the loop in the order of the machine code; () when no loop has products
    kept   None when there is nothing to compare; else whether the order is the schedule's
    text   one sentence
    """

    found: tuple[str, ...]
    kept: bool | None
    text: str


def compare(listing: str, wanted: Sequence[str], waited: Sequence[bool]) -> Verdict:
    """Compare machine code, as nvdisasm lists it, with a turn of the loop.

    wanted  PRODUCT and LOAD in the order of the body
    waited  for each product of `wanted`, whether its own iteration reads the result
    """
    found = _main_loop(listing)
    if not found:
        return Verdict((), None, "the machine code has no loop with tensor-core products")
    have = _compressed([event for event in found if event != WAIT])
    shift = _rotation(have, _compressed(list(wanted)))
    shown = ", ".join(_compressed(list(found)))
    if shift is None:
        return Verdict(found, False, f"products and loads do not come in the order of the schedule: {shown}")
    missing = _unwaited(found, waited)
    if missing:
        return Verdict(found, False, f"nothing waits for product {missing} before the next one: {shown}")
    return Verdict(found, True, f"products, loads and waits come in the order of the schedule: {shown}")


def _main_loop(listing: str) -> tuple[str, ...]:
    """Events of the loop with most products; of several such, of the shortest."""
    best: tuple[int, int, tuple[str, ...]] = (0, 0, ())
    for function in parse(listing):
        for body in _loops(function):
            events = tuple(_events(body))
            products = events.count(PRODUCT)
            if products and (products, -len(body)) > best[:2]:
                best = products, -len(body), events
    return best[2]


def _loops(function: Function) -> list[tuple[Instruction, ...]]:
    """What lies between the target of a conditional branch backwards and the branch.

    Waits spin behind the end of the code, and return from there without a condition.
    """
    labels = dict(function.labels)
    found = []
    for end, instruction in enumerate(function.code):
        label = re.search(r"\.L_x_\d+", instruction.operands)
        conditional = instruction.guard or re.match(r"!?U?P\d", instruction.operands)
        if instruction.base != "BRA" or not conditional or label is None:
            continue
        target = labels.get(label[0], instruction.address)
        if target < instruction.address:
            found.append(tuple(each for each in function.code[: end + 1] if each.address >= target))
    return found


def _events(body: Sequence[Instruction]) -> list[str]:
    found = []
    tensor = False
    for each in body:
        if each.base in PRODUCTS and "gsb0" in each.operands:
            found.append(PRODUCT)
        elif each.base.startswith("UTC") and each.base.endswith("MMA"):
            tensor = True
        elif each.base == "UTCBAR" and tensor:
            tensor = False
            found.append(PRODUCT)
        elif each.base in ("UTMALDG", "LDGSTS"):
            found.append(LOAD)
        elif each.opcode.startswith("WARPGROUP.DEPBAR") or ("SYNCS" in each.opcode and "TRYWAIT" in each.opcode):
            found.append(WAIT)
    return found


def _compressed(events: list[str]) -> list[str]:
    """Loads, and waits, that follow each other count once."""
    return [event for n, event in enumerate(events) if event == PRODUCT or n == 0 or events[n - 1] != event]


def _rotation(have: list[str], wanted: list[str]) -> int | None:
    """By how much `have` is `wanted` turned; a loop may begin between two loads of one group."""
    joined = have[1:] if len(have) > 1 and have[0] == have[-1] == LOAD else have
    asked = wanted[1:] if len(wanted) > 1 and wanted[0] == wanted[-1] == LOAD else wanted
    return next((n for n in range(max(1, len(asked))) if asked[n:] + asked[:n] == joined), None)


def _unwaited(found: Sequence[str], waited: Sequence[bool]) -> int:
    """Number, from 1, of the first product that is not waited for though the number of those that must be says so; 0 when there is none.

    Which product of the code is which is not known after a rotation, so the products that are waited for are counted.
    """
    products = [n for n, event in enumerate(found) if event == PRODUCT]
    following = zip(products, [*products[1:], *products[:1]], strict=True)
    spans = [[*found[a + 1 : b]] if a < b else [*found[a + 1 :], *found[:b]] for a, b in following]
    with_wait = sum(WAIT in span for span in spans)
    return 0 if with_wait >= sum(waited) else with_wait + 1
