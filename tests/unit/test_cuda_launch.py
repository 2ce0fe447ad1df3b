"""Launching generated kernels, with arrays and a driver that only look like those of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import twill.cuda
from twill.backends.cuda.kernel import POINTER, SCALAR, TENSOR_MAP, Argument, CudaKernel, metadata, read_kernel
from twill.cuda.tensors import Tensor
from twill.errors import BadInput, ExitCode, TwillError, Unsupported

MAP_A = Argument("a_map", "a", TENSOR_MAP, "f16", (128, 64), 128)
MAP_B = Argument("b_map", "b", TENSOR_MAP, "f16", (64, 64), 128)
BIAS = Argument("bias", "bias", POINTER, "f32", align=16)
ROWS = Argument("a_shape_0", "a.shape.0", SCALAR, "i32", of="a", field="shape", axis=0)
STRIDE = Argument("b_stride_0", "b.stride.0", SCALAR, "i64", of="b", field="stride", axis=0)
DEPTH = Argument("K", "K", SCALAR, "i32")
SCALE = Argument("scale", "scale", SCALAR, "f32")
KERNEL = CudaKernel("product", "", (MAP_A, ROWS, MAP_B, STRIDE, BIAS, DEPTH, SCALE), threads=384, shared_bytes=196608)


@dataclass
class FakeDriver:
    """Writes down what it is asked for."""

    loaded: list[tuple[str, str, int]] = field(default_factory=list)
    maps: list[tuple[Tensor, tuple[int, ...], int]] = field(default_factory=list)
    launches: list[tuple[Any, ...]] = field(default_factory=list)
    configs: list[tuple[Any, ...]] = field(default_factory=list)

    def load(self, image: bytes, name: str, target: str, shared_bytes: int) -> str:
        self.loaded.append((name, target, shared_bytes))
        return f"kernel {name}"

    def tensor_map(self, tensor: Tensor, box: tuple[int, ...], swizzle: int) -> str:
        self.maps.append((tensor, box, swizzle))
        return f"map {len(self.maps)}"

    def config(self, grid: tuple[int, ...], threads: int, shared_bytes: int) -> tuple[Any, ...]:
        self.configs.append((grid, threads, shared_bytes))
        return self.configs[-1]

    def stream(self, handle: int) -> str:
        return f"stream {handle}"

    def view(self, array: Any) -> Any:
        return array.seen

    def launch(self, stream: Any, config: Any, kernel: Any, *arguments: Any) -> None:
        self.launches.append((stream, config, kernel, *arguments))


class Interface:
    """An array with `__cuda_array_interface__` (CuPy and others)."""

    def __init__(
        self, shape: tuple[int, ...], dtype: Any = np.float16, pointer: int = 4096, strides: tuple[int, ...] | None = None
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.found = {"shape": shape, "typestr": self.dtype.str, "data": (pointer, False), "strides": strides, "version": 3}

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.found


class Torch:
    """An array like a tensor of PyTorch."""

    def __init__(self, shape: tuple[int, ...], dtype: str = "float16", pointer: int = 8192, cuda: bool = True) -> None:
        self.shape, self.dtype, self._pointer, self.is_cuda = shape, f"torch.{dtype}", pointer, cuda

    is_cuda = True

    def data_ptr(self) -> int:
        return self._pointer

    def stride(self) -> tuple[int, ...]:
        return tuple(int(np.prod(self.shape[axis + 1 :])) for axis in range(len(self.shape)))


@dataclass
class Seen:
    ptr: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: Any
    is_device_accessible: bool = True


class Exporter:
    """An array with DLPack only."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen

    def __dlpack__(self) -> None: ...


def loaded(kernel: CudaKernel = KERNEL) -> tuple[twill.cuda.LoadedKernel, FakeDriver]:
    driver = FakeDriver()
    return twill.cuda.LoadedKernel(kernel, b"", driver), driver


def arrays() -> tuple[Any, ...]:
    return Interface((256, 128)), Torch((128, 512)), Interface((512,), np.float32, 65536), 128, 0.5


def test_a_launch_gets_everything_in_the_order_of_the_signature() -> None:
    kernel, driver = loaded()
    kernel(*arrays(), grid=(2, 4), stream=7)
    assert driver.loaded == [("product", "sm_90a", 196608)]
    assert driver.maps == [
        (Tensor(4096, (256, 128), (128, 1), "f16"), (128, 64), 128),
        (Tensor(8192, (128, 512), (512, 1), "f16"), (64, 64), 128),
    ]
    config = ((2, 4), 384, 196608)
    assert driver.launches == [("stream 7", config, "kernel product", "map 1", 256, "map 2", 512, 65536, 128, 0.5)]
    assert [type(each) for each in driver.launches[0][4:]] == [int, str, int, int, int, np.float32]


def test_arguments_go_by_position_or_by_name() -> None:
    kernel, driver = loaded()
    a, b, bias, depth, scale = arrays()
    kernel(a, b, bias, depth, scale, grid=1)
    kernel(a, b, scale=scale, K=depth, bias=bias, grid=1)
    assert driver.launches[0] == driver.launches[1]
    assert repr(kernel) == "<twill kernel product(a, b, bias, K, scale) for sm_90a>"


def test_tensor_maps_and_configurations_are_made_once() -> None:
    kernel, driver = loaded()
    for _ in range(3):
        kernel(*arrays(), grid=(2, 4))
    assert (len(driver.maps), len(driver.configs), len(driver.launches)) == (2, 1, 3)


@pytest.mark.parametrize(
    "change",
    [
        lambda a, b, bias, k, s: (Interface((256, 128), pointer=8192), b, bias, k, s),
        lambda a, b, bias, k, s: (Interface((128, 128)), b, bias, k, s),
        lambda a, b, bias, k, s: (Interface((256, 128), strides=(512, 2)), b, bias, k, s),
        lambda a, b, bias, k, s: (a, b, bias, 64, s),
        lambda a, b, bias, k, s: (a, b, bias, k, 0.25),
    ],
)
def test_a_new_address_extent_stride_or_number_is_seen(change: Callable[..., tuple[Any, ...]]) -> None:
    kernel, driver = loaded()
    kernel(*arrays(), grid=1)
    kernel(*change(*arrays()), grid=1)
    first, second = driver.launches
    assert first[3:] != second[3:]


def test_an_array_that_two_tensor_maps_need_is_given_once() -> None:
    kernel, driver = loaded(replace(KERNEL, arguments=(MAP_A, replace(MAP_A, name="a_store", box=(64, 64)), DEPTH)))
    kernel(Interface((256, 128)), 128, grid=1)
    assert [box for _, box, _ in driver.maps] == [(128, 64), (64, 64)]
    assert driver.launches[0][3:] == ("map 1", "map 2", 128)


def test_dlpack_alone_will_do() -> None:
    kernel, driver = loaded(replace(KERNEL, arguments=(replace(MAP_A, dtype="bf16"),)))
    kernel(Exporter(Seen(4096, (128, 64), None, np.dtype(ml_dtypes.bfloat16))), grid=1)
    assert driver.maps[0][0] == Tensor(4096, (128, 64), (64, 1), "bf16")


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (Torch((16, 64), "bfloat16"), "bf16"),
        (Torch((16, 64), "float8_e4m3fn"), "f8E4M3FN"),
        (Interface((16, 64), ml_dtypes.bfloat16), "bf16"),
        (Interface((16, 64), np.uint8), "i8"),
        (Interface((16, 64), np.float32), "f32"),
    ],
)
def test_element_types_of_every_library(array: object, dtype: str) -> None:
    kernel, driver = loaded(replace(KERNEL, arguments=(replace(MAP_A, dtype=dtype),)))
    kernel(array, grid=1)
    assert driver.maps[0][0].dtype == dtype


@pytest.mark.parametrize(
    ("stream", "seen"),
    [
        (None, "stream 0"),
        (12, "stream 12"),
        (type("S", (), {"cuda_stream": 5})(), "stream 5"),
        (type("S", (), {"ptr": 6})(), "stream 6"),
        (type("S", (), {"__cuda_stream__": lambda self: (0, 8)})(), "stream 8"),
    ],
)
def test_streams_of_every_library(stream: object, seen: str) -> None:
    kernel, driver = loaded()
    kernel(*arrays(), grid=1, stream=stream)
    assert driver.launches[0][0] == seen


def test_a_grid_of_clusters_counts_blocks() -> None:
    """The code says itself that its blocks work in clusters."""
    kernel, driver = loaded(replace(KERNEL, cluster=2, cluster_axis="y"))
    kernel(*arrays(), grid=(7, 2))
    assert driver.configs == [((7, 2), 384, 196608)]


ROWS_OF_TILES = ("/", ("+", "K", 127), 128)


def test_what_clusters_need_of_numbers_is_checked() -> None:
    kernel = replace(KERNEL, cluster=2, multiples=(ROWS_OF_TILES,))
    assert read_kernel(metadata(kernel)).multiples == (ROWS_OF_TILES,)
    found, driver = loaded(kernel)
    a, b, bias, _, scale = arrays()
    found(a, b, bias, 256, scale, grid=2)
    assert len(driver.launches) == 1
    assert wrong(lambda a, b, bias, _, scale: (a, b, bias, 384, scale), kernel, grid=2) == (
        "product loads tiles once for 2 blocks, which takes a multiple of 2 for (K + 127) / 128, and that is 3. "
        "Pad the arrays, or generate the kernel without --cluster."
    )


def wrong(change: Callable[..., tuple[Any, ...]], kernel: CudaKernel = KERNEL, **options: Any) -> str:
    with pytest.raises(TwillError) as error:
        loaded(kernel)[0](*change(*arrays()), **{"grid": 1, **options})
    assert error.value.exit_code in (ExitCode.BAD_INPUT, ExitCode.UNSUPPORTED)
    return str(error.value)


def first(array: object) -> Callable[..., tuple[Any, ...]]:
    return lambda a, *others: (array, *others)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (first([1.0]), "a must be an array on the GPU, it is of list. Anything with __cuda_array_interface__ or DLPack will do."),
        (first(Torch((256, 128), cuda=False)), "a is in host memory. Move it to the GPU first."),
        (first(Exporter(Seen(4096, (1, 1), None, "f", False))), "a is in host memory. Move it to the GPU first."),
        (
            first(Interface((256, 128), np.float32)),
            "a has elements of f32, the kernel takes f16. Convert it, or generate the kernel for that type.",
        ),
        (first(Interface((2, 256, 128))), "a has 3 dimensions, the kernel takes 2. Reshape it, for example with view(-1, last extent)."),
        (first(Interface((256,))), "a has 1 dimension, the kernel takes 2. Reshape it, for example with view(-1, last extent)."),
        (first(Interface((0, 128))), "a has extents 0 x 128; each must be between 1 and 2^32 - 1."),
        (
            first(Interface((256, 128), strides=(2, 512))),
            "a has stride 256 in its last dimension, which must be contiguous. "
            "Call contiguous(), or take the kernel for the transposed layout.",
        ),
        (
            first(Interface((256, 65))),
            "a has stride 65 in dimension 0, 130 bytes; bulk copies need a positive multiple of 16. Pad the rows.",
        ),
        (
            first(Interface((256, 128), strides=(-256, 2))),
            "a has stride -128 in dimension 0, -256 bytes; bulk copies need a positive multiple of 16. Pad the rows.",
        ),
        (
            first(Interface((256, 128), strides=(257, 2))),
            "a has strides of 257, 2 bytes, which are not whole elements of 2 bytes. Copy it first.",
        ),
        (
            first(Interface((256, 128), pointer=4104)),
            "a lies 8 bytes behind a multiple of 16, and the kernel was made for multiples. Copy it to memory of its own.",
        ),
        (
            lambda a, b, bias, k, s: (a, b, Interface((512,), np.float32, 65540), k, s),
            "bias lies 4 bytes behind a multiple of 16, and the kernel was made for multiples. Copy it to memory of its own.",
        ),
        (lambda a, b, bias, k, s: (a, b, bias, 64.0, s), "K must be an integer of type i32, it is 64.0."),
        (lambda a, b, bias, k, s: (a, b, bias, True, s), "K must be an integer of type i32, it is True."),
        (lambda a, b, bias, k, s: (a, b, bias, 2**32, s), "K is 4294967296, which no i32 holds."),
        (lambda a, b, bias, k, s: (a, b, bias, a, s), "K must be an integer of type i32, it is of Interface."),
        (lambda a, b, bias, k, s: (a, b, bias, k, "1"), "scale must be a number of type f32, it is '1'."),
        (lambda a, b, bias, k, s: (a, b, bias, k), "product(a, b, bias, K, scale): missing: scale."),
        (lambda *all: (*all, 1), "product(a, b, bias, K, scale): 5 arguments are taken, 6 were given."),
    ],
)
def test_what_does_not_fit_is_named(change: Callable[..., tuple[Any, ...]], message: str) -> None:
    assert wrong(change) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 1}, "product(a, b, bias, K, scale): there is no argument depth."),
        ({"K": 1}, "product(a, b, bias, K, scale): given twice: K."),
        ({"grid": 0}, "the grid is 0; it must be one to three positive numbers of blocks, at most 2147483647 x 65535 x 65535."),
        (
            {"grid": (1, 65536)},
            "the grid is (1, 65536); it must be one to three positive numbers of blocks, at most 2147483647 x 65535 x 65535.",
        ),
        ({"grid": "1"}, "the grid is '1'; it must be one to three positive numbers of blocks, at most 2147483647 x 65535 x 65535."),
        (
            {"stream": "main"},
            "the stream is of str. Give a stream of PyTorch, CuPy or cuda.core, or the number of a CUstream.",
        ),
    ],
)
def test_wrong_grids_streams_and_names(options: dict[str, Any], message: str) -> None:
    assert wrong(lambda *all: all, **options) == message


def test_a_grid_must_be_whole_clusters() -> None:
    message = (
        "the grid has {} blocks along {}, which are not whole clusters of 2. Launch a multiple, or generate the kernel without --cluster."
    )
    assert wrong(lambda *all: all, replace(KERNEL, cluster=2), grid=3) == message.format(3, "x")
    assert wrong(lambda *all: all, replace(KERNEL, cluster=2, cluster_axis="y"), grid=4) == message.format(1, "y")


def test_types_that_no_launch_passes_are_unsupported() -> None:
    kernel = replace(KERNEL, arguments=(replace(SCALE, dtype="bf16"),))
    with pytest.raises(Unsupported) as error:
        loaded(kernel)[0](1.0, grid=1)
    assert str(error.value) == "scale is a scalar of type bf16, which cannot be passed. Pass f32 or an array."


def test_a_negative_and_an_unsigned_number_have_the_same_bits() -> None:
    kernel, driver = loaded(replace(KERNEL, arguments=(DEPTH,)))
    kernel(-1, grid=1)
    kernel(2**32 - 1, grid=1)
    assert [launch[3] for launch in driver.launches] == [np.int32(-1)] * 2


def test_a_cubin_is_launched_without_its_source(tmp_path: Path) -> None:
    path = tmp_path / "product.cubin"
    path.write_bytes(b"\x7fELF and more\n" + metadata(KERNEL).encode() + b"\n")
    driver = FakeDriver()
    twill.cuda.load(path, driver=driver)(*arrays(), grid=1)
    assert len(driver.launches) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x7fELF and nothing else", "this is not machine code with the metadata of a generated kernel behind it."),
        (b"text\n" + metadata(KERNEL).encode(), "this is not machine code with the metadata of a generated kernel behind it."),
    ],
)
def test_other_files_are_bad_input(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "product.cubin"
    path.write_bytes(content)
    with pytest.raises(BadInput) as error:
        twill.cuda.load(path, driver=FakeDriver())
    assert str(error.value) == f"{path}: {message} Build it with `twill build kernel.cu -o kernel.cubin`."


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        twill.cuda.load(tmp_path / "missing.cubin", driver=FakeDriver())
    assert str(error.value) == f"{tmp_path / 'missing.cubin'}: cannot read the file: no such file or directory."


def test_without_cuda_core_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cuda", None)
    path = tmp_path / "product.cubin"
    path.write_bytes(b"\x7fELF\n" + metadata(KERNEL).encode() + b"\n")
    with pytest.raises(Unsupported) as error:
        twill.load(path)
    assert str(error.value).startswith("launching needs cuda.core, which cannot be imported: ")
    assert str(error.value).endswith(". Install it with: python -m pip install 'twill-scheduler[cuda]'.")


def test_a_block_that_does_several_programs_is_told_how_many_there_are() -> None:
    programs = Argument("programs_x", "programs_x", SCALAR, "i32")
    kernel, driver = loaded(replace(KERNEL, arguments=(DEPTH, programs), coarsen=("x", 3)))
    assert repr(kernel) == "<twill kernel product(K) for sm_90a>"
    kernel(128, grid=(10, 2))
    kernel(128, grid=(12, 2))
    kernel(128, grid=[10, 2])
    assert [config[0] for config in driver.configs] == [(4, 2), (4, 2)]
    assert [launch[3:] for launch in driver.launches] == [(128, 10), (128, 12), (128, 10)]


def test_metadata_keep_how_many_programs_a_block_does() -> None:
    kernel = replace(KERNEL, coarsen=("y", 2))
    assert read_kernel(metadata(kernel)) == replace(kernel, source=metadata(kernel))


def test_a_launch_like_the_one_before_makes_nothing_and_any_difference_is_seen() -> None:
    kernel, driver = loaded()
    a, b, bias, depth, scale = arrays()
    grid = [2, 4]
    kernel(a, b, bias, depth, scale, grid=grid, stream=7)
    made = len(driver.maps)
    kernel(a, b, bias, depth, scale, grid=grid, stream=7)
    assert len(driver.maps) == made
    grid[0] = 3
    kernel(a, b, bias, depth, scale, grid=grid, stream=7)
    b._pointer += 4096
    kernel(a, b, bias, depth, scale, grid=grid, stream=7)
    kernel(a, b, bias, 64, scale, grid=grid, stream=9)
    kernel(a, Interface((128, 512)), bias, 64, scale, grid=grid, stream=9)
    launches = [(stream, config[0], *rest[1:]) for stream, config, *rest in driver.launches]
    assert launches[0] == launches[1]
    assert [launch[:2] for launch in launches[2:]] == [("stream 7", (3, 4))] * 2 + [("stream 9", (3, 4))] * 2
    assert [launch[-2] for launch in launches] == [128, 128, 128, 128, 64, 64]
    assert [launch[4] for launch in launches] == ["map 2", "map 2", "map 2", "map 4", "map 6", "map 8"]


MADE = Argument("d_map", "bias", TENSOR_MAP, "f32", (64, 32), 128, shape=("K", ("*", "K", 2)), strides=(("+", ("*", "K", 2), 4), 1))


def test_descriptors_that_the_kernel_of_the_source_makes_are_made_here() -> None:
    kernel, driver = loaded(replace(KERNEL, arguments=(*KERNEL.arguments, MADE)))
    assert [parameter.name for parameter in kernel.parameters] == ["a", "b", "bias", "K", "scale"]
    kernel(*arrays(), grid=1, stream=7)
    assert driver.maps[-1] == (Tensor(65536, (128, 256), (260, 1), "f32"), (64, 32), 128)
    with pytest.raises(BadInput) as caught:
        kernel(*arrays()[:3], 127, 0.5, grid=1, stream=7)
    assert str(caught.value) == (
        "bias has stride 258 in dimension 0, 1032 bytes; bulk copies need a positive multiple of 16. Pad the rows."
    )


def test_what_such_a_descriptor_is_made_of_survives_the_file() -> None:
    kernel = replace(KERNEL, arguments=(*KERNEL.arguments, MADE))
    assert read_kernel(metadata(kernel)).arguments == kernel.arguments
