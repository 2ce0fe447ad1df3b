"""Random damage to good files: read, or refused with one sentence.  `benchmarks/fuzz_inputs.py` does the same for minutes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.mutations import mutated
from oracle.readers import READERS, good, outcome

INSTANCES = Path(__file__).parent.parent / "golden" / "instances"


@pytest.mark.parametrize("reader", READERS)
def test_good_files_are_good(reader: str) -> None:
    assert {outcome(reader, text) for text in good(reader, INSTANCES) if "twill-normalize-1" not in text} == {"read"}


@pytest.mark.parametrize("reader", READERS)
def test_damaged_files(reader: str) -> None:
    texts = good(reader, INSTANCES)
    outcomes = {outcome(reader, mutated(random.Random(seed), texts)) for seed in range(200)}
    assert outcomes <= {"read", "BadInput", "Unsupported", "Infeasible"}
    assert {"read", "BadInput"} <= outcomes


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text(reader: str, text: str) -> None:
    assert outcome(reader, text) in ("BadInput", "Unsupported")
