"""twill inside of the installed Triton: kernels become others where they should, and compile whatever goes wrong.  No GPU."""
# ruff: noqa: ANN001, ANN201, N803  (kernels are written as Triton kernels are)

from __future__ import annotations

import errno
import functools
import importlib
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
pytest.importorskip("triton", reason="needs the triton extra")

import triton
import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import twill.triton
from twill.backends.triton_compiler import Compiled
from twill.errors import BadInput, SolverError, Unsupported
from twill.examples.catalog import examples
from twill.schedule import Certificate, Result
from twill.triton import advice, adviser, store

EXAMPLES = {example.name: example for example in examples()}
IN_KEYS = tuple(int(n) for n in triton.__version__.split(".")[:2]) >= (3, 7)


@triton.jit
def running_sum(x, y, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        tl.store(y + offsets, tl.cumsum(tl.load(x + offsets), 0))


def compiled(name: str, **options: Any) -> Any:
    """A bundled kernel, through `triton.compile`; with five stages ours differs from Triton's own, which has no reason not to otherwise."""
    example = EXAMPLES[name]
    kernel = getattr(importlib.import_module(f"twill.examples.kernels.{example.source[:-3]}"), example.kernel)
    signature = dict(example.signature)
    types = {argument: signature.get(argument, "constexpr") for argument in kernel.arg_names}
    aligned = [argument for argument, kind in types.items() if kind.startswith("*") or argument in example.aligned]
    attributes = {(kernel.arg_names.index(argument),): [["tt.divisibility", 16]] for argument in aligned}
    source = ASTSource(kernel, types, dict(example.constants), attributes)
    target = GPUTarget("cuda", example.arch, 32)
    return triton.compile(source, target=target, options={"num_warps": example.warps, "num_stages": 5, **options})


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A Triton cache of its own, and no hook left behind."""
    monkeypatch.setattr(knobs.cache, "dir", str(tmp_path / "triton"))
    yield
    twill.triton.uninstall()
    assert knobs.runtime.add_stages_inspection_hook is None


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that knows how `gemm` is scheduled; the trial compilations are made here, once."""
    folder = tmp_path_factory.mktemp("store")
    before = knobs.cache.dir
    knobs.cache.dir = str(tmp_path_factory.mktemp("cache"))
    lines: list[str] = []
    with twill.triton.installed(apply="always", store=folder, log=lines.append):
        compiled("gemm")
    knobs.cache.dir = before
    assert len(lines) == 1 and lines[0].startswith("gemm: scheduled (II "), lines
    return folder


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> str:
    """PTX of `gemm` as Triton makes it."""
    before = knobs.cache.dir
    knobs.cache.dir = str(tmp_path_factory.mktemp("cache"))
    kernel = compiled("gemm")
    knobs.cache.dir = before
    return str(kernel.asm["ptx"])


class Trial:
    """Stands in for trial compilations: says what a kernel takes, and that Triton did as asked."""

    def __init__(self, **figures: Any) -> None:
        self.figures = {"shared": 163880, "registers": 154, "warps": 4, **figures}

    def __call__(self, text: str, **asked: Any) -> Compiled:
        rings = "\n".join(
            f"%r = ttg.local_alloc : () -> !ttg.memdesc<{slots}x{tile}, #shared>"
            for slots in range(2, 9)
            for tile in ("128x64xf16", "64x128xf16")
        )
        return Compiled(triton.__version__, 90, pipelined=rings, **self.figures)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No trial compilations."""
    monkeypatch.setattr(advice, "advise", functools.partial(advice.advise, compile_=Trial()))


# ------------------------------------------------------------------------------------------------------------------- what it does
def test_importing_it_imports_neither_triton_nor_a_solver() -> None:
    code = "import sys, twill.triton; print(sorted({'triton', 'ortools', 'pulp', 'yices_api', 'click'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_kernel_is_scheduled_and_the_next_one_is_triton_s_own_again(filled: Path) -> None:
    own, lines = compiled("gemm"), []
    with twill.triton.installed(apply="always", store=filled, log=lines.append):
        ours = compiled("gemm")
    again = compiled("gemm")
    assert own.asm["ptx"] == again.asm["ptx"] != ours.asm["ptx"]
    assert own.hash == again.hash
    assert (own.hash != ours.hash) is IN_KEYS
    assert lines[0].startswith("gemm: scheduled (II ") and lines[0].endswith(", from the store")
    assert ours.metadata.tensordesc_meta == own.metadata.tensordesc_meta
    assert ours.asm["ttgir"].count("ttng.async_tma_copy_global_to_local") >= own.asm["ttgir"].count("ttng.async_tma_copy_global_to_local")


def test_the_default_leaves_what_would_not_gain(own: str, quick: None, tmp_path: Path) -> None:
    lines: list[str] = []
    with twill.triton.installed(store=tmp_path / "s", log=lines.append):
        left = compiled("gemm")
    assert left.asm["ptx"] == own
    assert len(lines) == 1 and lines[0].startswith(
        "gemm: left to Triton: its own schedule keeps the busiest unit as busy as we could (predicted "
    )


def test_kernels_that_it_does_not_take_say_why(tmp_path: Path) -> None:
    lines: list[str] = []
    with twill.triton.installed(apply="always", store=tmp_path, log=lines.append):
        compiled("gemm", num_stages=1)
        compiled("gemm", num_stages=3, num_ctas=2)
        types = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
        source = ASTSource(running_sum, types, {"BLOCK": 128}, {})
        triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_stages": 2})
    assert lines[0] == "gemm: left to Triton: it is compiled with num_stages=1"
    assert lines[1] == "gemm: left to Triton: it is compiled for clusters of 2 blocks"
    assert lines[2].startswith("running_sum: left to Triton: ") and "tt.scan" in lines[2]


class Tensor:
    """What Triton looks at of a tensor to compile a kernel."""

    def __init__(self, *shape: int) -> None:
        self.shape, self.dtype = shape, Half()

    def data_ptr(self) -> int:
        return 256


class Half:
    """A torch.dtype."""

    itemsize = 2

    def __str__(self) -> str:
        return "torch.float16"


class Hopper:
    """A driver without a GPU."""

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def test_kernels_that_are_launched_are_looked_up_anew(quick: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache of a kernel inside of this process knows of the hook, in every version."""
    from triton.runtime import driver
    from triton.tools.tensor_descriptor import TensorDescriptor

    from twill.examples.kernels import gemm

    def launched() -> str:
        tiles = [TensorDescriptor(Tensor(4096, 4096), [4096, 4096], [4096, 1], block) for block in ([128, 64], [64, 128], [128, 128])]
        kernel = gemm.gemm.run(*tiles, 4096, 128, 128, 64, grid=(32, 32), warmup=True, num_warps=4, num_stages=5)
        return str(kernel.asm["ptx"])

    monkeypatch.setattr(driver, "_active", Hopper())
    before, lines = launched(), []
    with twill.triton.installed(apply="always", store=tmp_path / "s", log=lines.append):
        inside = [launched(), launched()]
    after = launched()
    assert before == after != inside[0] == inside[1]
    assert len(lines) == 1 and lines[0].startswith("gemm: scheduled")


def test_two_hooks_do_not_share_kernels_and_nest(filled: Path, quick: None, tmp_path: Path) -> None:
    seen: list[str] = []
    with twill.triton.installed(apply="always", store=filled, log=lambda line: seen.append("outer")):
        outer = compiled("gemm")
        with twill.triton.installed(apply="gain", store=tmp_path / "s", log=lambda line: seen.append("inner")):
            inner = compiled("gemm")
        assert compiled("gemm").asm["ptx"] == outer.asm["ptx"] != inner.asm["ptx"]
    assert seen[0] == "outer" and "inner" in seen


def test_another_hook_goes_on(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []

    def other(backend: Any = None, stages: Any = None, options: Any = None, language: Any = None, capability: Any = None) -> Any:
        calls.append(stages is None)
        return ("other", "other") if stages is None else None

    monkeypatch.setattr(knobs.runtime, "add_stages_inspection_hook", other)
    with twill.triton.installed(apply="always", store=filled, log=lambda line: None):
        compiled("gemm")
    assert False in calls and knobs.runtime.add_stages_inspection_hook is other
    monkeypatch.setattr(knobs.runtime, "add_stages_inspection_hook", None)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(BadInput, match=r'apply is "maybe"\. Known: gain, always\.'):
        twill.triton.install(apply="maybe")
    with pytest.raises(BadInput, match="no machine"):
        twill.triton.install(machine="h9000")
    twill.triton.uninstall()
    assert knobs.runtime.add_stages_inspection_hook is None


@pytest.mark.skipif(IN_KEYS, reason="Triton 3.6 keeps kernels under keys that know of no hook")
def test_triton_3_6_gets_a_cache_of_its_own(filled: Path) -> None:
    before = knobs.cache.dir
    with twill.triton.installed(apply="always", store=filled, log=lambda line: None):
        assert Path(knobs.cache.dir).parent == Path(before) and Path(knobs.cache.dir).name.startswith("twill-")
    assert knobs.cache.dir == before


# ---------------------------------------------------------------------------------------------------------------- fault injection
def left_alone(lines: list[str]) -> bool:
    return len(lines) == 1 and lines[0].startswith("gemm: left to Triton: ")


def with_fault(tmp_path: Path, **settings: Any) -> tuple[Any, list[str]]:
    lines: list[str] = []
    with twill.triton.installed(apply="always", store=settings.pop("store", tmp_path / "s"), log=lines.append, **settings):
        return compiled("gemm"), lines


def dying(*_: Any) -> Result:
    raise SolverError("engine yices ended with signal 9.")


def late(*_: Any) -> Result:
    return Result(None, Certificate("unknown", reason="the time limit of 20 s is over"))


def broken(*_: Any) -> Any:
    raise ZeroDivisionError("a bug in twill")


@pytest.mark.parametrize(
    ("place", "fault", "said"),
    [
        ("twill.schedule", dying, "engine yices ended with signal 9"),
        ("twill.schedule", late, "no schedule: the time limit of 20 s is over"),
        ("twill.schedule", broken, "ZeroDivisionError: a bug in twill"),
        ("twill.triton.adviser._marked", lambda *_: "this is no module", "RuntimeError: "),
        ("twill.triton.advice.ttgir.parse", broken, "ZeroDivisionError"),
    ],
)
def test_whatever_dies_the_kernel_is_triton_s_own(
    quick: None, own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, fault: Callable[..., Any], said: str
) -> None:
    monkeypatch.setattr(place, fault)
    kernel, lines = with_fault(tmp_path)
    assert kernel.asm["ptx"] == own
    assert left_alone(lines) and said in lines[0]
    assert fault not in (dying, late) or not list(tmp_path.glob("s/*.json")), "what may end otherwise is not stored"


def test_a_compiler_that_dies_in_the_trial(own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twill.backends.triton_compiler.sys.executable", "/bin/false")
    kernel, lines = with_fault(tmp_path)
    assert left_alone(lines) and "Triton died: exit status 1" in lines[0]
    assert kernel.asm["ptx"] == own


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({"shared": 240000}, "shared memory: 240,000 bytes, a block has 232,448"),
        ({"tensor": 640}, "tensor memory: 640 columns, there are 512"),
        ({"notes": ("(C7510) Potential Performance Loss: wgmma serialized",)}, "ptxas: (C7510) Potential Performance Loss"),
        ({"spills": 8}, "ptxas spills 8 bytes a thread, of Triton's own version 0"),
    ],
)
def test_what_offline_compiles_do_not_say_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figures: dict[str, Any], said: str
) -> None:
    def trial(text: str, **asked: Any) -> Compiled:
        ours = "tt.scheduled_max_stage" in text and "loop.cluster = 1 : i32, loop.stage = 0" in text and text.count("loop.stage") > 4
        seen.append(text)
        return Trial(**(figures if len(seen) == 2 and ours else {}))(text)

    seen: list[str] = []
    monkeypatch.setattr(advice, "advise", functools.partial(advice.advise, compile_=trial))
    _, lines = with_fault(tmp_path)
    assert left_alone(lines) and said in lines[0]


def test_a_loop_that_triton_did_not_pipeline_is_found(own: str, tmp_path: Path, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(text: str, found: Any) -> str:
        return text  # Triton's own marks, with other rings than those that the advice names

    monkeypatch.setattr(adviser, "_marked", other)
    entry = next(iter(filled.glob("*.json")))
    changed = json.loads(entry.read_text())
    changed["buffers"] = {name: [7, tile] for name, (_, tile) in changed["buffers"].items()}
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / entry.name).write_text(json.dumps(changed))
    kernel, lines = with_fault(tmp_path)
    assert left_alone(lines) and "Triton made no ring of 7 slots of " in lines[0]
    assert kernel.asm["ptx"] == own


def test_a_disk_that_is_full(own: str, quick: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    def opened(handle: int, *_: Any, **__: Any) -> Full:
        os.close(handle)
        return Full()

    monkeypatch.setattr(store.os, "fdopen", opened)
    kernel, lines = with_fault(tmp_path)
    assert kernel.asm["ptx"] != own, "a store that is full is no reason not to schedule"
    assert lines[0].endswith("; the store cannot be written: no space left on device")
    assert list((tmp_path / "s").iterdir()) == [], "nothing half written stays"


def test_a_log_that_fails(filled: Path) -> None:
    def log(line: str) -> None:
        raise OSError("closed")

    with twill.triton.installed(apply="always", store=filled, log=log):
        assert compiled("gemm").asm["cubin"]


def test_an_entry_that_cannot_be_read_is_as_none(filled: Path, tmp_path: Path) -> None:
    for entry in filled.glob("*.json"):
        (tmp_path / entry.name).write_text("{")
    _, lines = with_fault(tmp_path, store=tmp_path, read_only=True)
    assert lines == ["gemm: left to Triton: it is not in the store"]


def test_an_entry_that_would_make_a_wrong_kernel_is_refused(own: str, filled: Path, tmp_path: Path) -> None:
    entry = next(iter(filled.glob("*.json")))
    changed = json.loads(entry.read_text())
    changed["marks"] = {op: [0, n] for n, op in enumerate(reversed(list(changed["marks"])))}
    (tmp_path / entry.name).write_text(json.dumps(changed))
    kernel, lines = with_fault(tmp_path, store=tmp_path)
    assert left_alone(lines) and "what the store says of it cannot be right: " in lines[0]
    assert kernel.asm["ptx"] == own


# ------------------------------------------------------------------------------------------------------------------------ threads
def test_two_threads_compile_at_once(own: str, filled: Path, tmp_path: Path) -> None:
    """Recording Triton's passes must not disturb what another thread compiles."""
    alone = {"gemm": own, "layernorm": compiled("layernorm").asm["ptx"]}
    knobs.cache.dir = str(tmp_path / "other")
    found: dict[str, list[Any]] = {"gemm": [], "layernorm": []}
    lines: list[str] = []

    def work(name: str) -> None:
        for stages in (5, 3, 5):
            found[name].append(compiled(name, num_stages=stages))

    with twill.triton.installed(apply="always", store=filled, read_only=True, log=lines.append):
        threads = [threading.Thread(target=work, args=(name,)) for name in found]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [len(kernels) for kernels in found.values()] == [3, 3]
    assert found["layernorm"][0].asm["ptx"] == alone["layernorm"], "not in the store: Triton's own"
    assert found["gemm"][0].asm["ptx"] == found["gemm"][2].asm["ptx"] != alone["gemm"]
    assert any(line.startswith("gemm: scheduled") for line in lines)


def test_triton_itself_is_left_as_it_is(filled: Path) -> None:
    from triton.backends.nvidia import compiler

    before = compiler.ir, compiler.passes, compiler.nvidia, compiler.CUDABackend.make_ttgir
    with twill.triton.installed(apply="always", store=filled, log=lambda line: None):
        compiled("gemm")
    assert (compiler.ir, compiler.passes, compiler.nvidia, compiler.CUDABackend.make_ttgir) == before


def test_an_unknown_triton_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from twill.frontends.triton_hook import hook

    monkeypatch.setattr(hook, "version", lambda: (4, 0))
    with pytest.raises(Unsupported, match=r"twill does not know Triton .*\. Known: 3\.6, 3\.7, 3\.8, 3\.9\."):
        twill.triton.install()
