"""Our reading of freshly compiled kernels agrees with libtriton's own generic print of the same module.  No GPU, no torch."""
# ruff: noqa: ANN001, N803, SIM108  (kernels are written as Triton kernels are)

from __future__ import annotations

import inspect
import os
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from twill.errors import BadInput
from twill.frontends.ttgir import parse
from twill.program.program import TileProgram

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
pytest.importorskip("triton")

import triton
import triton.backends.nvidia.compiler as nvidia_backend
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

SAMPLES = Path(__file__).resolve().parent.parent / "text" / "ttgir"


# ---------------------------------------------------------------- kernels


@triton.jit
def scaled_add(x, y, out, n, scale, BLOCK: tl.constexpr) -> None:
    start = tl.program_id(0) * BLOCK
    offsets = start + tl.arange(0, BLOCK)
    inside = offsets < n
    a = tl.load(x + offsets, mask=inside, other=0.0)
    b = tl.load(y + offsets, mask=inside)
    tl.store(out + offsets, tl.where(a > b, a * scale, tl.exp(b)), mask=inside)


@triton.jit
def matmul(a, b, c, k_size, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr) -> None:
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, k_size, BK, num_stages=3):
        left = a.load([row, k])
        right = b.load([k, column])
        total = tl.dot(left, right, total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def softmax_of_products(q, k, out, length, N: tl.constexpr, D: tl.constexpr) -> None:
    query = q.load([tl.program_id(0) * N, 0])
    largest = tl.full((N,), float("-inf"), tl.float32)
    total = tl.zeros((N,), tl.float32)
    for j in tl.range(0, length, N):
        scores = tl.dot(query, k.load([j, 0]).T)
        new = tl.maximum(largest, tl.max(scores, 1))
        total = total * tl.exp2(largest - new) + tl.sum(tl.exp2(scores - new[:, None]), 1)
        largest = new
    tl.store(out + tl.program_id(0) * N + tl.arange(0, N), largest + tl.log2(total))


@triton.jit
def branches_and_atomics(p, counter, n, BLOCK: tl.constexpr) -> None:
    i = tl.atomic_add(counter, 1)
    while i < n:
        x = tl.load(p + i * BLOCK + tl.arange(0, BLOCK))
        if i % 2 == 0:
            x = tl.cumsum(x, 0)
        else:
            x = -x
        tl.atomic_add(p + i * BLOCK + tl.arange(0, BLOCK), x, sem="relaxed")
        i = tl.atomic_add(counter, 1)


TILES = {"a": "tensordesc<fp16[128,64]>", "b": "tensordesc<fp16[64,128]>", "c": "tensordesc<fp16[128,128]>", "k_size": "i32"}
ROWS = {"q": "tensordesc<fp16[128,64]>", "k": "tensordesc<fp16[128,64]>", "out": "*fp32", "length": "i32"}
VECTORS = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "scale": "fp32"}
KERNELS = {
    "scaled_add": (scaled_add, VECTORS, {"BLOCK": 1024}),
    "matmul": (matmul, TILES, {"BM": 128, "BN": 128, "BK": 64}),
    "softmax_of_products": (softmax_of_products, ROWS, {"N": 128, "D": 64}),
    "branches_and_atomics": (branches_and_atomics, {"p": "*fp32", "counter": "*i32", "n": "i32"}, {"BLOCK": 256}),
}


# ---------------------------------------------------------------- Triton's passes, cut before its pipeliner


class Recorder:
    """Stands for a module of pass adders: calls on a recording manager are kept, everything else goes through."""

    def __init__(self, real: types.ModuleType) -> None:
        self.real = real

    def __getattr__(self, name: str) -> object:
        found = getattr(self.real, name)
        if isinstance(found, types.ModuleType):
            return Recorder(found)
        if not name.startswith("add_"):
            return found

        def add(manager: object, *arguments: object) -> None:
            if isinstance(manager, list):
                manager.append((name, found, arguments))
            else:
                found(manager, *arguments)

        return add


class Manager(list[Any]):
    """A pass manager that only remembers."""

    def enable_debug(self) -> bool:
        return False

    def run(self, *_: object) -> None:
        return


class Managers:
    """Stands for `ir`: pass managers are recording ones."""

    def __init__(self) -> None:
        self.made: list[Manager] = []

    def __getattr__(self, name: str) -> object:
        return self.manager if name == "pass_manager" else getattr(ir, name)

    def manager(self, _: object) -> Manager:
        self.made.append(Manager())
        return self.made[-1]


class WithoutMetadata:
    """The module as `make_ttgir` sees it while it is recorded; asking for descriptor metadata that early would crash."""

    def __init__(self, module: object) -> None:
        self.module = module

    def __getattr__(self, name: str) -> object:
        return getattr(self.module, name)

    def get_tensordesc_metadata(self) -> None:
        return None


def recorded_passes(module: Any, options: Any, capability: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    managers = Managers()
    with monkeypatch.context() as patch:
        patch.setattr(nvidia_backend, "ir", managers)
        patch.setattr(nvidia_backend, "passes", Recorder(nvidia_backend.passes))
        patch.setattr(nvidia_backend, "nvidia", Recorder(nvidia_backend.nvidia))
        nvidia_backend.CUDABackend.make_ttgir(WithoutMetadata(module), {}, options, capability)
    return [item for manager in managers.made for item in manager]


def stages(name: str, capability: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Any]]:
    """The module before Triton's pipeliner and after its last TTGIR pass."""
    function, signature, constants = KERNELS[name]
    full = {argument: signature.get(argument, "constexpr") for argument in function.arg_names}
    attributes = {(i,): [["tt.divisibility", 16]] for i, a in enumerate(function.arg_names) if full[a].startswith("*")}
    source = ASTSource(function, full, constants, attributes)
    target = GPUTarget("cuda", capability, 32)
    backend = make_backend(target)
    options = backend.parse_options(dict({"num_warps": 4, "num_stages": 3}, **source.parse_options()))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    arguments = [options, backend.get_codegen_implementation(options), backend.get_module_map(), context]
    if len(inspect.signature(source.make_ir).parameters) == 5:
        arguments.insert(0, target)
    module = source.make_ir(*arguments)
    module.context = context
    module = backend.make_ttir(module, {}, options, capability)
    passes = recorded_passes(module, options, capability, monkeypatch)
    cut = next(i for i, item in enumerate(passes) if item[0] in ("add_hopper_warpspec", "add_assign_latencies"))
    for stage, items in (("before the pipeliner", passes[:cut]), ("final", passes[cut:])):
        manager = ir.pass_manager(context)
        for _, add, given in items:
            add(manager, *given)
        manager.run(module, "make_ttgir")
        yield stage, module


def generic_print(text: str, tmp_path: Path) -> str:
    """MLIR prints the generic form of a module that does not verify: an attribute in the wrong place does it."""
    path = tmp_path / "module.ttgir"
    path.write_text(text, encoding="utf-8")
    context = ir.context()
    ir.load_dialects(context)
    make_backend(GPUTarget("cuda", 90, 32)).load_dialects(context)
    module = ir.parse_mlir_module(str(path), context)
    module.set_attr("nvvm.kernel", ir.builder(context).get_unit_attr())
    return re.sub(r"nvvm\.kernel(?:, )?", "", module.str_nodebug())


# ---------------------------------------------------------------- tests


def described(program: TileProgram) -> list[tuple[object, ...]]:
    return [(op.name, op.operands, [str(program.type(r)) for r in op.results], op.attributes) for op in program.walk()]


@pytest.mark.parametrize("capability", [90, 100])
@pytest.mark.parametrize("name", KERNELS)
def test_fresh_kernels(name: str, capability: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for stage, module in stages(name, capability, monkeypatch):
        pretty = parse(str(module), f"{name}, {stage}")
        generic = parse(generic_print(module.str_nodebug(), tmp_path), f"{name}, {stage}, generic")
        assert described(pretty) == described(generic)
        assert pretty.without_names() == generic.without_names()
        seen.append(stage)
    assert seen == ["before the pipeliner", "final"]


def test_source_lines_of_a_fresh_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    _, module = next(stages("softmax_of_products", 90, monkeypatch))
    program = parse(str(module))
    source, first = inspect.getsourcelines(softmax_of_products.fn)
    reduce = next(op for op in program.walk() if op.name == "tt.reduce")
    assert Path(reduce.location.file).name == Path(__file__).name, "a reduction is where the kernel asks for it"
    assert "tl.max(scores, 1)" in source[reduce.location.line - first]


def printed_functions(text: str) -> list[str]:
    return re.findall(r"(?m)^ *tt\.func .*?@(\w+)\(.*\{$", text)


@pytest.mark.skipif(not triton.__version__.startswith("3.9."), reason="the sample is in the printed form of Triton 3.9")
@pytest.mark.parametrize("function", printed_functions((SAMPLES / "ops.ttgir").read_text(encoding="utf-8")))
def test_one_example_of_every_op(function: str, tmp_path: Path) -> None:
    text = (SAMPLES / "ops.ttgir").read_text(encoding="utf-8")
    generic = generic_print(text, tmp_path)
    assert described(parse(text, function=function)) == described(parse(generic, function=function))


@pytest.mark.skipif(not triton.__version__.startswith("3.9."), reason="the sample is in the printed form of Triton 3.9")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("arith.muli %bh", "arith.muli %nothing"),
        ("scf.yield %", "scf.yield %c0_i32, %"),
        ("arith.truncf %", "arith.truncf %c0_i32, %"),
        (" to tensor<", " tensor<"),
        ("tt.return", ""),
        ("arith.constant 0 : i32", "arith.constant 0 : f32"),
        ("%m = arith.constant", "%l = arith.constant"),
    ],
)
def test_what_libtriton_refuses_is_refused(old: str, new: str, tmp_path: Path) -> None:
    text = (SAMPLES / "triton-3.9.0-sm90-fa_fwd_desc.ttgir").read_text(encoding="utf-8")
    assert old in text
    wrong = text.replace(old, new, 1)
    with pytest.raises(RuntimeError):
        generic_print(wrong, tmp_path)
    with pytest.raises(BadInput):
        parse(wrong)
