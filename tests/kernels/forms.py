"""Ways to write loops over tiles that the CUDA backend takes; `tests/unit/test_cuda_build_forms.py` builds them."""

import triton
import triton.language as tl


@triton.jit
def _tile_of(tile, tiles_m, tiles_n, GROUP: tl.constexpr):
    """Row and column of a tile, in groups of GROUP rows."""
    first = tile // (GROUP * tiles_n) * GROUP
    rows = min(tiles_m - first, GROUP)
    inside = tile % (GROUP * tiles_n)
    return first + inside % rows, inside // rows


@triton.jit
def persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SMS: tl.constexpr, FLAT: tl.constexpr):
    """A loop over tiles around the K loop; the tile that is stored is counted apart from the one that is loaded."""
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    stored = tl.program_id(0) - SMS
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, SMS, flatten=FLAT):
        m, n = _tile_of(tile, tiles_m, tiles_n, 8)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(a.load([m * BM, k * BK]), b.load([n * BN, k * BK]).T, acc)
        stored += SMS
        m, n = _tile_of(stored, tiles_m, tiles_n, 8)
        c.store([m * BM, n * BN], acc.to(c.dtype))


@triton.jit
def made(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Descriptors that the kernel makes, and a result that is stored in halves."""
    left = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    right = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    out = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN // 2])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(left.load([m, k]), right.load([n, k]).T, acc)
    first, second = tl.split(tl.permute(tl.reshape(acc, (BM, 2, BN // 2)), (0, 2, 1)))
    out.store([m, n], first.to(tl.float16))
    out.store([m, n + BN // 2], second.to(tl.float16))


@triton.jit
def masked(a, b, c, M, N, K, row_a, row_b, row_c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WRAP: tl.constexpr):
    """Pointers, with masks where the operands end, or rows that wrap around as in Triton's tutorial."""
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    left = a + ((rows % M if WRAP else rows)[:, None] * row_a + depth[None, :])
    right = b + ((columns % N if WRAP else columns)[None, :] * row_b + depth[:, None])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        inside = depth < K - k * BK
        x = tl.load(left, mask=inside[None, :] if WRAP else (rows < M)[:, None] & inside[None, :], other=0.0)
        y = tl.load(right, mask=inside[:, None] if WRAP else (columns < N)[None, :] & inside[:, None], other=0.0)
        acc = tl.dot(x, y, acc)
        left += BK
        right += BK
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c + rows[:, None] * row_c + columns[None, :], acc.to(tl.float16), mask=inside)


@triton.jit
def stored_inside(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A store by a descriptor in every iteration."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    for k in range(0, K, BK):
        product = tl.dot(a.load([m, k]), b.load([n, k]).T)
        c.store([m, n + k // BK * 4096], product.to(c.dtype))


@triton.jit
def elementwise(a, c, N, BM: tl.constexpr, BN: tl.constexpr):
    """From descriptor to descriptor through registers."""
    m = tl.program_id(0) * BM
    for n in range(0, N, BN):
        c.store([m, n], (a.load([m, n]).to(tl.float32) * 2.0 + 1.0).to(c.dtype))


@triton.jit
def converted_first(a, b, c, K, TO: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A first operand that is converted in registers, from where the product reads it."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k]).to(TO), b.load([n, k]).T, acc)
    c.store([m, n], acc.to(c.dtype))


@triton.jit
def converted_second(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A second operand that is converted in registers and put back to shared memory."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([m, k]), b.load([k, n]).to(tl.float16), acc)
    c.store([m, n], acc.to(c.dtype))


@triton.jit
def persistent_pointers(
    a, b, c, M, N, K, row_a, row_b, row_c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SMS: tl.constexpr, FLAT: tl.constexpr
):
    """Triton's tutorial: pointers that are made anew in every iteration, with promises about them."""
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, SMS, flatten=FLAT):
        m, n = _tile_of(tile, tiles_m, tiles_n, 8)
        rows, columns = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN)
        left = tl.max_contiguous(tl.multiple_of(tl.where(rows < M, rows, 0), BM), BM)
        right = tl.max_contiguous(tl.multiple_of(tl.where(columns < N, columns, 0), BN), BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            depth = k * BK + tl.arange(0, BK)
            x = tl.load(a + left[:, None] * row_a + depth[None, :], mask=depth[None, :] < K, other=0.0)
            y = tl.load(b + depth[:, None] * row_b + right[None, :], mask=depth[:, None] < K, other=0.0)
            acc = tl.dot(x, y, acc)
        inside = (rows < M)[:, None] & (columns < N)[None, :]
        tl.store(c + rows[:, None] * row_c + columns[None, :], acc.to(tl.float16), mask=inside)


@triton.jit
def batched(a, b, c, B, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Descriptors of three dimensions."""
    left = tl.make_tensor_descriptor(a, shape=[B, M, K], strides=[M * K, K, 1], block_shape=[1, BM, BK])
    right = tl.make_tensor_descriptor(b, shape=[B, N, K], strides=[N * K, K, 1], block_shape=[1, BN, BK])
    out = tl.make_tensor_descriptor(c, shape=[B, M, N], strides=[M * N, N, 1], block_shape=[1, BM, BN])
    m, n, which = tl.program_id(0) * BM, tl.program_id(1) * BN, tl.program_id(2)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = left.load([which, m, k]).reshape(BM, BK)
        y = right.load([which, n, k]).reshape(BN, BK)
        acc = tl.dot(x, y.T, acc)
    out.store([which, m, n], acc.to(tl.float16).reshape(1, BM, BN))


@triton.jit
def one_right(a, b, c, M, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SMS: tl.constexpr):
    """A loop over the rows of the result, with one block of the second operand."""
    n = tl.program_id(0) * BN
    right = b.load([n, 0])
    for tile in tl.range(tl.program_id(1), tl.cdiv(M, BM), SMS):
        c.store([tile * BM, n], tl.dot(a.load([tile * BM, 0]), right.T).to(c.dtype))
