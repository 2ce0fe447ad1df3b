
namespace {
using namespace twill;

// D += A B: 128 columns, A in shared memory, summed elements follow each other, B in shared memory, rows or columns follow each other
DEVICE void wgmma_m64n128k16_f16_km(float* d, uint64_t a, uint64_t b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, 1, 0, 1;\n}\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
               : "l"(a), "l"(b), "r"(add));
}

// Group 0 (load): warp 0, one thread of it.
DEVICE void group_0(const CUtensorMap& a_map, const CUtensorMap& b_map, int K, uint32_t smem) {
  int slot0 = 0;
  uint32_t phase0 = 0;
  const int row = blockIdx.x;
  const int row_0 = (row * 128);
  const int col = blockIdx.y;
  const int col_1 = (col * 128);
  const int n = trips(0, K, 64);  // iterations
  // complete turns
  for (int t = 0; t < n; t++) {
    mbar_wait(smem + 65536 + 8 * slot0, phase0 ^ 1);  // acquire tma_load.1 [stage 0, cycle 0]
    mbar_expect(smem + 65568 + 8 * slot0, 16384);  // arrive tma_load.1 [stage 0, cycle 0]
    // tma_load.1: tt.descriptor_load, ttg.local_alloc, gemm.py:17 acc [stage 0, cycle 0]
    {
      tma_load(smem + slot0 * 16384, a_map, smem + 65568 + 8 * slot0, (t * 64), row_0);
    }
    mbar_wait(smem + 65552 + 8 * slot0, phase0 ^ 1);  // acquire tma_load.2 [stage 0, cycle 358]
    mbar_expect(smem + 65584 + 8 * slot0, 16384);  // arrive tma_load.2 [stage 0, cycle 358]
    // tma_load.2: tt.descriptor_load, ttg.local_alloc, gemm.py:17 acc [stage 0, cycle 358]
    {
      tma_load(smem + 32768 + slot0 * 16384, b_map, smem + 65584 + 8 * slot0, col_1, (t * 64));
      tma_load(smem + 32768 + slot0 * 16384 + 8192, b_map, smem + 65584 + 8 * slot0, col_1 + 64, (t * 64));
    }
    if (++slot0 == 2) slot0 = 0, phase0 ^= 1;
  }
}

// Group 1 (mma): warps 4 to 7.
DEVICE void group_1(const CUtensorMap& c_map, int K, uint32_t smem) {
  const int thread = threadIdx.x - 128;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 5), 0) - 4;
  float acc_8[128];
  int slot0 = 0;
  uint32_t phase0 = 0;
  const uint32_t tile0 = opaque(matrix_low(smem + 32768, 8192));
  const uint32_t tile1 = opaque(matrix_low(smem, 16));
  const int row = blockIdx.x;
  const int row_0 = (row * 128);
  const int col = blockIdx.y;
  const int col_1 = (col * 128);
#pragma unroll
  for (int i = 0; i < 128; i++) {
    acc_8[i] = 0.0f;
  }
  const int n = trips(0, K, 64);  // iterations
  // complete turns
  for (int t = 0; t < n; t++) {
    mbar_wait(smem + 65568 + 8 * slot0, phase0);  // wait tma_load.1 [stage 0, cycle 358]
    mbar_wait(smem + 65584 + 8 * slot0, phase0);  // wait tma_load.2 [stage 0, cycle 358]
    // mma.1: ttng.warp_group_dot, gemm.py:17 acc [stage 0, cycle 358]
    {
      fence_regs(acc_8);
      wgmma_fence();
      wgmma_m64n128k16_f16_km(acc_8, matrix(0x40000040, tile1 + slot0 * 1024), matrix(0x40000040, tile0 + slot0 * 1024), 1);
      wgmma_m64n128k16_f16_km(acc_8, matrix(0x40000040, tile1 + slot0 * 1024 + 2), matrix(0x40000040, tile0 + slot0 * 1024 + 128), 1);
      wgmma_m64n128k16_f16_km(acc_8, matrix(0x40000040, tile1 + slot0 * 1024 + 4), matrix(0x40000040, tile0 + slot0 * 1024 + 256), 1);
      wgmma_m64n128k16_f16_km(acc_8, matrix(0x40000040, tile1 + slot0 * 1024 + 6), matrix(0x40000040, tile0 + slot0 * 1024 + 384), 1);
      wgmma_m64n128k16_f16_km(acc_8 + 64, matrix(0x40000040, tile1 + slot0 * 1024 + 512), matrix(0x40000040, tile0 + slot0 * 1024), 1);
      wgmma_m64n128k16_f16_km(acc_8 + 64, matrix(0x40000040, tile1 + slot0 * 1024 + 514), matrix(0x40000040, tile0 + slot0 * 1024 + 128), 1);
      wgmma_m64n128k16_f16_km(acc_8 + 64, matrix(0x40000040, tile1 + slot0 * 1024 + 516), matrix(0x40000040, tile0 + slot0 * 1024 + 256), 1);
      wgmma_m64n128k16_f16_km(acc_8 + 64, matrix(0x40000040, tile1 + slot0 * 1024 + 518), matrix(0x40000040, tile0 + slot0 * 1024 + 384), 1);
      wgmma_commit();
    }
    wgmma_wait<0>();  // await mma.1 [stage 0, cycle 870]
    fence_regs(acc_8);
    if (lane == 0) mbar_arrive(smem + 65536 + 8 * slot0);  // release tma_load.1 [stage 0, cycle 870]
    if (lane == 0) mbar_arrive(smem + 65552 + 8 * slot0);  // release tma_load.2 [stage 0, cycle 870]
    if (++slot0 == 2) slot0 = 0, phase0 ^= 1;
  }
  wgmma_wait<0>();
  fence_regs(acc_8);
  uint32_t v1[64];
#pragma unroll
  for (int i = 0; i < 64; i++) {
    v1[i] = pack_f16(acc_8[(2 * i)], acc_8[(2 * i + 1)]);
  }
  {
    const int row = 16 * warp + (lane & 15);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      stmatrix4(smem + 66560 + i / 4 * 16384 + row * 128 + (((2 * (i % 4) + (lane >> 4)) << 4) ^ ((row & 7) << 4)), v1[4 * i], v1[4 * i + 1], v1[4 * i + 2], v1[4 * i + 3]);
    }
  }
  {
    const int row = 16 * warp + (lane & 15) + 64;
#pragma unroll
    for (int i = 0; i < 8; i++) {
      stmatrix4(smem + 66560 + i / 4 * 16384 + row * 128 + (((2 * (i % 4) + (lane >> 4)) << 4) ^ ((row & 7) << 4)), v1[32 + 4 * (0 + i)], v1[32 + 4 * (0 + i) + 1], v1[32 + 4 * (0 + i) + 2], v1[32 + 4 * (0 + i) + 3]);
    }
  }
  fence_async();
  bar_sync(2, 128);
  if (thread == 0) {
    tma_store(c_map, smem + 66560, col_1, row_0);
    tma_store(c_map, smem + 66560 + 16384, col_1 + 64, row_0);
    bulk_commit();
  }
  if (thread == 0) bulk_wait<0>();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256, 1) gemm(const __grid_constant__ CUtensorMap a_map, int a_shape_0, int a_shape_1, long long a_stride_0, long long a_stride_1, const __grid_constant__ CUtensorMap b_map, int b_shape_0, int b_shape_1, long long b_stride_0, long long b_stride_1, const __grid_constant__ CUtensorMap c_map, int c_shape_0, int c_shape_1, long long c_stride_0, long long c_stride_1, int K) {
  extern __shared__ __align__(1024) char dynamic[];
  const uint32_t smem = opaque((uint32_t)__cvta_generic_to_shared(dynamic));
  if (threadIdx.x == 0) {
    mbar_init(smem + 65536, 4);
    mbar_init(smem + 65544, 4);
    mbar_init(smem + 65552, 4);
    mbar_init(smem + 65560, 4);
    mbar_init(smem + 65568, 1);
    mbar_init(smem + 65576, 1);
    mbar_init(smem + 65584, 1);
    mbar_init(smem + 65592, 1);
    mbar_init_fence();
    tma_prefetch(a_map);
    tma_prefetch(b_map);
    tma_prefetch(c_map);
  }
  __syncthreads();
  const int warp = threadIdx.x >> 5;
  if (warp < 4) {
    if (warp == 0 && (threadIdx.x & 31) == 0) group_0(a_map, b_map, K, smem);
  }
  else {
    group_1(c_map, K, smem);
  }
}

// twill.cuda-kernel/1 {"name": "gemm", "target": "sm_90a", "threads": 256, "shared_bytes": 99328, "cluster": 1, "registers": 255, "grants": [[0, 24], [1, 240]], "arguments": [{"name": "a_map", "source": "a", "kind": "tensor_map", "dtype": "f16", "box": [128, 64], "swizzle": 128}, {"name": "a_shape_0", "source": "a.shape.0", "kind": "scalar", "dtype": "i32", "of": "a", "field": "shape"}, {"name": "a_shape_1", "source": "a.shape.1", "kind": "scalar", "dtype": "i32", "of": "a", "field": "shape", "axis": 1}, {"name": "a_stride_0", "source": "a.stride.0", "kind": "scalar", "dtype": "i64", "of": "a", "field": "stride"}, {"name": "a_stride_1", "source": "a.stride.1", "kind": "scalar", "dtype": "i64", "of": "a", "field": "stride", "axis": 1}, {"name": "b_map", "source": "b", "kind": "tensor_map", "dtype": "f16", "box": [64, 64], "swizzle": 128}, {"name": "b_shape_0", "source": "b.shape.0", "kind": "scalar", "dtype": "i32", "of": "b", "field": "shape"}, {"name": "b_shape_1", "source": "b.shape.1", "kind": "scalar", "dtype": "i32", "of": "b", "field": "shape", "axis": 1}, {"name": "b_stride_0", "source": "b.stride.0", "kind": "scalar", "dtype": "i64", "of": "b", "field": "stride"}, {"name": "b_stride_1", "source": "b.stride.1", "kind": "scalar", "dtype": "i64", "of": "b", "field": "stride", "axis": 1}, {"name": "c_map", "source": "c", "kind": "tensor_map", "dtype": "f16", "box": [128, 64], "swizzle": 128}, {"name": "c_shape_0", "source": "c.shape.0", "kind": "scalar", "dtype": "i32", "of": "c", "field": "shape"}, {"name": "c_shape_1", "source": "c.shape.1", "kind": "scalar", "dtype": "i32", "of": "c", "field": "shape", "axis": 1}, {"name": "c_stride_0", "source": "c.stride.0", "kind": "scalar", "dtype": "i64", "of": "c", "field": "stride"}, {"name": "c_stride_1", "source": "c.stride.1", "kind": "scalar", "dtype": "i64", "of": "c", "field": "stride", "axis": 1}, {"name": "K", "source": "K", "kind": "scalar", "dtype": "i32"}]}
