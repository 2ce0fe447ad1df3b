"""What does not change a kernel does not change a byte of its schedule: SSA names, attribute order, locations, lines."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twill.examples import contents


def renamed(text: str) -> str:
    """Every SSA value under another name."""
    names = sorted(set(re.findall(r"%([A-Za-z_][\w.]*|\d+)", text)), key=lambda name: (-len(name), name))
    fresh = {name: f"v{number}" for number, name in enumerate(names)}
    return re.sub(r"%([A-Za-z_][\w.]*|\d+)", lambda found: f"%{fresh[found[1]]}", text)


def shuffled(text: str) -> str:
    """The entries of module attributes and of simple attribute dictionaries in another order."""
    chance = random.Random(3)

    def mix(found: re.Match[str]) -> str:
        entries = re.split(r", (?![^<>\[\]()]*[>\])])", found[1])
        chance.shuffle(entries)
        return "{" + ", ".join(entries) + "}"

    return re.sub(r"(?<=attributes )\{([^{}]*)\}", mix, text)


def moved(text: str) -> str:
    """Other source files and lines, and an empty line at the top."""
    return "\n" + re.sub(r'"(\w+)\.py":(\d+):(\d+)', lambda found: f'"other/{found[1]}.py":{int(found[2]) + 7}:{found[3]}', text)


@pytest.mark.parametrize("change", [renamed, shuffled, moved], ids=lambda change: change.__name__)
@pytest.mark.parametrize("example", ["gemm", "softmax", "attention_bwd_dq"])
def test_the_schedule_file_is_the_same_byte_for_byte(
    example: str, change: Callable[[str], str], twill_command: Callable[..., Any], tmp_path: Path
) -> None:
    text = contents()[f"{example}.ttgir"]
    written = []
    for number, version in enumerate((text, change(text))):
        kernel, answer = tmp_path / f"kernel{number}.ttgir", tmp_path / f"{number}.json"
        kernel.write_text(version, encoding="utf-8")
        assert twill_command("schedule", kernel, "--machine", "h100", "--json", answer, "--quiet").status == 0
        written.append(answer.read_bytes())
    assert change(text) != text
    assert written[0] == written[1]
