"""Loops whose step stands for tiles, and loops where its number may mean something else; `tests/unit/test_graph_steps.py` changes it."""

import triton
import triton.language as tl


@triton.jit
def attention(q, k, v, o, scale, S, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, MASK: tl.constexpr):
    """Forward for any number of keys: descriptors of three dimensions, keys behind the last one masked (MASK 0: not masked)."""
    head, first = tl.program_id(1), tl.program_id(0) * BM
    columns = tl.arange(0, BN)
    row_max = tl.full((BM,), float("-inf"), tl.float32)
    row_sum = tl.full((BM,), 0.0, tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    queries = q.load([head, first, 0]).reshape(BM, D)
    for j in tl.range(0, S, BN):
        s = tl.dot(queries, k.load([head, j, 0]).reshape(BN, D).T) * scale
        if MASK:
            s = tl.where((columns < S - j)[None, :], s, float("-inf"))
        new_max = tl.maximum(row_max, tl.max(s, 1))
        p = tl.math.exp2(s - new_max[:, None])
        alpha = tl.math.exp2(row_max - new_max)
        row_sum = row_sum * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v.load([head, j, 0]).reshape(BN, D), acc * alpha[:, None])
        row_max = new_max
    o.store([head, first, 0], (acc / row_sum[:, None]).to(o.dtype).reshape(1, BM, D))


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A matrix product whose descriptors end where the loop does: zeros behind it."""
    left = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    right = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    out = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(left.load([m, k]), right.load([n, k]).T, acc)
    out.store([m, n], acc.to(tl.float16))


@triton.jit
def odd(a, b, c, t, K, KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Products whose K loop uses the number of its step, or what moves with it, in further ways."""
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    first = a.load([m, 0])
    depth = tl.arange(0, BK)
    end = K // BK * BK if KIND == "bound" else K
    for k in range(0, end, BK):
        x, y = a.load([m, k]), b.load([n, k])
        if KIND == "square":
            x = a.load([k, k])
        if KIND == "page":
            y = b.load([n, tl.load(t + k // BK)])
        if KIND == "outside":
            x = x + first
        if KIND == "place":
            x = tl.where((depth % 2 == 0)[None, :], x, 0.0)
        if KIND == "scan":
            x = tl.associative_scan(x.to(tl.float32), 1, _add).to(tl.float16)
        if KIND == "promise":
            x = x * tl.load(t + tl.multiple_of(k + depth, BK))[None, :].to(tl.float16)
        if KIND == "mean":
            y = y + (tl.sum(y.to(tl.float32), 1) / BK)[:, None].to(tl.float16)
        acc = tl.dot(x, y.T, acc)
    c.store([m, n], acc.to(tl.float16))


@triton.jit
def _add(x, y):
    return x + y
