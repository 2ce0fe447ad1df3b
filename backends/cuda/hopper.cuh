// Thin wrappers over the PTX of sm_90a, and arithmetic that C++ has no operator for.
#ifdef __CUDACC_RTC__  // NVRTC: no host headers needed
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;
struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };
#else
#include <cuda.h>
#include <cstdint>
#endif
#define DEVICE __device__ __forceinline__

namespace twill {

// ---- mbarriers, on 32-bit shared addresses -------------------------------------------------------------------------------------
DEVICE void mbar_init(uint32_t bar, int arrivals) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(arrivals) : "memory"); }
DEVICE void mbar_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void mbar_expect(uint32_t bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
DEVICE void mbar_arrive(uint32_t bar) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory"); }
DEVICE void mbar_wait(uint32_t bar, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nWAIT_%=:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE_%=;\nbra WAIT_%=;\nDONE_%=:\n}\n" ::"r"(bar),
      "r"(parity) : "memory");
}

// ---- named barriers ------------------------------------------------------------------------------------------------------------
DEVICE void bar_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
DEVICE void bar_arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }

// ---- bulk copies of tensor tiles; coordinates innermost first ------------------------------------------------------------------
DEVICE void tma_prefetch(const CUtensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }
DEVICE void tma_load(uint32_t to, const CUtensorMap& map, uint32_t bar, int x) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(to), "l"(&map), "r"(bar), "r"(x) : "memory");
}
DEVICE void tma_load(uint32_t to, const CUtensorMap& map, uint32_t bar, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(&map), "r"(bar), "r"(x), "r"(y) : "memory");
}
DEVICE void tma_load(uint32_t to, const CUtensorMap& map, uint32_t bar, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to), "l"(&map), "r"(bar), "r"(x), "r"(y), "r"(z) : "memory");
}
DEVICE void tma_load(uint32_t to, const CUtensorMap& map, uint32_t bar, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to), "l"(&map), "r"(bar), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
DEVICE void tma_store(const CUtensorMap& map, uint32_t from, int x) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%2}], [%1];" ::"l"(&map), "r"(from), "r"(x) : "memory");
}
DEVICE void tma_store(const CUtensorMap& map, uint32_t from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y) : "memory");
}
DEVICE void tma_store(const CUtensorMap& map, uint32_t from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y), "r"(z) : "memory");
}
DEVICE void tma_store(const CUtensorMap& map, uint32_t from, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> DEVICE void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }
template <int N> DEVICE void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory"); }
DEVICE void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- copies by pointers --------------------------------------------------------------------------------------------------------
template <int N> DEVICE void copy_async(uint32_t to, const void* from) {
  if constexpr (N == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(N) : "memory");
}
// The first `bytes` of them, zeros behind.
template <int N> DEVICE void copy_async(uint32_t to, const void* from, int bytes) {
  if constexpr (N == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(N), "r"(bytes) : "memory");
}
// Arrives when all earlier copies of the thread are done.
DEVICE void copies_arrive(uint32_t bar) { asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(bar) : "memory"); }

DEVICE void copies_wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// ---- warpgroup products --------------------------------------------------------------------------------------------------------
DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> DEVICE void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
// Ties registers to this point: a product reads and writes them while the code goes on.
template <int N> DEVICE void fence_regs(float (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+f"(d[i])::"memory");
}
template <int N> DEVICE void fence_regs(uint32_t (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+r"(d[i])::"memory");
}
// Low word of a shared-memory matrix descriptor: address and leading byte offset.  The high word is a constant.
DEVICE uint32_t matrix_low(uint32_t address, uint32_t leading) { return (address & 0x3ffff) >> 4 | (leading >> 4) << 16; }
DEVICE uint64_t matrix(uint32_t high, uint32_t low) { return (uint64_t)high << 32 | low; }
// Hides how a value was made, so that it stays in a register instead of being computed again.
DEVICE uint32_t opaque(uint32_t x) {
  asm volatile("" : "+r"(x));
  return x;
}
template <int N> DEVICE void more_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N> DEVICE void fewer_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }

// ---- shared memory -------------------------------------------------------------------------------------------------------------
DEVICE void stmatrix4(uint32_t to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
DEVICE void store_shared(uint32_t to, uint32_t x) { asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(x) : "memory"); }
DEVICE void store_shared(uint32_t to, float x) { asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(x) : "memory"); }
DEVICE void load_shared(uint32_t from, float& x) { asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(from) : "memory"); }
DEVICE void load_shared(uint32_t from, uint32_t& x) { asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(from) : "memory"); }
DEVICE void load_shared(uint32_t from, int& x) { asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(from) : "memory"); }
DEVICE void store_shared(uint32_t to, int x) { asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(x) : "memory"); }
DEVICE void store_shared(uint32_t to, uint32_t x, uint32_t y) { asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(x), "r"(y) : "memory"); }
DEVICE void store_shared(uint32_t to, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
DEVICE void store_shared16(uint32_t to, uint32_t x) { asm volatile("st.shared.b16 [%0], %1;" ::"r"(to), "h"((uint16_t)x) : "memory"); }
DEVICE void store_shared8(uint32_t to, uint32_t x) { asm volatile("st.shared.b8 [%0], %1;" ::"r"(to), "r"(x) : "memory"); }
DEVICE void load_shared(uint32_t from, uint32_t& x, uint32_t& y) { asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(from) : "memory"); }
DEVICE void load_shared(uint32_t from, uint32_t& x, uint32_t& y, uint32_t& z, uint32_t& w) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(from) : "memory");
}
DEVICE void load_shared16(uint32_t from, uint32_t& x) {
  uint16_t half;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(half) : "r"(from) : "memory");
  x = half;
}
DEVICE void load_shared8(uint32_t from, uint32_t& x) { asm volatile("ld.shared.u8 %0, [%1];" : "=r"(x) : "r"(from) : "memory"); }

// ---- arithmetic ----------------------------------------------------------------------------------------------------------------
DEVICE float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
template <typename T> DEVICE T ceil_div(T x, T y) { return x / y + (x % y != 0 && (x < 0) == (y < 0) ? 1 : 0); }
template <typename T> DEVICE T floor_div(T x, T y) { return x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0); }
DEVICE float fast_div(float x, float y) {
  float z;
  asm("div.full.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
// div.full.f32 in two steps: x / y = (x * divisor_scale(y)) * reciprocal(y * divisor_scale(y)).
DEVICE float divisor_scale(float y) { return fabsf(y) > 8.50705917e37f ? 0.25f : fabsf(y) < 1.17549435e-38f ? 16777216.0f : 1.0f; }
DEVICE float reciprocal(float y) {
  float z;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(z) : "f"(y));
  return z;
}
DEVICE uint32_t pack_f16(float low, float high) {
  uint32_t r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
DEVICE uint32_t pack_bf16(float low, float high) {
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
DEVICE float from_f16(uint32_t bits) {
  float r;
  asm("{\n.reg .b16 h;\ncvt.u16.u32 h, %1;\ncvt.f32.f16 %0, h;\n}\n" : "=f"(r) : "r"(bits));
  return r;
}
DEVICE float from_bf16(uint32_t bits) { return __uint_as_float(bits << 16); }
// 8-bit floats: pairs in the low half of a word, the first one lowest; too large a number becomes the largest one.
DEVICE uint32_t pack_f8E4M3FN(float low, float high) {
  uint16_t r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(high), "f"(low));
  return r;
}
DEVICE uint32_t pack_f8E5M2(float low, float high) {
  uint16_t r;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(high), "f"(low));
  return r;
}
DEVICE float from_f8E4M3FN(uint32_t bits) {
  uint32_t r;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"((uint16_t)(bits & 0xff)));
  return from_f16(r);
}
DEVICE float from_f8E5M2(uint32_t bits) {
  uint32_t r;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"((uint16_t)(bits & 0xff)));
  return from_f16(r);
}
DEVICE float round_f8E4M3FN(float x) { return from_f8E4M3FN(pack_f8E4M3FN(x, 0.0f)); }
DEVICE float round_f8E5M2(float x) { return from_f8E5M2(pack_f8E5M2(x, 0.0f)); }
DEVICE float round_f16(float x) { return from_f16(pack_f16(x, 0.0f) & 0xffff); }
DEVICE float round_bf16(float x) { return from_bf16(pack_bf16(x, 0.0f) & 0xffff); }
DEVICE float max_propagating(float x, float y) {
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
DEVICE float min_propagating(float x, float y) {
  float z;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
// Iterations of a counted loop.
DEVICE int trips(long long lower, long long upper, long long step) { return upper > lower ? (int)((upper - lower + step - 1) / step) : 0; }
DEVICE int trips(int lower, int upper, int step) { return upper > lower ? (int)(((unsigned)(upper - lower) + (unsigned)step - 1u) / (unsigned)step) : 0; }

}  // namespace twill
