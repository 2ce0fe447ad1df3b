"""Flash attention in Triton: forward with one query tile or two sub-tiles, and both halves of the backward pass.

Written for compilation only.  Tiles of queries, keys and values come through tensor descriptors (TMA); `S` is the sequence
length, `D` the head size.  Exponentials are base 2, so `scale` is multiplied by log2(e) once, outside the loop.
"""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def softmax_step(s, row_max, row_sum, acc, qk_scale):
    """One step of the online softmax: probabilities of this key tile; maximum, sum and accumulator at the new maximum."""
    new_max = tl.maximum(row_max, tl.max(s, 1) * qk_scale)
    p = tl.math.exp2(s * qk_scale - new_max[:, None])
    alpha = tl.math.exp2(row_max - new_max)
    return p, new_max, row_sum * alpha + tl.sum(p, 1), acc * alpha[:, None]


@triton.jit
def attention_fwd(q, k, v, o, lse, scale, S, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Forward, not causal: one [BM, D] query tile per program, [BN, D] keys and values a step."""
    base = tl.program_id(1) * S
    row = base + tl.program_id(0) * BM
    qk_scale = scale * LOG2_E
    row_max = tl.full((BM,), float("-inf"), tl.float32)
    row_sum = tl.full((BM,), 0.0, tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    q_tile = q.load([row, 0])
    for j in tl.range(0, S, BN):
        k_tile = k.load([base + j, 0])
        s = tl.dot(q_tile, k_tile.T)
        new_max = tl.maximum(row_max, tl.max(s, 1) * qk_scale)
        p = tl.math.exp2(s * qk_scale - new_max[:, None])
        alpha = tl.math.exp2(row_max - new_max)
        row_sum = row_sum * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v_tile = v.load([base + j, 0])
        acc = tl.dot(p.to(tl.float16), v_tile, acc)
        row_max = new_max
    o.store([row, 0], (acc / row_sum[:, None]).to(tl.float16))
    tl.store(lse + row + tl.arange(0, BM), row_max + tl.math.log2(row_sum))


@triton.jit
def attention_fwd_2tile(q, k, v, o, lse, scale, S, HM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Forward with two independent [HM, D] query sub-tiles that share every key and value tile.

    The two chains meet only at the loads, so that one loop body holds what a two-sub-tile (ping-pong) schedule needs.
    """
    base = tl.program_id(1) * S
    row = base + tl.program_id(0) * (2 * HM)
    qk_scale = scale * LOG2_E
    max0 = tl.full((HM,), float("-inf"), tl.float32)
    max1 = tl.full((HM,), float("-inf"), tl.float32)
    sum0 = tl.full((HM,), 0.0, tl.float32)
    sum1 = tl.full((HM,), 0.0, tl.float32)
    acc0 = tl.zeros((HM, D), tl.float32)
    acc1 = tl.zeros((HM, D), tl.float32)
    q0 = q.load([row, 0])
    q1 = q.load([row + HM, 0])
    for j in tl.range(0, S, BN):
        k_tile = k.load([base + j, 0]).T
        v_tile = v.load([base + j, 0])
        s0 = tl.dot(q0, k_tile)
        s1 = tl.dot(q1, k_tile)
        p0, max0, sum0, acc0 = softmax_step(s0, max0, sum0, acc0, qk_scale)
        p1, max1, sum1, acc1 = softmax_step(s1, max1, sum1, acc1, qk_scale)
        acc0 = tl.dot(p0.to(tl.float16), v_tile, acc0)
        acc1 = tl.dot(p1.to(tl.float16), v_tile, acc1)
    o.store([row, 0], (acc0 / sum0[:, None]).to(tl.float16))
    o.store([row + HM, 0], (acc1 / sum1[:, None]).to(tl.float16))
    tl.store(lse + row + tl.arange(0, HM), max0 + tl.math.log2(sum0))
    tl.store(lse + row + HM + tl.arange(0, HM), max1 + tl.math.log2(sum1))


@triton.jit
def attention_bwd_dkdv(q, k, v, do, dk, dv, lse, delta, scale, S, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """dK and dV of one [BN, D] key tile; the loop walks the query tiles, scores are computed transposed."""
    base = tl.program_id(1) * S
    col = base + tl.program_id(0) * BN
    qk_scale = scale * LOG2_E
    k_tile = k.load([col, 0])
    v_tile = v.load([col, 0])
    dk_acc = tl.zeros((BN, D), tl.float32)
    dv_acc = tl.zeros((BN, D), tl.float32)
    for i in range(0, S, BM):
        row = base + i
        rows = row + tl.arange(0, BM)
        q_tile = q.load([row, 0])
        lse_tile = tl.load(lse + rows)
        st = tl.dot(k_tile, q_tile.T)
        pt = tl.math.exp2(st * qk_scale - lse_tile[None, :])
        do_tile = do.load([row, 0])
        dv_acc = tl.dot(pt.to(tl.float16), do_tile, dv_acc)
        delta_tile = tl.load(delta + rows)
        dpt = tl.dot(v_tile, do_tile.T)
        dst = pt * (dpt - delta_tile[None, :])
        dk_acc = tl.dot(dst.to(tl.float16), q_tile, dk_acc)
    dv.store([col, 0], dv_acc.to(tl.float16))
    dk.store([col, 0], (dk_acc * scale).to(tl.float16))


@triton.jit
def attention_bwd_dq(q, k, v, do, dq, lse, delta, scale, S, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """dQ of one [BM, D] query tile; the loop walks the key tiles."""
    base = tl.program_id(1) * S
    row = base + tl.program_id(0) * BM
    qk_scale = scale * LOG2_E
    q_tile = q.load([row, 0])
    do_tile = do.load([row, 0])
    rows = row + tl.arange(0, BM)
    lse_tile = tl.load(lse + rows)
    delta_tile = tl.load(delta + rows)
    dq_acc = tl.zeros((BM, D), tl.float32)
    for j in range(0, S, BN):
        k_tile = k.load([base + j, 0])
        v_tile = v.load([base + j, 0])
        s = tl.dot(q_tile, k_tile.T)
        p = tl.math.exp2(s * qk_scale - lse_tile[:, None])
        dp = tl.dot(do_tile, v_tile.T)
        ds = p * (dp - delta_tile[:, None])
        dq_acc = tl.dot(ds.to(tl.float16), k_tile, dq_acc)
    dq.store([row, 0], (dq_acc * scale).to(tl.float16))
