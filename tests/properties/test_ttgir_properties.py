"""Reading does not depend on names, attribute order or locations; and no text, however broken, gives anything but a twill error."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twill.errors import TwillError
from twill.frontends.ttgir import parse

FOLDER = Path(__file__).resolve().parent.parent / "text" / "ttgir"
NAMES = (
    "triton-3.9.0-sm90-fa_fwd_desc",
    "triton-3.6.0-sm100-gemm_desc",
    "triton-3.9.0-sm100-fa_fwd_desc",
    "triton-3.9.0-sm90-layernorm_row",
)
TEXTS = {name: (FOLDER / f"{name}.ttgir").read_text(encoding="utf-8") for name in NAMES}
OPS = (FOLDER / "ops.ttgir").read_text(encoding="utf-8")
TOKEN = re.compile(r"\s+|[\w.$%#!@^]+|.", re.DOTALL)
SHORT = settings(max_examples=40, deadline=None)


def renamed(text: str, seed: int) -> str:
    """Every value gets another name; results of one op share a stem."""
    names = list(dict.fromkeys(re.findall(r"%([A-Za-z_$.\-\d][\w$.\-]*)", text)))
    fresh = {name: f"v{(i * 7919 + seed) % (1 << 20)}.{i}" for i, name in enumerate(names)}
    return re.sub(r"%([A-Za-z_$.\-\d][\w$.\-]*)", lambda m: f"%{fresh[m[1]]}", text)


def split(body: str) -> list[str]:
    """A dictionary's items: commas inside brackets do not count."""
    items, depth = [""], 0
    for character in body:
        depth += (character in "[<({") - (character in "]>)}")
        if character == "," and depth == 0:
            items.append("")
        else:
            items[-1] += character
    return [item.strip() for item in items]


def shuffled(text: str, order: list[int]) -> str:
    """Attribute dictionaries in another order: those on one line that hold `name = value` or plain names."""

    def shuffle(match: re.Match[str]) -> str:
        items = split(match[1])
        ranks = [order[i % len(order)] for i in range(len(items))]
        return "{" + ", ".join(item for _, item in sorted(zip(ranks, items, strict=True), key=lambda pair: pair[0])) + "}"

    return re.sub(r"\{([^{}\n]+)\}", shuffle, text)


def moved(text: str, seed: int) -> str:
    """Other source files and lines."""
    return re.sub(r'loc\("([^"]*)":(\d+):(\d+)\)', lambda m: f'loc("elsewhere/{m[1]}":{int(m[2]) + seed}:{seed % 50})', text)


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 1000), order=st.lists(st.integers(0, 9), min_size=3, max_size=9))
@settings(max_examples=8, deadline=None)
def test_names_attribute_order_and_locations_do_not_matter(name: str, seed: int, order: list[int]) -> None:
    expected = parse(TEXTS[name])
    found = parse(moved(shuffled(renamed(TEXTS[name], seed), order), seed))
    assert found.without_names() == expected.without_names()
    assert [v.name for v in found.values] != [v.name for v in expected.values]


def attempt(text: str) -> None:
    try:
        parse(text, "k.ttgir", function="tiles" if "@tiles" in text else None)
    except TwillError as error:
        message = str(error)
        assert "\n" not in message
        assert message.startswith("k.ttgir")
        assert message.endswith((".", "'"))
        assert error.remedy


sources = st.sampled_from([*TEXTS.values(), OPS])


@given(text=sources, cut=st.floats(0, 1))
@SHORT
def test_cut_anywhere(text: str, cut: float) -> None:
    attempt(text[: int(len(text) * cut)])


@given(text=sources, start=st.floats(0, 1), length=st.integers(1, 300))
@SHORT
def test_characters_missing(text: str, start: float, length: int) -> None:
    first = int(len(text) * start)
    attempt(text[:first] + text[first + length :])


@given(text=sources, places=st.lists(st.floats(0, 0.999), min_size=2, max_size=6))
@SHORT
def test_tokens_exchanged(text: str, places: list[float]) -> None:
    tokens = TOKEN.findall(text)
    chosen = [int(len(tokens) * place) for place in places]
    for left, right in pairwise(chosen):
        tokens[left], tokens[right] = tokens[right], tokens[left]
    attempt("".join(tokens))


@given(text=sources, start=st.floats(0, 1), inserted=st.text(alphabet='{}[]()<>%#!@^:,=-"0x1 \n./|*\0é\\', min_size=1, max_size=4))
@SHORT
def test_characters_inserted(text: str, start: float, inserted: str) -> None:
    first = int(len(text) * start)
    attempt(text[:first] + inserted + text[first:])


@given(st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_text(text: str) -> None:
    attempt(text)
