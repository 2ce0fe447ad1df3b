"""Attention forward for every type and head size: q, k, v, o as [B * H * S, D], lse as [B * H * S] in units of log2."""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def attention(q, k, v, o, lse, scale, S, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """One query tile a block, all keys."""
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
        acc = tl.dot(p.to(v.dtype), v_tile, acc)
        row_max = new_max
    o.store([row, 0], (acc / row_sum[:, None]).to(o.dtype))
    tl.store(lse + row + tl.arange(0, BM), row_max + tl.math.log2(row_sum))


@triton.jit
def attention_causal(q, k, v, o, lse, scale, S, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """One query tile a block, keys up to its own rows, masked in every step; tiles with most keys first."""
    base = tl.program_id(1) * S
    first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BM
    row = base + first
    rows = first + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    qk_scale = scale * LOG2_E
    row_max = tl.full((BM,), float("-inf"), tl.float32)
    row_sum = tl.full((BM,), 0.0, tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    q_tile = q.load([row, 0])
    for j in tl.range(0, first + BM, BN):
        k_tile = k.load([base + j, 0])
        s = tl.dot(q_tile, k_tile.T)
        s = tl.where((rows - j)[:, None] >= columns[None, :], s, float("-inf"))
        new_max = tl.maximum(row_max, tl.max(s, 1) * qk_scale)
        p = tl.math.exp2(s * qk_scale - new_max[:, None])
        alpha = tl.math.exp2(row_max - new_max)
        row_sum = row_sum * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v_tile = v.load([base + j, 0])
        acc = tl.dot(p.to(v.dtype), v_tile, acc)
        row_max = new_max
    o.store([row, 0], (acc / row_sum[:, None]).to(o.dtype))
    tl.store(lse + row + tl.arange(0, BM), row_max + tl.math.log2(row_sum))


@triton.jit
def attention_persistent(
    q, k, v, o, lse, scale, S, BH, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, PARTS: tl.constexpr, CAUSAL: tl.constexpr
):
    """Grid (PARTS, programs): tiles of PARTS * BM rows, handed out in turn along y; neighbours along x have BM rows each of one tile.

    Causal: the order of the rows alternates from head to head, so that all programs get as many steps, and the last tiles are the shortest.
    """
    strips = S // BM
    tiles = tl.cdiv(strips, PARTS)
    qk_scale = scale * LOG2_E
    columns = tl.arange(0, BN)
    for tile in tl.range(tl.program_id(1), tiles * BH, tl.num_programs(1)):
        head = tile // tiles
        base = head * S
        at = tile % tiles
        end = S
        if CAUSAL:
            at = tl.where((BH - head) % 2 == 1, tiles - 1 - at, at)
            end = tl.minimum((at + 1) * PARTS, strips) * BM
        first = tl.minimum(at * PARTS + tl.program_id(0), strips - 1) * BM
        row = base + first
        rows = first + tl.arange(0, BM)
        row_max = tl.full((BM,), float("-inf"), tl.float32)
        row_sum = tl.full((BM,), 0.0, tl.float32)
        acc = tl.zeros((BM, D), tl.float32)
        q_tile = q.load([row, 0])
        for j in tl.range(0, end, BN):
            k_tile = k.load([base + j, 0])
            s = tl.dot(q_tile, k_tile.T)
            if CAUSAL:
                s = tl.where((rows - j)[:, None] >= columns[None, :], s, float("-inf"))
            new_max = tl.maximum(row_max, tl.max(s, 1) * qk_scale)
            p = tl.math.exp2(s * qk_scale - new_max[:, None])
            alpha = tl.math.exp2(row_max - new_max)
            row_sum = row_sum * alpha + tl.sum(p, 1)
            acc = acc * alpha[:, None]
            v_tile = v.load([base + j, 0])
            acc = tl.dot(p.to(v.dtype), v_tile, acc)
            row_max = new_max
        o.store([row, 0], (acc / row_sum[:, None]).to(o.dtype))
        tl.store(lse + row + tl.arange(0, BM), row_max + tl.math.log2(row_sum))


@triton.jit
def attention_ragged(
    q, k, v, o, lse, scale, S, BH, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, PARTS: tl.constexpr, CAUSAL: tl.constexpr
):
    """As `attention_persistent`, for any S: q, k, v, o as [B * H, S, D], so that no tile reaches into the next head.

    Keys behind the end are masked: no key tile need divide S, and the loop may go in any steps (`twill schedule --step`).
    Causal: the order of the rows alternates from round to round where programs would get the same rows in every round.
    """
    strips = tl.cdiv(S, BM)
    tiles = tl.cdiv(strips, PARTS)
    qk_scale = scale * LOG2_E
    columns = tl.arange(0, BN)
    for tile in tl.range(tl.program_id(1), tiles * BH, tl.num_programs(1)):
        head = tile // tiles
        at = tile % tiles
        end = S
        if CAUSAL:
            last = (tiles * BH - 1) // tl.num_programs(1)
            turned = tl.where(tl.num_programs(1) % tiles == 0, last - tile // tl.num_programs(1), BH - head)
            at = tl.where(turned % 2 == 1, tiles - 1 - at, at)
            end = tl.minimum(tl.minimum((at + 1) * PARTS, strips) * BM, S)
        first = tl.minimum(at * PARTS + tl.program_id(0), strips - 1) * BM
        rows = first + tl.arange(0, BM)
        row_max = tl.full((BM,), float("-inf"), tl.float32)
        row_sum = tl.full((BM,), 0.0, tl.float32)
        acc = tl.zeros((BM, D), tl.float32)
        q_tile = q.load([head, first, 0]).reshape(BM, D)
        for j in tl.range(0, end, BN):
            k_tile = k.load([head, j, 0]).reshape(BN, D)
            s = tl.dot(q_tile, k_tile.T)
            seen = (columns < end - j)[None, :]
            if CAUSAL:
                seen = seen & ((rows - j)[:, None] >= columns[None, :])
            s = tl.where(seen, s, float("-inf"))
            new_max = tl.maximum(row_max, tl.max(s, 1) * qk_scale)
            p = tl.math.exp2(s * qk_scale - new_max[:, None])
            alpha = tl.math.exp2(row_max - new_max)
            row_sum = row_sum * alpha + tl.sum(p, 1)
            acc = acc * alpha[:, None]
            v_tile = v.load([head, j, 0]).reshape(BN, D)
            acc = tl.dot(p.to(v.dtype), v_tile, acc)
            row_max = new_max
        o.store([head, first, 0], (acc / row_sum[:, None]).to(o.dtype).reshape(1, BM, D))
        tl.store(lse + head * S + rows, row_max + tl.math.log2(row_sum), mask=rows < S)
