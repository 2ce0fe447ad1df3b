"""Register grants and memory against what the SM has: cases G5 and G6 and their relatives."""

from __future__ import annotations

import pytest

from twill.machine_models import load
from twill.resources import Grant, Ring, check_grants, memory_shortfall, register_pool

H100 = load("h100")
FITS = "Register grants take 64,512 of 64,512 words."
OVER = "Register grants take 95,232 words, the pool of 512 threads has 65,536: over by 29,696. The largest legal value for consumer is 160."


def roles(producers: int, consumers: int, producer: int, consumer: int) -> tuple[Grant, Grant]:
    return Grant("producer", producers, producer), Grant("consumer", consumers, consumer)


@pytest.mark.parametrize(("threads", "pool"), [(128, 65536), (256, 65536), (384, 64512), (512, 65536), (640, 61440), (416, 63232)])
def test_the_pool_is_what_equal_shares_in_steps_of_eight_take(threads: int, pool: int) -> None:
    assert register_pool(H100, threads) == pool


@pytest.mark.parametrize(
    ("grants", "legal", "total", "largest", "message"),
    [
        (roles(1, 2, 24, 240), True, 64512, 240, FITS),
        (roles(1, 3, 24, 240), False, 95232, 160, OVER),
        (roles(1, 3, 24, 160), True, 64512, 160, "Register grants take 64,512 of 65,536 words."),
        (roles(2, 2, 24, 224), True, 63488, 232, "Register grants take 63,488 of 65,536 words."),
        (
            roles(1, 2, 25, 240),
            False,
            64640,
            232,
            "producer asks for 25 registers a thread, not a multiple of 8: 24 and 32 are the nearest.",
        ),
        (roles(1, 2, 16, 240), False, 63488, 240, "producer asks for 16 registers a thread, below 24, the smallest grant."),
        (roles(1, 2, 24, 248), False, 66560, 240, "consumer asks for 248 registers a thread, above 240, the largest grant."),
        (
            roles(3, 1, 168, 240),
            False,
            95232,
            None,
            "Register grants take 95,232 words, the pool of 512 threads has 65,536: over by 29,696. No value for consumer is legal.",
        ),
    ],
)
def test_grants(grants: tuple[Grant, Grant], legal: bool, total: int, largest: int | None, message: str) -> None:
    """Rows a to f are those of case G5."""
    verdict = check_grants(H100, grants)
    assert (verdict.legal, verdict.total, verdict.largest, verdict.message) == (legal, total, largest, message)


def test_three_roles() -> None:
    """Two softmax groups, one that rescales, one that loads and issues: 512 words a lane."""
    grants = (Grant("softmax", 2, 192), Grant("rescale", 1, 80), Grant("issue", 1, 48))
    assert check_grants(H100, grants).message == "Register grants take 65,536 of 65,536 words."


@pytest.mark.parametrize(
    ("needed", "capacity", "ring", "message"),
    [
        (102400, 233472, None, ""),
        (102400, 102400, None, ""),
        (102400, 101376, None, "smem: needs 102,400 bytes, has 101,376, over by 1,024."),
        (
            102400,
            101376,
            Ring(4, 24576),
            "smem: needs 102,400 bytes, has 101,376, over by 1,024. 1 stage fewer, 3 instead of 4, needs 77,824.",
        ),
        (
            102400,
            60000,
            Ring(4, 24576),
            "smem: needs 102,400 bytes, has 60,000, over by 42,400. 2 stages fewer, 2 instead of 4, needs 53,248.",
        ),
        (
            102400,
            20000,
            Ring(4, 24576),
            "smem: needs 102,400 bytes, has 20,000, over by 82,400. Fewer stages do not help: one alone is too many.",
        ),
    ],
)
def test_memory(needed: int, capacity: int, ring: Ring | None, message: str) -> None:
    """The first, third and fourth rows are those of case G6: 128x256x64 bytes a stage, four stages and 4,096 bytes beside them."""
    assert memory_shortfall("smem", needed, capacity, ring) == message
