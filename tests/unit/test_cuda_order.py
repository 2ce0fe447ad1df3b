"""Machine code keeps the order of the pipelined program, or the build says that it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from twill.backends.cuda.toolchain import order, sass
from twill.backends.cuda.toolchain.sass import Function
from twill.errors import Unsupported, VerificationFailed
from twill.pipeline.program import Acquire, Arrive, Await, By, Group, Issue, PipelinedProgram, Queue, Release, Wait

LOAD = Group(
    *(0, "load", 1, 0, 24, 1, 1, ()),
    body=(
        Acquire(0, 0, "x"),
        Arrive(0, 0, "x", By.BYTES, 1, 8192, "load"),
        Issue(0, 0, "load", Queue.TMA, (), "x"),
    ),
)
PRODUCTS = Group(
    *(1, "mma", 4, 4, 240, 2, 1, ()),
    body=(
        Wait(0, 0, "x"),
        Issue(0, 0, "mma", Queue.WGMMA),
        Await(1, 8, "mma", Queue.WGMMA, 1),
        Release(1, 8, "x", By.THREADS, 4),
    ),
)
PROGRAM = PipelinedProgram("product", 8, 12, (), (LOAD, PRODUCTS))

WAIT = "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR14], R5"
EXPECT = "SYNCS.ARRIVE.TRANS64 RZ, [UR13], R2"
ARRIVE = "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR14], RZ"
COPY = "UTMALDG.2D [UR12], [UR46]"
PRODUCT = "HGMMA.64x256x16.F32 R24, gdesc[UR16], R24"


def function(*lines: str) -> Function:
    """Code of a kernel: instructions, and labels ("L1:")."""
    text, address = '\t.section\t.text.product,"ax",@progbits\n', 0
    for line in lines:
        if line.endswith(":"):
            text += f".L_x_{line[1:-1]}:\n"
        else:
            text += f"        /*{address:04x}*/                   {line} ;\n"
            address += 16
    return sass.parse(text)[0]


def loop(number: int, *lines: str) -> tuple[str, ...]:
    return (f"L{number}:", *lines, f"BRA `(.L_x_{number})")


PRODUCER = loop(1, WAIT, EXPECT, COPY, COPY)
CONSUMER = loop(2, WAIT, "WARPGROUP.ARRIVE", PRODUCT, PRODUCT, "WARPGROUP.DEPBAR.LE gsb0, 0x1", ARRIVE)


def test_the_order_of_every_group_is_found() -> None:
    assert order.check(function(*CONSUMER, *PRODUCER, "EXIT"), PROGRAM) == (
        "  group 0        wait expect copy: kept, 1 turns in a loop of the machine code\n"
        "  group 1        wait product arrive: kept, 1 turns in a loop of the machine code\n"
    )


def test_loops_may_be_unrolled_and_begin_anywhere() -> None:
    rotated = loop(2, PRODUCT, ARRIVE, WAIT, PRODUCT, PRODUCT, ARRIVE, WAIT, PRODUCT)
    assert "group 1        wait product arrive: kept, 2 turns" in order.check(function(*rotated, *PRODUCER, "EXIT"), PROGRAM)


@pytest.mark.parametrize(
    "consumer",
    [
        loop(2, PRODUCT, WAIT, ARRIVE),
        loop(2, WAIT, PRODUCT),
        loop(2, WAIT, PRODUCT, ARRIVE, ARRIVE),
        (WAIT, PRODUCT, ARRIVE),
    ],
)
def test_another_order_is_an_error(consumer: tuple[str, ...]) -> None:
    with pytest.raises(VerificationFailed) as error:
        order.check(function(*consumer, *PRODUCER, "EXIT"), PROGRAM)
    assert str(error.value).startswith("no loop of product has the order of group 1: wait product arrive. Loops have: ")


def test_slow_paths_of_waits_and_loops_around_copies_are_no_loops_of_the_program() -> None:
    producer = ("L1:", WAIT, "@!P0 BRA `(.L_x_7)", "L8:", EXPECT, "L9:", COPY, "@P1 BRA.U.ANY `(.L_x_9)", "@P2 BRA `(.L_x_1)")
    slow = ("L7:", WAIT, "@!P0 BRA `(.L_x_7)", "BRA `(.L_x_8)")
    assert "group 0        wait expect copy: kept, 1 turns" in order.check(function(*CONSUMER, *producer, "EXIT", *slow), PROGRAM)


def test_groups_without_copies_and_products_are_not_compared() -> None:
    program = replace(PROGRAM, groups=(LOAD, replace(PRODUCTS, body=(Wait(0, 0, "x"), Release(0, 0, "x", By.THREADS, 4)))))
    assert order.check(function(*PRODUCER, "EXIT"), program).splitlines() == [
        "  group 0        wait expect copy: kept, 1 turns in a loop of the machine code"
    ]


def test_without_a_disassembler_nothing_can_be_compared() -> None:
    with pytest.raises(Unsupported) as error:
        order.check(None, PROGRAM)
    assert str(error.value) == ("the order cannot be compared without nvdisasm. Install it: python -m pip install 'twill-scheduler[cuda]'.")
