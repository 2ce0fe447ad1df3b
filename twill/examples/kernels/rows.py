"""Row kernels in Triton, without tensor-core work: layer normalization and softmax.  Written for compilation only."""

import triton
import triton.language as tl


@triton.jit
def layernorm(x, y, w, b, N, eps, BN: tl.constexpr):
    """One row per program, three loops over it: mean, variance, normalise."""
    row = tl.program_id(0).to(tl.int64) * N
    cols = tl.arange(0, BN)
    total = tl.zeros((BN,), tl.float32)
    for c in range(0, N, BN):
        total += tl.load(x + row + c + cols, mask=c + cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / N
    total = tl.zeros((BN,), tl.float32)
    for c in range(0, N, BN):
        d = tl.load(x + row + c + cols, mask=c + cols < N, other=0.0).to(tl.float32) - mean
        total += tl.where(c + cols < N, d * d, 0.0)
    rstd = tl.math.rsqrt(tl.sum(total, 0) / N + eps)
    for c in range(0, N, BN):
        inside = c + cols < N
        value = tl.load(x + row + c + cols, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(w + c + cols, mask=inside, other=0.0).to(tl.float32)
        shift = tl.load(b + c + cols, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + row + c + cols, ((value - mean) * rstd * weight + shift).to(tl.float16), mask=inside)


@triton.jit
def softmax(x, y, rows, N, BN: tl.constexpr, NUM: tl.constexpr):
    """Persistent loop over rows of at most BN elements, one row an iteration."""
    cols = tl.arange(0, BN)
    for i in range(tl.program_id(0), rows, NUM):
        value = tl.load(x + i * N + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        e = tl.exp(value - tl.max(value, 0))
        tl.store(y + i * N + cols, (e / tl.sum(e, 0)).to(tl.float16), mask=cols < N)
