"""Loops in steps that no tile of Triton has, as scheduled programs and as CUDA for Hopper; no GPU is needed.

The schedules are on record: `twill schedule KERNEL --machine h200 --for cuda-sm90` with `--step 48 --subtile none` (product) and
`--step 80 --subtile x=3 --depth 3` (attention, three programs of 64 rows in one block).
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from twill.backends.cuda.toolchain import Build, build, load_kernel, order, sass
from twill.cli.main import run as twill_run
from twill.cli.programs import expanded_kernel, written
from twill.simulate import run
from twill.simulate.executor import run_pipelined

triton = pytest.importorskip("triton")

KERNELS = Path(__file__).parent.parent / "kernels" / "steps.py"
SCHEDULES = Path(__file__).parent.parent / "golden" / "steps"


@cache
def text(name: str) -> str:
    from twill.frontends.triton_source import to_ttgir

    spec = importlib.util.spec_from_file_location("steps", KERNELS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if name == "product":
        types = {**dict.fromkeys("abc", "*fp16"), **dict.fromkeys("MNK", "i32")}
        return to_ttgir(module.product, types, {"BM": 64, "BN": 128, "BK": 64}, arch=90, warps=4)
    tiles = {name: f"tensordesc<fp16[1,{32 if name in 'kv' else 64},128]>" for name in "qkvo"}
    constants = {"BM": 64, "BN": 32, "D": 128, "MASK": 1}
    return to_ttgir(module.attention, {**tiles, "scale": "fp32", "S": "i32"}, constants, arch=90, warps=4)


@pytest.fixture
def files(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """Schedule and kernel."""
    name, schedule = request.param
    kernel = tmp_path / f"{name}.ttgir"
    kernel.write_text(text(name), encoding="utf-8")
    return SCHEDULES / f"{schedule}.json", kernel


PRODUCT, ATTENTION = ("product", "product_48"), ("attention", "attention_80_x3")


def arguments(name: str) -> dict[str, Any]:
    """Random inputs of a length that is no multiple of the step."""
    rng = np.random.default_rng(0)

    def random(*shape: int) -> Any:
        return rng.standard_normal(shape, np.float32).astype(np.float16)

    if name == "product":
        return {"a": random(64, 200), "b": random(128, 200), "c": np.zeros((64, 128), np.float16), "M": 64, "N": 128, "K": 200}
    q, k, v = (random(1, 200, 128) for _ in range(3))
    return {"q": q, "k": k, "v": v, "o": np.zeros_like(q), "scale": 0.1, "S": 200, "programs_x": 4}


@pytest.mark.parametrize("files", [PRODUCT, ATTENTION], indirect=True, ids=str)
def test_the_scheduled_program_gives_the_bits_of_the_program_in_that_step(files: tuple[Path, Path]) -> None:
    pipelined, program = expanded_kernel(*files)
    plain, scheduled = arguments(program.name), arguments(program.name)
    run(program, plain, (1, 1, 1))
    run_pipelined(program, pipelined, scheduled, (1, 1, 1))
    result = "c" if program.name == "product" else "o"
    assert plain[result].any()
    assert plain[result].tobytes() == scheduled[result].tobytes()


def built(files: tuple[Path, Path], folder: Path, *options: str) -> Build:
    """The kernel by the commands that a user types, its order of waits and products checked."""
    schedule, kernel = files
    ir, cuda = folder / "kernel.ir", folder / "kernel.cu"
    lower = ["lower", str(schedule), "--kernel", str(kernel), "--order", "free"]
    assert twill_run([*lower, "-o", str(ir)]) == 0
    assert twill_run([*lower, "--to", "cuda", "-o", str(cuda), *options]) == 0
    made = build(load_kernel(cuda))
    if made.code is not None:
        order.check(made.code, written(ir))
    return made


@pytest.mark.parametrize("files", [PRODUCT], indirect=True, ids=str)
def test_a_product_of_48_summed_elements_builds(files: tuple[Path, Path], tmp_path: Path, cuda_compilers: list[str]) -> None:
    made = built(files, tmp_path)
    assert (made.usage.spill_stores, made.usage.spill_loads, made.warnings) == (0, 0, ())
    assert made.code is None or sass.count(made.code, "HGMMA") % 3 == 0  # 48 elements, 16 at a time
    assert {argument.box: argument.swizzle for argument in made.kernel.arguments if argument.box} == {
        (64, 16): 32,
        (128, 16): 32,
        (64, 64): 128,
    }


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--allow", "reassociate-max")], ids=str)
@pytest.mark.parametrize("files", [ATTENTION], indirect=True, ids=str)
def test_three_groups_of_80_keys_build(
    files: tuple[Path, Path], options: tuple[str, ...], tmp_path: Path, cuda_compilers: list[str], request: pytest.FixtureRequest
) -> None:
    if "slow" not in request.config.getoption("markexpr"):
        pytest.skip("half a minute each: run with -m slow")
    made = built(files, tmp_path, *options)
    assert (made.usage.spill_stores, made.usage.spill_loads, made.warnings) == (0, 0, ())
    assert [registers for _, registers in made.kernel.grants] == [24, 160, 160, 160]


@pytest.mark.parametrize("files", [PRODUCT], indirect=True, ids=str)
def test_triton_cannot_read_such_a_kernel(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    schedule, kernel = files
    assert twill_run(["lower", str(schedule), "--kernel", str(kernel), "--to", "ttgir"]) == 3
    assert capsys.readouterr().err == (
        f"twill: {kernel}: no-other-steps: the schedule is one of a loop that goes 48 elements on in an iteration, and attributes cannot "
        "give its tiles another size. Schedule without --step, or lower to CUDA.\n"
    )


def test_a_graph_has_no_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = tmp_path / "graph.json"
    graph.write_text("{}", encoding="utf-8")
    assert twill_run(["schedule", str(graph), "--step", "80"]) == 2
    assert "--step is for kernels; a graph (.json) carries its costs and limits." in capsys.readouterr().err
