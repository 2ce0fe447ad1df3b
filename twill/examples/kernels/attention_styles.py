"""Forward attention in three styles: scores scaled, queries scaled once before the loop, plain pointers with masks at the ragged end.

The same result as `attention.attention_fwd`, for every element type; written for compilation only.  `CAUSAL` masks keys behind the query.
"""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def attention_fwd_any(q, k, v, o, lse, scale, S, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    """Tensor descriptors; scores are scaled where they are used."""
    head = tl.program_id(1) * S
    first = tl.program_id(0) * BM
    rows = first + tl.arange(0, BM)
    row_max = tl.full((BM,), float("-inf"), tl.float32)
    row_sum = tl.full((BM,), 0.0, tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    queries = q.load([head + first, 0])
    end = first + BM if CAUSAL else S
    for start in tl.range(0, end, BN):
        s = tl.dot(queries, k.load([head + start, 0]).T)
        if CAUSAL:
            s = tl.where((rows - start)[:, None] >= tl.arange(0, BN)[None, :], s, float("-inf"))
        new_max = tl.maximum(row_max, tl.max(s, 1) * (scale * LOG2_E))
        p = tl.math.exp2(s * (scale * LOG2_E) - new_max[:, None])
        alpha = tl.math.exp2(row_max - new_max)
        row_sum = row_sum * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        values = v.load([head + start, 0])
        acc = tl.dot(p.to(v.dtype), values, acc)
        row_max = new_max
    o.store([head + first, 0], (acc / row_sum[:, None]).to(o.dtype))
    tl.store(lse + head + rows, row_max + tl.math.log2(row_sum))


@triton.jit
def attention_fwd_scaled(q, k, v, o, lse, scale, S, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    """Tensor descriptors; the scale and log2(e) go into the queries, the sum begins at one as its first factor is zero."""
    head = tl.program_id(1) * S
    first = tl.program_id(0) * BM
    rows = first + tl.arange(0, BM)
    m_i = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    queries = (q.load([head + first, 0]) * (scale * LOG2_E)).to(q.dtype)
    end = first + BM if CAUSAL else S
    for start in tl.range(0, end, BN):
        qk = tl.dot(queries, k.load([head + start, 0]).T)
        if CAUSAL:
            qk = tl.where((rows - start)[:, None] >= tl.arange(0, BN)[None, :], qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_new[:, None])
        alpha = tl.math.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(v.dtype), v.load([head + start, 0]), acc * alpha[:, None])
        m_i = m_new
    o.store([head + first, 0], (acc / l_i[:, None]).to(o.dtype))
    tl.store(lse + head + rows, m_i + tl.math.log2(l_i))


@triton.jit
def attention_fwd_ptr(q, k, v, o, lse, scale, S, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    """Pointers; keys are loaded transposed, everything beyond row S is masked, any S."""
    head = tl.program_id(1) * S
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    d = tl.arange(0, D)
    row_max = tl.full((BM,), float("-inf"), tl.float32)
    row_sum = tl.full((BM,), 0.0, tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    inside = rows < S
    queries = tl.load(q + (head + rows)[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
    end = tl.minimum(S, (tl.program_id(0) + 1) * BM) if CAUSAL else S
    for start in tl.range(0, end, BN):
        keys = start + columns
        kt = tl.load(k + (head + keys)[None, :] * D + d[:, None], mask=keys[None, :] < S, other=0.0)
        s = tl.dot(queries, kt) * (scale * LOG2_E)
        seen = keys[None, :] < S
        if CAUSAL:
            seen = seen & (rows[:, None] >= keys[None, :])
        s = tl.where(seen, s, float("-inf"))
        new_max = tl.maximum(row_max, tl.max(s, 1))
        p = tl.math.exp2(s - new_max[:, None])
        alpha = tl.math.exp2(row_max - new_max)
        row_sum = row_sum * alpha + tl.sum(p, 1)
        vt = tl.load(v + (head + keys)[:, None] * D + d[None, :], mask=keys[:, None] < S, other=0.0)
        acc = tl.dot(p.to(vt.dtype), vt, acc * alpha[:, None])
        row_max = new_max
    tl.store(o + (head + rows)[:, None] * D + d[None, :], (acc / row_sum[:, None]).to(o.dtype.element_ty), mask=inside[:, None])
    tl.store(lse + head + rows, row_max + tl.math.log2(row_sum), mask=inside)
