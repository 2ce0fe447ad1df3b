"""Tiles that are copied in before a loop that is executed many times: a second slot where there is room."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from twill.pipeline.entries import ahead
from twill.pipeline.program import Barrier, Buffer, Channel, Part

RING = Buffer("k", "smem", 1000, 2, (Part("k", 0, 1000),), empty=Barrier(4))
TILE = Buffer("q", "smem", 500, 1, (Part("q", 0, 500),), empty=Barrier(4), entry=True)
WRITTEN = Buffer("w", "smem", 100, 1, (Part("w", 0, 100),), entry=True)
FILLED = [Channel("q", ("q",), "q", 0, (1,), Barrier(1, 500))]


def kernel(parent: str) -> Any:
    loop = SimpleNamespace(index=7)
    return SimpleNamespace(loop=loop, after=(), program=SimpleNamespace(parents={7: SimpleNamespace(name=parent)}))


@pytest.mark.parametrize(
    ("parent", "room", "slots"),
    [("scf.for", 3100, [2, 1]), ("scf.for", 3099, [1, 1]), ("tt.func", 5000, [1, 1])],
)
def test_a_second_slot_where_the_loop_comes_again_and_there_is_room(parent: str, room: int, slots: list[int]) -> None:
    made = ahead(kernel(parent), [RING], [TILE, WRITTEN], FILLED, room)
    assert [buffer.slots for buffer in made] == slots
    assert [buffer.name for buffer in made] == ["q", "w"]
