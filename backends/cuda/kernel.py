"""A generated kernel: the text of one .cu file, and what a host needs to know to build and launch it.

The file is self-contained.  Its last line is a comment with everything of `CudaKernel` but the text, as JSON, so that a file that was
written by `twill lower --to cuda` can be built and launched without the kernel that it was made from.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from twill.errors import BadInput, Place

SCHEMA = "twill.cuda-kernel/1"
MARK = f"// {SCHEMA} "
"""How the last line of a generated file begins; the rest of that line is a JSON object."""

TENSOR_MAP, POINTER, SCALAR = "tensor_map", "pointer", "scalar"

Extent = int | str | tuple[str, "Extent", "Extent"]
"""A number that the host computes: a constant, the name of a scalar argument of the source, or (sign, left, right)."""


@dataclass(frozen=True)
class Argument:
    """A parameter of the kernel, in the order of its signature.

    name     C identifier in the signature
    source   name of the argument of the TTGIR function that it stands for; a descriptor that is accessed in boxes of two sizes is the
             source of two tensor maps
    kind     "tensor_map" (a CUtensorMap by value, __grid_constant__), "pointer" (device address, 8 bytes) or "scalar"
    dtype    element of the tensor, pointee or type of the scalar, spelled as in TTGIR: f16, bf16, f8E4M3FN, f32, i8, i32, i64, ...
    box      tensor map: elements of one copy along each dimension, outermost first, as many as the tensor has dimensions
    swizzle  tensor map: bytes of the shared-memory swizzle, 128, 64, 32, or 0 for none
    of       scalar: name of the descriptor argument whose extent or stride it is, "" when the caller passes it
    field    scalar of a descriptor: "shape" (elements) or "stride" (elements)
    axis     scalar of a descriptor: dimension, outermost first
    align    pointer: bytes by which the address is divisible, 1 when nothing is promised
    shape    tensor map of a descriptor that the kernel of the source makes of a pointer, which is `source` here: its extents
    strides  likewise, in elements

    Out-of-bounds elements of a tensor map are read as zero and not written; element strides and interleaving are not used.
    """

    name: str
    source: str
    kind: str
    dtype: str
    box: tuple[int, ...] = ()
    swizzle: int = 0
    of: str = ""
    field: str = ""
    axis: int = 0
    align: int = 1
    shape: tuple[Extent, ...] = ()
    strides: tuple[Extent, ...] = ()


@dataclass(frozen=True)
class CudaKernel:
    """A kernel for one architecture.

    name          entry point (extern "C")
    source        text of the .cu file, its metadata line included
    arguments     parameters in order
    threads       threads of a block, along x
    shared_bytes  dynamic shared memory of a block, in bytes
    target        architecture that it must be compiled for
    cluster       blocks of a cluster; 1 for none.  The code says so itself (__cluster_dims__): a launch counts blocks, in whole clusters
    registers     registers a thread that the kernel must be compiled to at most (__launch_bounds__ says so too)
    grants        (group of the schedule, registers a thread that it asks for by setmaxnreg), in the order of the groups

    cluster_axis  axis of the grid along which they follow each other
    multiples     numbers that must be multiples of `cluster`: only then do the blocks of a cluster load the same tiles
    coarsen       (axis of the grid, number of programs of the source along it that a block does the work of); the scalar argument
                  `programs_x` (or y, z) is how many there are

    The grid is the caller's: program ids are the block's indices.
    """

    name: str
    source: str
    arguments: tuple[Argument, ...]
    threads: int
    shared_bytes: int
    target: str = "sm_90a"
    cluster: int = 1
    registers: int = 255
    grants: tuple[tuple[int, int], ...] = ()
    coarsen: tuple[str, int] = ("", 1)
    cluster_axis: str = "x"
    multiples: tuple[Extent, ...] = ()


def metadata(kernel: CudaKernel) -> str:
    """The last line of the file of `kernel`, without a line end."""
    found: dict[str, object] = {
        "name": kernel.name,
        "target": kernel.target,
        "threads": kernel.threads,
        "shared_bytes": kernel.shared_bytes,
        "cluster": kernel.cluster,
        **({"cluster_axis": kernel.cluster_axis} if kernel.cluster_axis != "x" else {}),
        **({"multiples": list(kernel.multiples)} if kernel.multiples else {}),
        "registers": kernel.registers,
        "grants": [list(pair) for pair in kernel.grants],
        **({"coarsen": list(kernel.coarsen)} if kernel.coarsen[1] > 1 else {}),
        "arguments": [_argument(argument) for argument in kernel.arguments],
    }
    return MARK + json.dumps(found, separators=(", ", ": "))


def _argument(argument: Argument) -> dict[str, object]:
    """Fields of an argument that differ from their defaults, in the order of the class."""
    plain = Argument("", "", "", "")
    fields = {name: getattr(argument, name) for name in Argument.__dataclass_fields__}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in fields.items()
        if name in ("name", "source", "kind", "dtype") or value != getattr(plain, name)
    }


def read_kernel(text: str, file: str = "<cuda>") -> CudaKernel:
    """The kernel in the text of a file that this version generated.  Raises BadInput when the text has no or other metadata."""
    lines = text.rstrip().splitlines()
    place = Place(file=file, line=max(1, len(lines)))
    if not lines or not lines[-1].startswith(MARK):
        remedy = "Generate it with `twill lower SCHEDULE --kernel KERNEL --to cuda -o kernel.cu`."
        raise BadInput(f"the last line is not the metadata of a generated kernel ({MARK.strip()} ...).", place=place, remedy=remedy)
    try:
        found = json.loads(lines[-1][len(MARK) :])
        return CudaKernel(
            name=str(found["name"]),
            source=text,
            arguments=tuple(_read_argument(each) for each in found["arguments"]),
            threads=int(found["threads"]),
            shared_bytes=int(found["shared_bytes"]),
            target=str(found["target"]),
            cluster=int(found["cluster"]),
            registers=int(found["registers"]),
            grants=tuple((int(group), int(count)) for group, count in found["grants"]),
            coarsen=_read_coarsen(found.get("coarsen", ["", 1])),
            cluster_axis=_axis(found.get("cluster_axis", "x")),
            multiples=_tuples(found.get("multiples", [])),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"the metadata of the kernel cannot be read: {error!r}.", place=place, remedy="Generate the file again.") from None


def _read_coarsen(found: list[object]) -> tuple[str, int]:
    axis, count = found
    if axis not in ("", "x", "y", "z"):
        raise ValueError(f"{axis!r} is no axis of a grid")
    return str(axis), int(str(count))


def _axis(found: object) -> str:
    if found not in ("x", "y", "z"):
        raise ValueError(f"{found!r} is no axis of a grid")
    return str(found)


def _read_argument(found: dict[str, Any]) -> Argument:
    return Argument(**{name: _tuples(value) for name, value in found.items()})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
