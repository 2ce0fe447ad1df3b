"""The few things that a launch needs of CUDA, through cuda.core.  Everything that touches a GPU is here; tests put a fake in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from twill.cuda.tensors import Tensor
from twill.errors import BadInput, SolverError, Unsupported

INSTALL = "Install it with: python -m pip install 'twill-scheduler[cuda]'."


class Driver(Protocol):
    """What `twill.cuda.kernel` asks for.  Kernels, tensor maps, configurations and streams are opaque."""

    def load(self, image: bytes, name: str, target: str, shared_bytes: int) -> Any:
        """The kernel of that name in an ELF image, allowed to use so much dynamic shared memory on the current device."""

    def tensor_map(self, tensor: Tensor, box: tuple[int, ...], swizzle: int) -> Any:
        """A tensor map by value."""

    def config(self, grid: tuple[int, ...], threads: int, shared_bytes: int) -> Any:
        """A launch configuration; the grid counts blocks, also of kernels whose code says that they work in clusters."""

    def stream(self, handle: int) -> Any:
        """The stream of that CUstream, 0 for the default one."""

    def view(self, array: Any) -> Any:
        """What `twill.cuda.tensors.reader` needs of an array with DLPack."""

    def launch(self, stream: Any, config: Any, kernel: Any, *arguments: Any) -> None:
        """Launch."""


class _Array:
    """A `Tensor` as cuda.core reads it."""

    def __init__(self, tensor: Tensor, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": tensor.shape,
            "strides": tuple(stride * size for stride in tensor.strides),
            "typestr": f"<u{size}" if size > 1 else "|u1",
            "data": (tensor.pointer, False),
            "version": 3,
        }


class CudaCore:
    """The driver, through cuda.core.  Raises Unsupported when that is missing or no GPU is there."""

    def __init__(self) -> None:
        try:
            import cuda.core
            from cuda.bindings import driver
            from cuda.core import _tensor_map  # its enumerations have no public name yet
            from cuda.core.utils import StridedMemoryView
        except ImportError as error:
            raise Unsupported(f"launching needs cuda.core, which cannot be imported: {error}.", remedy=INSTALL) from error
        self._core, self._bindings, self._maps, self._view = cuda.core, driver, _tensor_map, StridedMemoryView
        self._start()
        self._device = cuda.core.Device()
        self._device.set_current()
        self.launch = cuda.core.launch

    def _start(self) -> None:
        """Initialize CUDA."""
        try:
            (status,) = self._bindings.cuInit(0)
            why = status.name if int(status) else ""
        except RuntimeError as error:  # no driver library
            why = str(error).rstrip(".")
        if why:
            raise Unsupported(f"launching needs a GPU, and CUDA finds none: {why}.", remedy="Run it where nvidia-smi lists one.")

    def load(self, image: bytes, name: str, target: str, shared_bytes: int) -> Any:
        """As `Driver.load`.  Raises Unsupported when the device is another one than the code is for."""
        self._check_device(target, shared_bytes)
        kernel = self._core.ObjectCode.from_cubin(image).get_kernel(name)
        limit = self._bindings.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        handle = self._bindings.CUkernel(int(kernel.handle))
        (status,) = self._bindings.cuKernelSetAttribute(limit, shared_bytes, handle, self._device.device_id)
        if int(status):
            raise SolverError(f"CUDA refuses {shared_bytes:,} bytes of shared memory for {name}: {status.name}.")
        return kernel

    def _check_device(self, target: str, shared_bytes: int) -> None:
        major, minor = self._device.compute_capability
        if target.removeprefix("sm_").rstrip("a") != f"{major}{minor}":
            raise Unsupported(f"the kernel is for {target}, and this GPU is sm_{major}{minor}.", remedy="Take a GPU of that architecture.")
        most = self._device.properties.max_shared_memory_per_block_optin
        if shared_bytes > most:
            raise Unsupported(f"the kernel takes {shared_bytes:,} bytes of shared memory a block, and this GPU has {most:,}.")

    def tensor_map(self, tensor: Tensor, box: tuple[int, ...], swizzle: int) -> Any:
        """As `Driver.tensor_map`.  Out-of-bounds elements are read as zero; lines of 256 bytes are fetched into L2."""
        size, kind = _ELEMENTS[tensor.dtype]
        try:
            return self._view.from_cuda_array_interface(_Array(tensor, size), -1).as_tensor_map(
                box_dim=box,
                data_type=getattr(self._maps.TensorMapDataType, kind),
                interleave=self._maps.TensorMapInterleave.NONE,
                swizzle=getattr(self._maps.TensorMapSwizzle, f"SWIZZLE_{swizzle}B" if swizzle else "NONE"),
                l2_promotion=self._maps.TensorMapL2Promotion.L2_256B,
                oob_fill=self._maps.TensorMapOOBFill.NONE,
            )
        except (ValueError, RuntimeError) as error:
            raise BadInput(f"CUDA makes no tensor map of {box} of an array of {tensor.shape}: {error}.") from error

    def config(self, grid: tuple[int, ...], threads: int, shared_bytes: int) -> Any:
        """As `Driver.config`."""
        return self._core.LaunchConfig(grid=grid, block=threads, shmem_size=shared_bytes)

    def stream(self, handle: int) -> Any:
        """As `Driver.stream`."""
        return self._core.Stream.from_handle(handle) if handle else self._core.LEGACY_DEFAULT_STREAM

    def view(self, array: Any) -> Any:
        """As `Driver.view`."""
        return self._view.from_dlpack(array, -1)


_ELEMENTS = {
    **{"f16": (2, "FLOAT16"), "bf16": (2, "BFLOAT16"), "f32": (4, "FLOAT32"), "f64": (8, "FLOAT64")},
    **{"f8E4M3FN": (1, "UINT8"), "f8E5M2": (1, "UINT8"), "i8": (1, "UINT8"), "i16": (2, "UINT16")},
    **{"i32": (4, "INT32"), "i64": (8, "INT64")},
}
"""Bytes of an element, and what tensor maps call it."""

MAPPED: Sequence[str] = tuple(_ELEMENTS)
"""Element types that tensor maps know."""
