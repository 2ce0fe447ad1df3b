"""Matrix products C[M, N] = A[M, K] @ B[K, N] in Triton: descriptor or pointer loads, an epilogue, fp8, a persistent tile loop.

Written for compilation only: tile sizes are constants, everything else is a run-time argument.
"""

import triton
import triton.language as tl


@triton.jit
def gemm(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Operands and result through tensor descriptors (TMA)."""
    row = tl.program_id(0) * BM
    col = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([row, k]), b.load([k, col]), acc)
    c.store([row, col], acc.to(tl.float16))


@triton.jit
def gemm_ptr(a, b, c, M, N, K, stride_a, stride_b, stride_c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The same product through pointer loads (cp.async)."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    a_ptrs = a + rows[:, None] * stride_a + ks[None, :]
    b_ptrs = b + ks[:, None] * stride_b + cols[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc)
        a_ptrs += BK
        b_ptrs += BK * stride_b
    c_ptrs = c + rows[:, None] * stride_c + cols[None, :]
    tl.store(c_ptrs, acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def gemm_bias_gelu(a, b, c, bias, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = gelu(A @ B + bias), tanh form: the main loop and then an epilogue on the CUDA cores."""
    row = tl.program_id(0) * BM
    col = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([row, k]), b.load([k, col]), acc)
    cols = col + tl.arange(0, BN)
    x = acc + tl.load(bias + cols, mask=cols < N, other=0.0).to(tl.float32)[None, :]
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    tanh = 2.0 / (1.0 + tl.exp(-2.0 * u)) - 1.0
    c.store([row, col], (0.5 * x * (1.0 + tanh)).to(tl.float16))


@triton.jit
def gemm_fp8(a, b, c, scale, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """e4m3 operands, B stored as [N, K] and read transposed, one scale for the result."""
    row = tl.program_id(0) * BM
    col = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([row, k]), b.load([col, k]).T, acc)
    c.store([row, col], (acc * scale).to(tl.float16))


@triton.jit
def gemm_persistent(a, b, c, M, N, K, NUM_SMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One program per SM: a loop over the tiles of C around the K loop."""
    tiles_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, NUM_SMS):
        row = (tile // tiles_n) * BM
        col = (tile % tiles_n) * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a.load([row, k]), b.load([k, col]), acc)
        c.store([row, col], acc.to(tl.float16))
