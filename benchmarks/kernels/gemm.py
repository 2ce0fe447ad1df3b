"""Matrix products C[M, N] = A[M, K] @ B for every type, layout and tile; TN says that B is stored as [N, K]."""

import triton
import triton.language as tl


@triton.jit
def tile_of(tile, tiles_m, tiles_n, GROUP: tl.constexpr):
    """Tiles in groups of GROUP rows, column by column, so that tiles that run together share operands in L2."""
    group = tile // (GROUP * tiles_n)
    first = group * GROUP
    rows = min(tiles_m - first, GROUP)
    inside = tile % (GROUP * tiles_n)
    return first + inside % rows, inside // rows


@triton.jit
def gemm(a, b, c, K, TN: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One tile a block, on a grid of tiles."""
    row = tl.program_id(0) * BM
    col = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = a.load([row, k])
        y = b.load([col, k]).T if TN else b.load([k, col])
        acc = tl.dot(x, y, acc)
    c.store([row, col], acc.to(c.dtype))


@triton.jit
def gemm_grouped(a, b, c, M, N, K, TN: tl.constexpr, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One tile a block, in an order that is kind to the L2 cache."""
    m, n = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = a.load([m * BM, k])
        y = b.load([n * BN, k]).T if TN else b.load([k, n * BN])
        acc = tl.dot(x, y, acc)
    c.store([m * BM, n * BN], acc.to(c.dtype))


@triton.jit
def gemm_persistent(
    a, b, c, M, N, K, NUM_SMS: tl.constexpr, TN: tl.constexpr, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """One block an SM, a loop over tiles around the K loop."""
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, NUM_SMS):
        m, n = tile_of(tile, tiles_m, tiles_n, GROUP)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            x = a.load([m * BM, k])
            y = b.load([n * BN, k]).T if TN else b.load([k, n * BN])
            acc = tl.dot(x, y, acc)
        c.store([m * BM, n * BN], acc.to(c.dtype))


@triton.jit
def gemm_bias_gelu_persistent(
    a,
    b,
    c,
    bias,
    M,
    N,
    K,
    NUM_SMS: tl.constexpr,
    TN: tl.constexpr,
    GROUP: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """C = gelu(A @ B + bias), tanh form; one block an SM."""
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, NUM_SMS):
        m, n = tile_of(tile, tiles_m, tiles_n, GROUP)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            x = a.load([m * BM, k])
            y = b.load([n * BN, k]).T if TN else b.load([k, n * BN])
            acc = tl.dot(x, y, acc)
        cols = n * BN + tl.arange(0, BN)
        x = acc + tl.load(bias + cols, mask=cols < N, other=0.0).to(tl.float32)[None, :]
        u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        tanh = 2.0 / (1.0 + tl.exp(-2.0 * u)) - 1.0
        c.store([m * BM, n * BN], (0.5 * x * (1.0 + tanh)).to(c.dtype))
