// Costs of CUDA-core and load-store work that the machine models need, in SM cycles, on one Hopper SM.
//
//   alu    64 results a thread of each operation, for 1..4 warpgroups of one block working at the same time
//   lat    one dependent chain of loads through pointers: L2 and DRAM
//   tile   one 64x128 fp32 tile (32 KB) a warpgroup: global load, global store, reduction into global memory, cp.async
//   row    reduction along a row that is spread over the four warps of a warpgroup; change of layout through shared memory
//
// Build: nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a memory_alu.cu -o memory_alu
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%d %s: %s\n", __LINE__, #x, cudaGetErrorString(e)); exit(1); } } while (0)

__device__ __forceinline__ long long now() { long long t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory"); return t; }

enum Op { MUL, MAX, COMPARE_SELECT, SELECT, IADD, IMAD, SHIFT, CVT_UP, CVT_INT, EX2, LG2, RSQRT, RCP, DIV_FULL, EXP, NOPS };
const char* op_names[] = {"mul.f32", "max.f32", "setp+selp", "selp", "add.s32", "mad.lo.s32", "shl+xor", "cvt.f32.f16", "cvt.rn.f32.s32", "ex2.approx.ftz", "lg2.approx", "rsqrt.approx", "rcp.approx", "div.full.f32", "exp(mul+ex2)"};

template <int OP> __device__ __forceinline__ void one(float& r, float a, uint32_t b) {
  uint32_t u = __float_as_uint(r);
  if constexpr (OP == MUL) asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(r) : "f"(a));
  if constexpr (OP == MAX) asm volatile("max.f32 %0, %0, %1;" : "+f"(r) : "f"(a));
  if constexpr (OP == COMPARE_SELECT) asm volatile("{.reg .pred p; setp.lt.f32 p, %0, %1; selp.f32 %0, %1, %0, p;}" : "+f"(r) : "f"(a));
  if constexpr (OP == SELECT) asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; selp.f32 %0, %1, %0, p;}" : "+f"(r) : "f"(a), "r"(b));
  if constexpr (OP == IADD) { asm volatile("add.s32 %0, %0, %1;" : "+r"(u) : "r"(b)); r = __uint_as_float(u); }
  if constexpr (OP == IMAD) { asm volatile("mad.lo.s32 %0, %0, %1, %1;" : "+r"(u) : "r"(b)); r = __uint_as_float(u); }
  if constexpr (OP == SHIFT) { asm volatile("{.reg .b32 t; shl.b32 t, %0, %1; xor.b32 %0, t, %1;}" : "+r"(u) : "r"(b)); r = __uint_as_float(u); }
  if constexpr (OP == CVT_UP) { asm volatile("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h;}" : "=f"(r) : "r"(u)); }
  if constexpr (OP == CVT_INT) asm volatile("cvt.rn.f32.s32 %0, %1;" : "=f"(r) : "r"(u));
  if constexpr (OP == EX2) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(r));
  if constexpr (OP == LG2) asm volatile("lg2.approx.f32 %0, %0;" : "+f"(r));
  if constexpr (OP == RSQRT) asm volatile("rsqrt.approx.f32 %0, %0;" : "+f"(r));
  if constexpr (OP == RCP) asm volatile("rcp.approx.ftz.f32 %0, %0;" : "+f"(r));
  if constexpr (OP == DIV_FULL) asm volatile("div.full.f32 %0, %0, %1;" : "+f"(r) : "f"(a));
  if constexpr (OP == EXP) asm volatile("mul.rn.f32 %0, %0, %1;\n\tex2.approx.f32 %0, %0;" : "+f"(r) : "f"(a));
}

template <int OP> __global__ void __launch_bounds__(512) alu(long long* out, float* sink, int n, float a, uint32_t b) {
  float r[64];
  for (int i = 0; i < 64; i++) r[i] = 1.f + (threadIdx.x * 64 + i) * 1e-5f;
  __syncthreads();
  long long t0 = now();
#pragma unroll 1
  for (int i = 0; i < n; i++) {
#pragma unroll
    for (int j = 0; j < 64; j++) one<OP>(r[j], a, b);
  }
  __syncthreads();
  long long t1 = now();
  float s = 0;
  for (int i = 0; i < 64; i++) s += r[i];
  if (threadIdx.x == 0) *out = t1 - t0;
  sink[threadIdx.x] = s;
}

__global__ void chase(long long* out, void** start, int n, int warm) {
  void** p = start;
  for (int i = 0; i < warm; i++) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p)::"memory");
  p = start;
  long long t0 = now();
  for (int i = 0; i < n; i++) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p)::"memory");
  long long t1 = now();
  out[0] = t1 - t0;
  out[1] = (long long)p;
}

// Each warpgroup works on its own tiles; a block's tiles repeat after `tiles`, so that few tiles stay in L2 and many come from DRAM.
enum Move { LOAD, STORE, RED, RED4, ASYNC };
const char* move_names[] = {"ld.global.v4", "st.global.v4", "red.add.f32", "red.add.v4.f32", "cp.async.16"};
constexpr int TILE = 32768;

template <int MOVE> __device__ __forceinline__ void issue(float4 (&r)[16], char* g, uint32_t s) {
#pragma unroll
  for (int j = 0; j < 16; j++) {
    char* p = g + j * 2048 + (threadIdx.x & 127) * 16;
    float4& v = r[j];
    if constexpr (MOVE == LOAD) asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p) : "memory");
    if constexpr (MOVE == STORE) asm volatile("st.global.v4.f32 [%4], {%0,%1,%2,%3};" ::"f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "l"(p) : "memory");
    if constexpr (MOVE == RED) {
      asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p), "f"(v.x) : "memory");
      asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p + 4), "f"(v.y) : "memory");
      asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p + 8), "f"(v.z) : "memory");
      asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p + 12), "f"(v.w) : "memory");
    }
    if constexpr (MOVE == RED4) asm volatile("red.global.add.v4.f32 [%4], {%0,%1,%2,%3};" ::"f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "l"(p) : "memory");
    if constexpr (MOVE == ASYNC) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s + j * 2048 + (threadIdx.x & 127) * 16), "l"(p) : "memory");
  }
  if constexpr (MOVE == ASYNC) asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int MOVE> __device__ __forceinline__ void finish(float4 (&r)[16], float& seen) {
  if constexpr (MOVE == LOAD) {
#pragma unroll
    for (int j = 0; j < 16; j++) asm volatile("add.f32 %0, %0, %1;" : "+f"(seen) : "f"(r[j].w));
  }
  if constexpr (MOVE == ASYNC) asm volatile("cp.async.wait_group 0;" ::: "memory");
}

template <int MOVE> __global__ void __launch_bounds__(512) tile(long long* out, char* base, int tiles, int n, bool wait) {
  extern __shared__ __align__(128) char shared[];
  float4 r[16];
  for (int j = 0; j < 16; j++) r[j] = make_float4(j, 1, 2, threadIdx.x);
  int group = threadIdx.x / 128;
  char* mine = base + (size_t)(blockIdx.x * (blockDim.x / 128) + group) * tiles * TILE;
  uint32_t s = (uint32_t)__cvta_generic_to_shared(shared) + group * TILE;
  for (int i = 0; i < tiles; i++) issue<MOVE>(r, mine + (size_t)i * TILE, s);
  float seen = 0;
  finish<MOVE>(r, seen);
  __syncthreads();
  long long issued = 0, t0 = now();
#pragma unroll 1
  for (int i = 0; i < n; i++) {
    long long a = now();
    issue<MOVE>(r, mine + (size_t)(i % tiles) * TILE, s);
    issued += now() - a;
    if (wait) finish<MOVE>(r, seen);
  }
  if (!wait) finish<MOVE>(r, seen);
  if constexpr (MOVE == STORE || MOVE == RED || MOVE == RED4) __threadfence();
  __syncthreads();
  long long t1 = now();
  float keep = seen;
  for (int j = 0; j < 16; j++) keep += r[j].x + r[j].y + r[j].z + r[j].w;
  if (keep == 1.2345f) out[2] = 1;
  if (threadIdx.x == 0 && blockIdx.x == 0) { out[0] = t1 - t0; out[1] = issued; }
}

// Reduction over 32 lanes and 4 warps (5 shuffle rounds, one exchange in shared memory) of `rows` values a thread.
template <int ROWS> __global__ void __launch_bounds__(128) row(long long* out, float* sink, int n) {
  __shared__ float part[2][4][ROWS];
  float v[ROWS];
  for (int i = 0; i < ROWS; i++) v[i] = threadIdx.x + i;
  __syncthreads();
  long long t0 = now();
#pragma unroll 1
  for (int i = 0; i < n; i++) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2)
#pragma unroll
      for (int j = 0; j < ROWS; j++) v[j] += __shfl_xor_sync(~0u, v[j], d);
    if ((threadIdx.x & 31) == 0)
      for (int j = 0; j < ROWS; j++) part[i & 1][threadIdx.x / 32][j] = v[j];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < ROWS; j++) v[j] = (part[i & 1][0][j] + part[i & 1][1][j] + part[i & 1][2][j] + part[i & 1][3][j]) * 1e-3f;
  }
  long long t1 = now();
  float s = 0;
  for (int i = 0; i < ROWS; i++) s += v[i];
  sink[threadIdx.x] = s;
  if (threadIdx.x == 0) *out = t1 - t0;
}

// Change of layout of a 64x128 fp32 tile (32 KB) through shared memory: store, barrier, load, barrier.
__global__ void __launch_bounds__(128) layout(long long* out, float* sink, int n) {
  extern __shared__ __align__(128) char shared[];
  float4 r[16];
  for (int j = 0; j < 16; j++) r[j] = make_float4(j, 1, 2, threadIdx.x);
  uint32_t s = (uint32_t)__cvta_generic_to_shared(shared) + threadIdx.x * 16;
  uint32_t q = (uint32_t)__cvta_generic_to_shared(shared) + (threadIdx.x ^ 37) * 16;
  __syncthreads();
  long long t0 = now();
#pragma unroll 1
  for (int i = 0; i < n; i++) {
#pragma unroll
    for (int j = 0; j < 16; j++) asm volatile("st.shared.v4.f32 [%4], {%0,%1,%2,%3};" ::"f"(r[j].x), "f"(r[j].y), "f"(r[j].z), "f"(r[j].w), "r"(s + j * 2048) : "memory");
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 16; j++) asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(r[j].x), "=f"(r[j].y), "=f"(r[j].z), "=f"(r[j].w) : "r"(q + j * 2048) : "memory");
#pragma unroll
    for (int j = 0; j < 16; j++) asm volatile("" : "+f"(r[j].x), "+f"(r[j].y), "+f"(r[j].z), "+f"(r[j].w));
    __syncthreads();
  }
  long long t1 = now();
  float k = 0;
  for (int j = 0; j < 16; j++) k += r[j].x;
  sink[threadIdx.x] = k;
  if (threadIdx.x == 0) *out = t1 - t0;
}

long long* d_out;
float* d_sink;

template <class F> double cycles(F launch, int n, int index = 0) {
  std::vector<double> seen;
  for (int i = 0; i < 7; i++) {
    launch();
    CHECK(cudaDeviceSynchronize());
    long long h[2];
    CHECK(cudaMemcpy(h, d_out, 16, cudaMemcpyDeviceToHost));
    seen.push_back(h[index] / (double)n);
  }
  std::sort(seen.begin(), seen.end());
  return seen[3];
}

template <int OP> void report_alu() {
  printf("alu op=%s", op_names[OP]);
  for (int groups = 1; groups <= 4; groups++)
    printf(" wg%d=%.1f", groups, cycles([&] { alu<OP><<<1, 128 * groups>>>(d_out, d_sink, 256, 0.999f, 1u); }, 256));
  printf("\n");
  if constexpr (OP + 1 < NOPS) report_alu<OP + 1>();
}

void report_chase(bool cached, size_t bytes, size_t step) {
  size_t count = bytes / step;
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin() + 1, order.end(), std::mt19937(7));
  char* d;
  CHECK(cudaMalloc(&d, bytes));
  std::vector<char> h(bytes);
  for (size_t i = 0; i < count; i++) *(void**)&h[order[i] * step] = d + order[(i + 1) % count] * step;
  CHECK(cudaMemcpy(d, h.data(), bytes, cudaMemcpyHostToDevice));
  int n = 1024;
  char* flush;
  size_t flushed = (size_t)256 << 20;
  CHECK(cudaMalloc(&flush, flushed));
  auto go = [&] {
    if (!cached) CHECK(cudaMemset(flush, 1, flushed));
    chase<<<1, 1>>>(d_out, (void**)d, n, cached ? n : 0);
  };
  printf("lat where=%s cycles=%.1f\n", cached ? "L2" : "DRAM", cycles(go, n));
  CHECK(cudaFree(d));
  CHECK(cudaFree(flush));
}

template <int MOVE> void report_tile(char* base, size_t bytes, int sms) {
  CHECK(cudaFuncSetAttribute(tile<MOVE>, cudaFuncAttributeMaxDynamicSharedMemorySize, 4 * TILE));
  for (int groups : {1, 2, 4})
    for (int blocks : {1, sms})
      for (int tiles : {2, 64}) {
        if ((size_t)blocks * groups * tiles * TILE > bytes) continue;
        int n = 128;
        auto go = [&](bool wait) { return [=] { tile<MOVE><<<blocks, 128 * groups, 4 * TILE>>>(d_out, base, tiles, n, wait); }; };
        printf("tile move=%s wgs=%d blocks=%d tiles=%d one_at_a_time=%.1f issue=%.1f back_to_back=%.1f\n", move_names[MOVE], groups, blocks, tiles,
               cycles(go(true), n), cycles(go(true), n, 1), cycles(go(false), n));
      }
}

int main() {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  int driver;
  CHECK(cudaDriverGetVersion(&driver));
  printf("# %s, %d SMs, L2 %d MB, CUDA driver API %d. Cycles of one SM a repetition, median of 7 launches.\n", p.name, p.multiProcessorCount, p.l2CacheSize >> 20, driver);
  CHECK(cudaMalloc(&d_out, 64));
  CHECK(cudaMalloc(&d_sink, 4096));
  report_alu<MUL>();
  report_chase(true, 4 << 20, 4096);
  report_chase(false, (size_t)1 << 30, 65536);
  size_t bytes = (size_t)4 << 30;
  char* base;
  CHECK(cudaMalloc(&base, bytes));
  CHECK(cudaMemset(base, 0, bytes));
  int sms = p.multiProcessorCount;
  report_tile<LOAD>(base, bytes, sms);
  report_tile<STORE>(base, bytes, sms);
  report_tile<RED>(base, bytes, sms);
  report_tile<RED4>(base, bytes, sms);
  report_tile<ASYNC>(base, bytes, sms);
  CHECK(cudaFuncSetAttribute(layout, cudaFuncAttributeMaxDynamicSharedMemorySize, TILE));
  printf("row reduce over 128 threads rows=1 cycles=%.1f\n", cycles([&] { row<1><<<1, 128>>>(d_out, d_sink, 512); }, 512));
  printf("row reduce over 128 threads rows=4 cycles=%.1f\n", cycles([&] { row<4><<<1, 128>>>(d_out, d_sink, 512); }, 512));
  printf("row reduce over 128 threads rows=16 cycles=%.1f\n", cycles([&] { row<16><<<1, 128>>>(d_out, d_sink, 512); }, 512));
  printf("layout change 64x128 fp32 (32 KB) cycles=%.1f\n", cycles([&] { layout<<<1, 128, TILE>>>(d_out, d_sink, 512); }, 512));
  return 0;
}
