"""The bundled examples: which kernel, for which target, with which tile sizes.  Data only: no Triton is imported here."""

from __future__ import annotations

from dataclasses import dataclass

TRITON_VERSION = "3.9.0"
"""The Triton that printed the bundled TTGIR; other versions print other text."""

SMS = {90: 132, 100: 148}


@dataclass(frozen=True)
class Example:
    """One bundled TTGIR file.

    name       file name without `.ttgir`
    source     file under `kernels/`
    kernel     function in it
    arch       90 (Hopper) or 100 (Blackwell)
    warps      warps of the kernel as compiled
    signature  argument -> Triton type, constants left out
    constants  constexpr argument -> value
    aligned    integer arguments that are multiples of 16 (pointers always are)
    summary    one line for people
    """

    name: str
    source: str
    kernel: str
    arch: int
    warps: int
    signature: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, int], ...]
    summary: str
    aligned: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """File name of the TTGIR."""
        return f"{self.name}.ttgir"

    @property
    def target(self) -> str:
        """Triton's name of the target."""
        return f"cuda:{self.arch}"


def examples() -> tuple[Example, ...]:
    """All bundled examples: Hopper first, then Blackwell, each in the order attention, matrix products, rows."""
    return tuple(e for arch in (90, 100) for family in (_attention, _backward, _gemm, _rows) for e in family(arch))


def _name(base: str, arch: int) -> str:
    return base if arch == 90 else f"{base}_sm{arch}"


def _block(rows: int, cols: int, element: str = "fp16") -> str:
    return f"tensordesc<{element}[{rows},{cols}]>"


def _attention(arch: int) -> tuple[Example, ...]:
    head, rows, keys = 128, 128, 128
    wide, tall = _block(keys, head), _block(rows, head)
    scalars = (("lse", "*fp32"), ("scale", "fp32"), ("S", "i32"))
    one = Example(
        _name("attention_fwd", arch),
        "attention.py",
        "attention_fwd",
        arch,
        8 if arch == 90 else 4,
        (("q", tall), ("k", wide), ("v", wide), ("o", tall), *scalars),
        (("BM", rows), ("BN", keys), ("D", head)),
        f"attention forward, fp16, head size {head}, {rows} query rows, {keys} keys a step",
    )
    # Two 128 x 128 score tiles beside two 128 x 128 accumulators and P would overflow the 512 columns of tensor memory.
    sub, keys = (64, 128) if arch == 90 else (128, 64)
    wide, tall = _block(keys, head), _block(sub, head)
    two = Example(
        _name("attention_fwd_2tile", arch),
        "attention.py",
        "attention_fwd_2tile",
        arch,
        4,
        (("q", tall), ("k", wide), ("v", wide), ("o", tall), *scalars),
        (("HM", sub), ("BN", keys), ("D", head)),
        f"attention forward, fp16, head size {head}, two sub-tiles of {sub} query rows, {keys} keys a step",
    )
    return (one, two, *_styles()) if arch == 90 else (one, two)


def _styles() -> tuple[Example, ...]:
    """Attention forward as others write it, for Hopper."""
    head, rows, keys = 128, 128, 128
    wide, tall = _block(keys, head), _block(rows, head)
    scalars = (("lse", "*fp32"), ("scale", "fp32"), ("S", "i32"))
    constants = (("BM", rows), ("BN", keys), ("D", head), ("CAUSAL", 0))
    descriptors = (("q", tall), ("k", wide), ("v", wide), ("o", tall), *scalars)
    pointers = (*((name, "*fp16") for name in "qkvo"), *scalars)
    size = f"fp16, head size {head}, {rows} query rows, {keys} keys a step"

    def example(kernel: str, signature: tuple[tuple[str, str], ...], what: str) -> Example:
        return Example(kernel, "attention_styles.py", kernel, 90, 8, signature, constants, f"attention forward, {what}, {size}")

    return (
        example("attention_fwd_scaled", descriptors, "queries scaled before the loop"),
        example("attention_fwd_ptr", pointers, "pointer loads, any number of keys"),
    )


def _backward(arch: int) -> tuple[Example, ...]:
    head, short, long = 128, _block(64, 128), _block(128, 128)
    scalars = (("lse", "*fp32"), ("delta", "*fp32"), ("scale", "fp32"), ("S", "i32"))
    dkdv = (("q", short), ("k", long), ("v", long), ("do", short), ("dk", long), ("dv", long), *scalars)
    dq = (("q", long), ("k", short), ("v", short), ("do", long), ("dq", long), *scalars)
    return (
        Example(
            _name("attention_bwd_dkdv", arch),
            "attention.py",
            "attention_bwd_dkdv",
            arch,
            8,
            dkdv,
            (("BM", 64), ("BN", 128), ("D", head)),
            f"attention backward, dK and dV, fp16, head size {head}, 128 keys, 64 query rows a step",
        ),
        Example(
            _name("attention_bwd_dq", arch),
            "attention.py",
            "attention_bwd_dq",
            arch,
            8,
            dq,
            (("BM", 128), ("BN", 64), ("D", head)),
            f"attention backward, dQ, fp16, head size {head}, 128 query rows, 64 keys a step",
        ),
    )


def _gemm(arch: int) -> tuple[Example, ...]:
    tile = (("BM", 128), ("BN", 128), ("BK", 64))
    a, b, c, k = ("a", _block(128, 64)), ("b", _block(64, 128)), ("c", _block(128, 128)), ("K", "i32")
    pointers = (("a", "*fp16"), ("b", "*fp16"), ("c", "*fp16"))
    strides = ("stride_a", "stride_b", "stride_c")
    sizes = tuple((name, "i32") for name in ("M", "N", "K", *strides))
    bias = (("bias", "*fp16"), ("N", "i32"))
    eight = (("a", _block(128, 128, "fp8e4nv")), ("b", _block(128, 128, "fp8e4nv")), c, ("scale", "fp32"), k)
    eight_tile = (("BM", 128), ("BN", 128), ("BK", 128))
    size = "128 x 128 tile, 64 of K a step"

    def example(
        kernel: str,
        signature: tuple[tuple[str, str], ...],
        constants: tuple[tuple[str, int], ...],
        summary: str,
        aligned: tuple[str, ...] = (),
    ) -> Example:
        return Example(_name(kernel, arch), "gemm.py", kernel, arch, 4, signature, constants, summary, aligned)

    return (
        example("gemm", (a, b, c, k), tile, f"matrix product, fp16, descriptor loads, {size}"),
        example("gemm_ptr", (*pointers, *sizes), tile, f"matrix product, fp16, pointer loads, {size}", (*strides, "K")),
        example("gemm_bias_gelu", (a, b, c, *bias, k), tile, f"matrix product with bias and GELU epilogue, fp16, {size}"),
        example("gemm_fp8", eight, eight_tile, "matrix product, fp8 (e4m3), B transposed, 128 x 128 tile, 128 of K a step"),
        example(
            "gemm_persistent",
            (a, b, c, ("M", "i32"), ("N", "i32"), k),
            (("NUM_SMS", SMS[arch]), *tile),
            f"persistent matrix product, fp16, {size}: a loop in a loop",
        ),
    )


def _rows(arch: int) -> tuple[Example, ...]:
    arrays = tuple((name, "*fp16") for name in ("x", "y", "w", "b"))
    return (
        Example(
            _name("layernorm", arch),
            "rows.py",
            "layernorm",
            arch,
            4,
            (*arrays, ("N", "i32"), ("eps", "fp32")),
            (("BN", 1024),),
            "layer normalization of fp16 rows, 1024 columns a step, three loops",
        ),
        Example(
            _name("softmax", arch),
            "rows.py",
            "softmax",
            arch,
            4,
            (*arrays[:2], ("rows", "i32"), ("N", "i32")),
            (("BN", 1024), ("NUM", SMS[arch])),
            "softmax of fp16 rows of up to 1024 columns, one row a step",
            ("N",),
        ),
    )
