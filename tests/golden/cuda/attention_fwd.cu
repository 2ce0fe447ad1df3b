
namespace {
using namespace twill;

// D += A B: 128 columns, A in shared memory, summed elements follow each other, B in shared memory, summed elements follow each other
DEVICE void wgmma_m64n128k16_f16_kk(float* d, uint64_t a, uint64_t b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, p, 1, 1, 0, 0;\n}\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
               : "l"(a), "l"(b), "r"(add));
}

// D += A B: 128 columns, A in registers, B in shared memory, rows or columns follow each other
DEVICE void wgmma_m64n128k16_f16_rm(float* d, const uint32_t* a, uint64_t b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, {%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

// Group 0 (load): warp 0, one thread of it.
DEVICE void group_0(const CUtensorMap& q_map, const CUtensorMap& k_map, const CUtensorMap& v_map, int S, uint32_t smem) {
  int slot0 = 0;
  uint32_t phase0 = 0;
  const int base = blockIdx.y;
  const int base_0 = (base * S);
  const int row = blockIdx.x;
  const int row_1 = (row * 128);
  const int row_2 = (base_0 + row_1);
  mbar_wait(smem + 229424, 1);  // acquire q_tile_4.0
  mbar_expect(smem + 229488, 16384);  // arrive q_tile_4.0
  const int row_2_1 = (row_2 + 64);
  mbar_wait(smem + 229432, 1);  // acquire q_tile_4.1
  mbar_expect(smem + 229496, 16384);  // arrive q_tile_4.1
  // q_tile_4.0: ttg.local_alloc, attention.py:31 q_tile
  {
    tma_load(smem + 196608, q_map, smem + 229488, 0, row_2);
    tma_load(smem + 196608 + 8192, q_map, smem + 229488, 0 + 64, row_2);
  }
  // q_tile_4.1: ttg.local_alloc, attention.py:31 q_tile
  {
    tma_load(smem + 212992, q_map, smem + 229496, 0, row_2_1);
    tma_load(smem + 212992 + 8192, q_map, smem + 229496, 0 + 64, row_2_1);
  }
  const int n = trips(0, S, 128);  // iterations
  // complete turns
  for (int t = 0; t < n; t++) {
    mbar_wait(smem + 229376 + 8 * slot0, phase0 ^ 1);  // acquire tma_load.1 [stage 0, cycle 0]
    mbar_expect(smem + 229440 + 8 * slot0, 32768);  // arrive tma_load.1 [stage 0, cycle 0]
    // tma_load.1: tt.descriptor_load, ttg.local_alloc, attention.py:34 s [stage 0, cycle 0]
    {
      const int k_tile = (base_0 + (t * 128));
      tma_load(smem + slot0 * 32768, k_map, smem + 229440 + 8 * slot0, 0, k_tile);
      tma_load(smem + slot0 * 32768 + 16384, k_map, smem + 229440 + 8 * slot0, 0 + 64, k_tile);
    }
    mbar_wait(smem + 229400 + 8 * slot0, phase0 ^ 1);  // acquire tma_load.2 [stage 0, cycle 716]
    mbar_expect(smem + 229464 + 8 * slot0, 32768);  // arrive tma_load.2 [stage 0, cycle 716]
    // tma_load.2: tt.descriptor_load, ttg.local_alloc, attention.py:40 v_tile [stage 0, cycle 716]
    {
      const int k_tile_2 = (base_0 + (t * 128));
      tma_load(smem + 98304 + slot0 * 32768, v_map, smem + 229464 + 8 * slot0, 0, k_tile_2);
      tma_load(smem + 98304 + slot0 * 32768 + 16384, v_map, smem + 229464 + 8 * slot0, 0 + 64, k_tile_2);
    }
    if (++slot0 == 3) slot0 = 0, phase0 ^= 1;
  }
}

// Group 1 (compute): warps 4 to 7.
DEVICE void group_1(const CUtensorMap& o_map, float* lse, float scale, int S, uint32_t smem) {
  const int thread = threadIdx.x - 128;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 5), 0) - 4;
  float s_10_0[64];
  float acc_29_0[64];
  float new_max_11_0[2];
  float new_max_12_0[2];
  float new_max_13_0[2];
  float new_max_13_0_before[2];
  float alpha_0[2];
  float p_17_0[64];
  float row_sum_22_0[2];
  float p_18_0[64];
  float alpha_19_0[2];
  uint32_t acc_27_0[32];
  float row_sum_21_0[2];
  int slot0 = 0;
  uint32_t phase0 = 0;
  const uint32_t tile0 = opaque(matrix_low(smem, 16));
  const uint32_t tile1 = opaque(matrix_low(smem + 196608, 16));
  int slot1 = 0;
  uint32_t phase1 = 0;
  const uint32_t tile2 = opaque(matrix_low(smem + 98304, 16384));
  const int base = blockIdx.y;
  const int base_0 = (base * S);
  const int row = blockIdx.x;
  const int row_1 = (row * 128);
  const int row_2 = (base_0 + row_1);
  const float qk_scale_3 = (scale * 1.4426950216293335f);
  mbar_wait(smem + 229488, 0);  // wait q_tile_4.0
#pragma unroll
  for (int i = 0; i < 64; i++) {
    acc_29_0[i] = 0.0f;
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    new_max_13_0[i] = __int_as_float(0xff800000);
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    new_max_13_0_before[i] = __int_as_float(0xff800000);
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    row_sum_22_0[i] = 0.0f;
  }
  const int n = trips(0, S, 128);  // iterations
  if (n >= 2) {
    // first turns: not every stage has an iteration yet
    mbar_wait(smem + 229440 + 8 * slot0, phase0);  // wait tma_load.1 [stage 0, cycle 0]
    // mma.1/0: ttng.warp_group_dot, attention.py:34 s [stage 0, cycle 0]
    {
      fence_regs(s_10_0);
      wgmma_fence();
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1), matrix(0x40000040, tile0 + slot0 * 2048), 0);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 2), matrix(0x40000040, tile0 + slot0 * 2048 + 2), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 4), matrix(0x40000040, tile0 + slot0 * 2048 + 4), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 6), matrix(0x40000040, tile0 + slot0 * 2048 + 6), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 512), matrix(0x40000040, tile0 + slot0 * 2048 + 1024), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 514), matrix(0x40000040, tile0 + slot0 * 2048 + 1026), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 516), matrix(0x40000040, tile0 + slot0 * 2048 + 1028), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 518), matrix(0x40000040, tile0 + slot0 * 2048 + 1030), 1);
      wgmma_commit();
    }
    wgmma_wait<0>();  // await mma.1/0 [stage 0, cycle 652]
    fence_regs(s_10_0);
    if (lane == 0) mbar_arrive(smem + 229376 + 8 * slot0);  // release tma_load.1 [stage 0, cycle 652]
    // reduce_max.1/0: tt.reduce, attention.py:35 new_max [stage 0, cycle 652]
    {
      float new_max_11_0_2_part[4], new_max_11_0_2[2];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        new_max_11_0_2_part[i] = s_10_0[i];
      }
#pragma unroll
      for (int i = 4; i < 64; i++) {
        new_max_11_0_2_part[i % 4] = fmaxf(new_max_11_0_2_part[i % 4], s_10_0[i]);
      }
      new_max_11_0_2[0] = fmaxf(new_max_11_0_2_part[0], new_max_11_0_2_part[1]);
      new_max_11_0_2[1] = fmaxf(new_max_11_0_2_part[2], new_max_11_0_2_part[3]);
      if (__any_sync(0xffffffffu, new_max_11_0_2[0] * qk_scale_3 > new_max_13_0[0] || new_max_11_0_2[1] * qk_scale_3 > new_max_13_0[1] || !(qk_scale_3 >= 0.0f))) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_11_0_2[i] = fmaxf(new_max_11_0_2[i], __shfl_xor_sync(0xffffffffu, new_max_11_0_2[i], 1));
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_11_0_2[i] = fmaxf(new_max_11_0_2[i], __shfl_xor_sync(0xffffffffu, new_max_11_0_2[i], 2));
        }
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_11_0[i] = new_max_11_0_2[i];
      }
    }
    // elementwise.1/0: arith.mulf, attention.py:35 new_max [stage 0, cycle 1132]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_12_0[i] = (new_max_11_0[i] * qk_scale_3);
      }
    }
    // max.1/0: arith.maxnumf, attention.py:35 new_max [stage 0, cycle 1145]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_13_0_before[i] = new_max_13_0[i];
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_13_0[i] = fmaxf(new_max_13_0_before[i], new_max_12_0[i]);
      }
    }
    // elementwise.3/0: arith.subf, attention.py:37 alpha [stage 0, cycle 1159]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        alpha_0[i] = (new_max_13_0_before[i] - new_max_13_0[i]);
      }
    }
    // elementwise.2/0: arith.mulf, arith.subf, attention.py:36 p [stage 0, cycle 1160]
    {
#pragma unroll
      for (int i = 0; i < 64; i++) {
        p_17_0[i] = ((s_10_0[i] * qk_scale_3) - new_max_13_0[(((i >> 1) & 1))]);
      }
    }
    // exp2.1/0: math.exp2, attention.py:36 p [stage 0, cycle 1275]
    {
#pragma unroll
      for (int i = 0; i < 64; i++) {
        p_18_0[i] = ex2(p_17_0[i]);
      }
    }
    // exp2.2/0: math.exp2, attention.py:37 alpha [stage 0, cycle 1956]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        alpha_19_0[i] = ex2(alpha_0[i]);
      }
    }
    // convert.1/0: arith.truncf, attention.py:41 acc [stage 0, cycle 2040]
    {
#pragma unroll
      for (int i = 0; i < 32; i++) {
        acc_27_0[i] = pack_f16(p_18_0[(2 * i)], p_18_0[(2 * i + 1)]);
      }
    }
    // reduce_sum.1/0: tt.reduce, attention.py:38 row_sum [stage 0, cycle 2168]
    {
      float row_sum_21_0_2_part[4], row_sum_21_0_2[2];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        row_sum_21_0_2_part[i] = p_18_0[i];
      }
#pragma unroll
      for (int i = 4; i < 64; i++) {
        row_sum_21_0_2_part[i % 4] = (row_sum_21_0_2_part[i % 4] + p_18_0[i]);
      }
      row_sum_21_0_2[0] = (row_sum_21_0_2_part[0] + row_sum_21_0_2_part[1]);
      row_sum_21_0_2[1] = (row_sum_21_0_2_part[2] + row_sum_21_0_2_part[3]);
      // every lane keeps its own part of the sum; they are added behind the loop
#pragma unroll
      for (int i = 0; i < 2; i++) {
        row_sum_21_0[i] = row_sum_21_0_2[i];
      }
    }
    if (++slot0 == 3) slot0 = 0, phase0 ^= 1;
    mbar_wait(smem + 229440 + 8 * slot0, phase0);  // wait tma_load.1 [stage 0, cycle 0]
    // mma.1/0: ttng.warp_group_dot, attention.py:34 s [stage 0, cycle 0]
    {
      fence_regs(s_10_0);
      wgmma_fence();
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1), matrix(0x40000040, tile0 + slot0 * 2048), 0);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 2), matrix(0x40000040, tile0 + slot0 * 2048 + 2), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 4), matrix(0x40000040, tile0 + slot0 * 2048 + 4), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 6), matrix(0x40000040, tile0 + slot0 * 2048 + 6), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 512), matrix(0x40000040, tile0 + slot0 * 2048 + 1024), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 514), matrix(0x40000040, tile0 + slot0 * 2048 + 1026), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 516), matrix(0x40000040, tile0 + slot0 * 2048 + 1028), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 518), matrix(0x40000040, tile0 + slot0 * 2048 + 1030), 1);
      wgmma_commit();
    }
    // elementwise.5/0: arith.mulf, attention.py:39 acc [stage 1, cycle 2399]
    {
      // a factor of one in all rows of the warp that it belongs to changes nothing
      const bool changes = __any_sync(0xffffffffu, alpha_19_0[0] != 1.0f);
      const bool changes_2 = __any_sync(0xffffffffu, alpha_19_0[1] != 1.0f);
      if (changes) {
#pragma unroll
        for (int i = 0; i < 64; i++) {
          if (((i >> 1) & 1) == 0) acc_29_0[i] = (acc_29_0[i] * alpha_19_0[(((i >> 1) & 1))]);
        }
      }
      if (changes_2) {
#pragma unroll
        for (int i = 0; i < 64; i++) {
          if (((i >> 1) & 1) == 1) acc_29_0[i] = (acc_29_0[i] * alpha_19_0[(((i >> 1) & 1))]);
        }
      }
    }
    mbar_wait(smem + 229464 + 8 * slot1, phase1);  // wait tma_load.2 [stage 1, cycle 2776]
    // mma.2/0: ttng.warp_group_dot, attention.py:41 acc [stage 1, cycle 2776]
    {
      fence_regs(acc_29_0);
      fence_regs(acc_27_0);
      wgmma_fence();
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0, matrix(0x40000040, tile2 + slot1 * 2048), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 4, matrix(0x40000040, tile2 + slot1 * 2048 + 128), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 8, matrix(0x40000040, tile2 + slot1 * 2048 + 256), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 12, matrix(0x40000040, tile2 + slot1 * 2048 + 384), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 16, matrix(0x40000040, tile2 + slot1 * 2048 + 512), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 20, matrix(0x40000040, tile2 + slot1 * 2048 + 640), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 24, matrix(0x40000040, tile2 + slot1 * 2048 + 768), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 28, matrix(0x40000040, tile2 + slot1 * 2048 + 896), 1);
      wgmma_commit();
    }
    bar_arrive(4, 256);  // pass TC.0 [stage 1, cycle 2776]
    wgmma_wait<1>();  // await mma.1/0 [stage 0, cycle 652]
    fence_regs(s_10_0);
    if (lane == 0) mbar_arrive(smem + 229376 + 8 * slot0);  // release tma_load.1 [stage 0, cycle 652]
    // reduce_max.1/0: tt.reduce, attention.py:35 new_max [stage 0, cycle 652]
    {
      float new_max_11_0_3_part[4], new_max_11_0_3[2];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        new_max_11_0_3_part[i] = s_10_0[i];
      }
#pragma unroll
      for (int i = 4; i < 64; i++) {
        new_max_11_0_3_part[i % 4] = fmaxf(new_max_11_0_3_part[i % 4], s_10_0[i]);
      }
      new_max_11_0_3[0] = fmaxf(new_max_11_0_3_part[0], new_max_11_0_3_part[1]);
      new_max_11_0_3[1] = fmaxf(new_max_11_0_3_part[2], new_max_11_0_3_part[3]);
      if (__any_sync(0xffffffffu, new_max_11_0_3[0] * qk_scale_3 > new_max_13_0[0] || new_max_11_0_3[1] * qk_scale_3 > new_max_13_0[1] || !(qk_scale_3 >= 0.0f))) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_11_0_3[i] = fmaxf(new_max_11_0_3[i], __shfl_xor_sync(0xffffffffu, new_max_11_0_3[i], 1));
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_11_0_3[i] = fmaxf(new_max_11_0_3[i], __shfl_xor_sync(0xffffffffu, new_max_11_0_3[i], 2));
        }
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_11_0[i] = new_max_11_0_3[i];
      }
    }
    wgmma_wait<0>();  // await mma.2/0 [stage 1, cycle 3377]
    fence_regs(acc_29_0);
    if (lane == 0) mbar_arrive(smem + 229400 + 8 * slot1);  // release tma_load.2 [stage 1, cycle 3377]
    // elementwise.1/0: arith.mulf, attention.py:35 new_max [stage 0, cycle 1132]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_12_0[i] = (new_max_11_0[i] * qk_scale_3);
      }
    }
    // max.1/0: arith.maxnumf, attention.py:35 new_max [stage 0, cycle 1145]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_13_0_before[i] = new_max_13_0[i];
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_13_0[i] = fmaxf(new_max_13_0_before[i], new_max_12_0[i]);
      }
    }
    // elementwise.3/0: arith.subf, attention.py:37 alpha [stage 0, cycle 1159]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        alpha_0[i] = (new_max_13_0_before[i] - new_max_13_0[i]);
      }
    }
    // elementwise.2/0: arith.mulf, arith.subf, attention.py:36 p [stage 0, cycle 1160]
    {
#pragma unroll
      for (int i = 0; i < 64; i++) {
        p_17_0[i] = ((s_10_0[i] * qk_scale_3) - new_max_13_0[(((i >> 1) & 1))]);
      }
    }
    // elementwise.4/0: arith.mulf, arith.addf, attention.py:38 row_sum [stage 1, cycle 3533]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        row_sum_22_0[i] = ((row_sum_22_0[i] * alpha_19_0[i]) + row_sum_21_0[i]);
      }
    }
    // exp2.1/0: math.exp2, attention.py:36 p [stage 0, cycle 1275]
    {
#pragma unroll
      for (int i = 0; i < 64; i++) {
        p_18_0[i] = ex2(p_17_0[i]);
      }
    }
    // exp2.2/0: math.exp2, attention.py:37 alpha [stage 0, cycle 1956]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        alpha_19_0[i] = ex2(alpha_0[i]);
      }
    }
    // convert.1/0: arith.truncf, attention.py:41 acc [stage 0, cycle 2040]
    {
#pragma unroll
      for (int i = 0; i < 32; i++) {
        acc_27_0[i] = pack_f16(p_18_0[(2 * i)], p_18_0[(2 * i + 1)]);
      }
    }
    // reduce_sum.1/0: tt.reduce, attention.py:38 row_sum [stage 0, cycle 2168]
    {
      float row_sum_21_0_3_part[4], row_sum_21_0_3[2];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        row_sum_21_0_3_part[i] = p_18_0[i];
      }
#pragma unroll
      for (int i = 4; i < 64; i++) {
        row_sum_21_0_3_part[i % 4] = (row_sum_21_0_3_part[i % 4] + p_18_0[i]);
      }
      row_sum_21_0_3[0] = (row_sum_21_0_3_part[0] + row_sum_21_0_3_part[1]);
      row_sum_21_0_3[1] = (row_sum_21_0_3_part[2] + row_sum_21_0_3_part[3]);
      // every lane keeps its own part of the sum; they are added behind the loop
#pragma unroll
      for (int i = 0; i < 2; i++) {
        row_sum_21_0[i] = row_sum_21_0_3[i];
      }
    }
    if (++slot0 == 3) slot0 = 0, phase0 ^= 1;
    if (++slot1 == 3) slot1 = 0, phase1 ^= 1;
    // complete turns
    for (int t = 2; t < n; t++) {
      mbar_wait(smem + 229440 + 8 * slot0, phase0);  // wait tma_load.1 [stage 0, cycle 0]
      bar_sync(5, 256);  // take TC.1 [stage 2, cycle 4528]
      // mma.1/0: ttng.warp_group_dot, attention.py:34 s [stage 0, cycle 0]
      {
        fence_regs(s_10_0);
        wgmma_fence();
        wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1), matrix(0x40000040, tile0 + slot0 * 2048), 0);
        wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 2), matrix(0x40000040, tile0 + slot0 * 2048 + 2), 1);
        wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 4), matrix(0x40000040, tile0 + slot0 * 2048 + 4), 1);
        wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 6), matrix(0x40000040, tile0 + slot0 * 2048 + 6), 1);
        wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 512), matrix(0x40000040, tile0 + slot0 * 2048 + 1024), 1);
        wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 514), matrix(0x40000040, tile0 + slot0 * 2048 + 1026), 1);
        wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 516), matrix(0x40000040, tile0 + slot0 * 2048 + 1028), 1);
        wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 518), matrix(0x40000040, tile0 + slot0 * 2048 + 1030), 1);
        wgmma_commit();
      }
      // elementwise.5/0: arith.mulf, attention.py:39 acc [stage 1, cycle 2399]
      {
        // a factor of one in all rows of the warp that it belongs to changes nothing
        const bool changes_3 = __any_sync(0xffffffffu, alpha_19_0[0] != 1.0f);
        const bool changes_4 = __any_sync(0xffffffffu, alpha_19_0[1] != 1.0f);
        if (changes_3) {
#pragma unroll
          for (int i = 0; i < 64; i++) {
            if (((i >> 1) & 1) == 0) acc_29_0[i] = (acc_29_0[i] * alpha_19_0[(((i >> 1) & 1))]);
          }
        }
        if (changes_4) {
#pragma unroll
          for (int i = 0; i < 64; i++) {
            if (((i >> 1) & 1) == 1) acc_29_0[i] = (acc_29_0[i] * alpha_19_0[(((i >> 1) & 1))]);
          }
        }
      }
      mbar_wait(smem + 229464 + 8 * slot1, phase1);  // wait tma_load.2 [stage 1, cycle 2776]
      // mma.2/0: ttng.warp_group_dot, attention.py:41 acc [stage 1, cycle 2776]
      {
        fence_regs(acc_29_0);
        fence_regs(acc_27_0);
        wgmma_fence();
        wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0, matrix(0x40000040, tile2 + slot1 * 2048), 1);
        wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 4, matrix(0x40000040, tile2 + slot1 * 2048 + 128), 1);
        wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 8, matrix(0x40000040, tile2 + slot1 * 2048 + 256), 1);
        wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 12, matrix(0x40000040, tile2 + slot1 * 2048 + 384), 1);
        wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 16, matrix(0x40000040, tile2 + slot1 * 2048 + 512), 1);
        wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 20, matrix(0x40000040, tile2 + slot1 * 2048 + 640), 1);
        wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 24, matrix(0x40000040, tile2 + slot1 * 2048 + 768), 1);
        wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 28, matrix(0x40000040, tile2 + slot1 * 2048 + 896), 1);
        wgmma_commit();
      }
      bar_arrive(4, 256);  // pass TC.0 [stage 1, cycle 2776]
      wgmma_wait<1>();  // await mma.1/0 [stage 0, cycle 652]
      fence_regs(s_10_0);
      if (lane == 0) mbar_arrive(smem + 229376 + 8 * slot0);  // release tma_load.1 [stage 0, cycle 652]
      // reduce_max.1/0: tt.reduce, attention.py:35 new_max [stage 0, cycle 652]
      {
        float new_max_11_0_4_part[4], new_max_11_0_4[2];
#pragma unroll
        for (int i = 0; i < 4; i++) {
          new_max_11_0_4_part[i] = s_10_0[i];
        }
#pragma unroll
        for (int i = 4; i < 64; i++) {
          new_max_11_0_4_part[i % 4] = fmaxf(new_max_11_0_4_part[i % 4], s_10_0[i]);
        }
        new_max_11_0_4[0] = fmaxf(new_max_11_0_4_part[0], new_max_11_0_4_part[1]);
        new_max_11_0_4[1] = fmaxf(new_max_11_0_4_part[2], new_max_11_0_4_part[3]);
        if (__any_sync(0xffffffffu, new_max_11_0_4[0] * qk_scale_3 > new_max_13_0[0] || new_max_11_0_4[1] * qk_scale_3 > new_max_13_0[1] || !(qk_scale_3 >= 0.0f))) {
#pragma unroll
          for (int i = 0; i < 2; i++) {
            new_max_11_0_4[i] = fmaxf(new_max_11_0_4[i], __shfl_xor_sync(0xffffffffu, new_max_11_0_4[i], 1));
          }
#pragma unroll
          for (int i = 0; i < 2; i++) {
            new_max_11_0_4[i] = fmaxf(new_max_11_0_4[i], __shfl_xor_sync(0xffffffffu, new_max_11_0_4[i], 2));
          }
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_11_0[i] = new_max_11_0_4[i];
        }
      }
      wgmma_wait<0>();  // await mma.2/0 [stage 1, cycle 3377]
      fence_regs(acc_29_0);
      if (lane == 0) mbar_arrive(smem + 229400 + 8 * slot1);  // release tma_load.2 [stage 1, cycle 3377]
      // elementwise.1/0: arith.mulf, attention.py:35 new_max [stage 0, cycle 1132]
      {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_12_0[i] = (new_max_11_0[i] * qk_scale_3);
        }
      }
      // max.1/0: arith.maxnumf, attention.py:35 new_max [stage 0, cycle 1145]
      {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_13_0_before[i] = new_max_13_0[i];
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_13_0[i] = fmaxf(new_max_13_0_before[i], new_max_12_0[i]);
        }
      }
      // elementwise.3/0: arith.subf, attention.py:37 alpha [stage 0, cycle 1159]
      {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          alpha_0[i] = (new_max_13_0_before[i] - new_max_13_0[i]);
        }
      }
      // elementwise.2/0: arith.mulf, arith.subf, attention.py:36 p [stage 0, cycle 1160]
      {
#pragma unroll
        for (int i = 0; i < 64; i++) {
          p_17_0[i] = ((s_10_0[i] * qk_scale_3) - new_max_13_0[(((i >> 1) & 1))]);
        }
      }
      // elementwise.4/0: arith.mulf, arith.addf, attention.py:38 row_sum [stage 1, cycle 3533]
      {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          row_sum_22_0[i] = ((row_sum_22_0[i] * alpha_19_0[i]) + row_sum_21_0[i]);
        }
      }
      // exp2.1/0: math.exp2, attention.py:36 p [stage 0, cycle 1275]
      {
#pragma unroll
        for (int i = 0; i < 64; i++) {
          p_18_0[i] = ex2(p_17_0[i]);
        }
      }
      // exp2.2/0: math.exp2, attention.py:37 alpha [stage 0, cycle 1956]
      {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          alpha_19_0[i] = ex2(alpha_0[i]);
        }
      }
      // convert.1/0: arith.truncf, attention.py:41 acc [stage 0, cycle 2040]
      {
#pragma unroll
        for (int i = 0; i < 32; i++) {
          acc_27_0[i] = pack_f16(p_18_0[(2 * i)], p_18_0[(2 * i + 1)]);
        }
      }
      // reduce_sum.1/0: tt.reduce, attention.py:38 row_sum [stage 0, cycle 2168]
      {
        float row_sum_21_0_4_part[4], row_sum_21_0_4[2];
#pragma unroll
        for (int i = 0; i < 4; i++) {
          row_sum_21_0_4_part[i] = p_18_0[i];
        }
#pragma unroll
        for (int i = 4; i < 64; i++) {
          row_sum_21_0_4_part[i % 4] = (row_sum_21_0_4_part[i % 4] + p_18_0[i]);
        }
        row_sum_21_0_4[0] = (row_sum_21_0_4_part[0] + row_sum_21_0_4_part[1]);
        row_sum_21_0_4[1] = (row_sum_21_0_4_part[2] + row_sum_21_0_4_part[3]);
        // every lane keeps its own part of the sum; they are added behind the loop
#pragma unroll
        for (int i = 0; i < 2; i++) {
          row_sum_21_0[i] = row_sum_21_0_4[i];
        }
      }
      if (++slot0 == 3) slot0 = 0, phase0 ^= 1;
      if (++slot1 == 3) slot1 = 0, phase1 ^= 1;
    }
    // last turns: not every stage has an iteration any more
    bar_sync(5, 256);  // take TC.1 [stage 2, cycle 4528]
    // elementwise.5/0: arith.mulf, attention.py:39 acc [stage 1, cycle 2399]
    {
      // a factor of one in all rows of the warp that it belongs to changes nothing
      const bool changes_5 = __any_sync(0xffffffffu, alpha_19_0[0] != 1.0f);
      const bool changes_6 = __any_sync(0xffffffffu, alpha_19_0[1] != 1.0f);
      if (changes_5) {
#pragma unroll
        for (int i = 0; i < 64; i++) {
          if (((i >> 1) & 1) == 0) acc_29_0[i] = (acc_29_0[i] * alpha_19_0[(((i >> 1) & 1))]);
        }
      }
      if (changes_6) {
#pragma unroll
        for (int i = 0; i < 64; i++) {
          if (((i >> 1) & 1) == 1) acc_29_0[i] = (acc_29_0[i] * alpha_19_0[(((i >> 1) & 1))]);
        }
      }
    }
    mbar_wait(smem + 229464 + 8 * slot1, phase1);  // wait tma_load.2 [stage 1, cycle 2776]
    // mma.2/0: ttng.warp_group_dot, attention.py:41 acc [stage 1, cycle 2776]
    {
      fence_regs(acc_29_0);
      fence_regs(acc_27_0);
      wgmma_fence();
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0, matrix(0x40000040, tile2 + slot1 * 2048), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 4, matrix(0x40000040, tile2 + slot1 * 2048 + 128), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 8, matrix(0x40000040, tile2 + slot1 * 2048 + 256), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 12, matrix(0x40000040, tile2 + slot1 * 2048 + 384), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 16, matrix(0x40000040, tile2 + slot1 * 2048 + 512), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 20, matrix(0x40000040, tile2 + slot1 * 2048 + 640), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 24, matrix(0x40000040, tile2 + slot1 * 2048 + 768), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 28, matrix(0x40000040, tile2 + slot1 * 2048 + 896), 1);
      wgmma_commit();
    }
    bar_arrive(4, 256);  // pass TC.0 [stage 1, cycle 2776]
    wgmma_wait<0>();  // await mma.2/0 [stage 1, cycle 3377]
    fence_regs(acc_29_0);
    if (lane == 0) mbar_arrive(smem + 229400 + 8 * slot1);  // release tma_load.2 [stage 1, cycle 3377]
    // elementwise.4/0: arith.mulf, arith.addf, attention.py:38 row_sum [stage 1, cycle 3533]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        row_sum_22_0[i] = ((row_sum_22_0[i] * alpha_19_0[i]) + row_sum_21_0[i]);
      }
    }
    if (++slot1 == 3) slot1 = 0, phase1 ^= 1;
    bar_sync(5, 256);  // take TC.1 [stage 2, cycle 4528]
  }
  else if (n == 1) {
    mbar_wait(smem + 229440 + 8 * slot0, phase0);  // wait tma_load.1 [stage 0, cycle 0]
    // mma.1/0: ttng.warp_group_dot, attention.py:34 s [stage 0, cycle 0]
    {
      fence_regs(s_10_0);
      wgmma_fence();
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1), matrix(0x40000040, tile0 + slot0 * 2048), 0);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 2), matrix(0x40000040, tile0 + slot0 * 2048 + 2), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 4), matrix(0x40000040, tile0 + slot0 * 2048 + 4), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 6), matrix(0x40000040, tile0 + slot0 * 2048 + 6), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 512), matrix(0x40000040, tile0 + slot0 * 2048 + 1024), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 514), matrix(0x40000040, tile0 + slot0 * 2048 + 1026), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 516), matrix(0x40000040, tile0 + slot0 * 2048 + 1028), 1);
      wgmma_m64n128k16_f16_kk(s_10_0, matrix(0x40000040, tile1 + 518), matrix(0x40000040, tile0 + slot0 * 2048 + 1030), 1);
      wgmma_commit();
    }
    wgmma_wait<0>();  // await mma.1/0 [stage 0, cycle 652]
    fence_regs(s_10_0);
    if (lane == 0) mbar_arrive(smem + 229376 + 8 * slot0);  // release tma_load.1 [stage 0, cycle 652]
    // reduce_max.1/0: tt.reduce, attention.py:35 new_max [stage 0, cycle 652]
    {
      float new_max_11_0_5_part[4], new_max_11_0_5[2];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        new_max_11_0_5_part[i] = s_10_0[i];
      }
#pragma unroll
      for (int i = 4; i < 64; i++) {
        new_max_11_0_5_part[i % 4] = fmaxf(new_max_11_0_5_part[i % 4], s_10_0[i]);
      }
      new_max_11_0_5[0] = fmaxf(new_max_11_0_5_part[0], new_max_11_0_5_part[1]);
      new_max_11_0_5[1] = fmaxf(new_max_11_0_5_part[2], new_max_11_0_5_part[3]);
      if (__any_sync(0xffffffffu, new_max_11_0_5[0] * qk_scale_3 > new_max_13_0[0] || new_max_11_0_5[1] * qk_scale_3 > new_max_13_0[1] || !(qk_scale_3 >= 0.0f))) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_11_0_5[i] = fmaxf(new_max_11_0_5[i], __shfl_xor_sync(0xffffffffu, new_max_11_0_5[i], 1));
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_11_0_5[i] = fmaxf(new_max_11_0_5[i], __shfl_xor_sync(0xffffffffu, new_max_11_0_5[i], 2));
        }
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_11_0[i] = new_max_11_0_5[i];
      }
    }
    // elementwise.1/0: arith.mulf, attention.py:35 new_max [stage 0, cycle 1132]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_12_0[i] = (new_max_11_0[i] * qk_scale_3);
      }
    }
    // max.1/0: arith.maxnumf, attention.py:35 new_max [stage 0, cycle 1145]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_13_0_before[i] = new_max_13_0[i];
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_13_0[i] = fmaxf(new_max_13_0_before[i], new_max_12_0[i]);
      }
    }
    // elementwise.3/0: arith.subf, attention.py:37 alpha [stage 0, cycle 1159]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        alpha_0[i] = (new_max_13_0_before[i] - new_max_13_0[i]);
      }
    }
    // elementwise.2/0: arith.mulf, arith.subf, attention.py:36 p [stage 0, cycle 1160]
    {
#pragma unroll
      for (int i = 0; i < 64; i++) {
        p_17_0[i] = ((s_10_0[i] * qk_scale_3) - new_max_13_0[(((i >> 1) & 1))]);
      }
    }
    // exp2.1/0: math.exp2, attention.py:36 p [stage 0, cycle 1275]
    {
#pragma unroll
      for (int i = 0; i < 64; i++) {
        p_18_0[i] = ex2(p_17_0[i]);
      }
    }
    // exp2.2/0: math.exp2, attention.py:37 alpha [stage 0, cycle 1956]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        alpha_19_0[i] = ex2(alpha_0[i]);
      }
    }
    // convert.1/0: arith.truncf, attention.py:41 acc [stage 0, cycle 2040]
    {
#pragma unroll
      for (int i = 0; i < 32; i++) {
        acc_27_0[i] = pack_f16(p_18_0[(2 * i)], p_18_0[(2 * i + 1)]);
      }
    }
    // reduce_sum.1/0: tt.reduce, attention.py:38 row_sum [stage 0, cycle 2168]
    {
      float row_sum_21_0_5_part[4], row_sum_21_0_5[2];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        row_sum_21_0_5_part[i] = p_18_0[i];
      }
#pragma unroll
      for (int i = 4; i < 64; i++) {
        row_sum_21_0_5_part[i % 4] = (row_sum_21_0_5_part[i % 4] + p_18_0[i]);
      }
      row_sum_21_0_5[0] = (row_sum_21_0_5_part[0] + row_sum_21_0_5_part[1]);
      row_sum_21_0_5[1] = (row_sum_21_0_5_part[2] + row_sum_21_0_5_part[3]);
      // every lane keeps its own part of the sum; they are added behind the loop
#pragma unroll
      for (int i = 0; i < 2; i++) {
        row_sum_21_0[i] = row_sum_21_0_5[i];
      }
    }
    if (++slot0 == 3) slot0 = 0, phase0 ^= 1;
    // elementwise.5/0: arith.mulf, attention.py:39 acc [stage 1, cycle 2399]
    {
      // a factor of one in all rows of the warp that it belongs to changes nothing
      const bool changes_7 = __any_sync(0xffffffffu, alpha_19_0[0] != 1.0f);
      const bool changes_8 = __any_sync(0xffffffffu, alpha_19_0[1] != 1.0f);
      if (changes_7) {
#pragma unroll
        for (int i = 0; i < 64; i++) {
          if (((i >> 1) & 1) == 0) acc_29_0[i] = (acc_29_0[i] * alpha_19_0[(((i >> 1) & 1))]);
        }
      }
      if (changes_8) {
#pragma unroll
        for (int i = 0; i < 64; i++) {
          if (((i >> 1) & 1) == 1) acc_29_0[i] = (acc_29_0[i] * alpha_19_0[(((i >> 1) & 1))]);
        }
      }
    }
    mbar_wait(smem + 229464 + 8 * slot1, phase1);  // wait tma_load.2 [stage 1, cycle 2776]
    // mma.2/0: ttng.warp_group_dot, attention.py:41 acc [stage 1, cycle 2776]
    {
      fence_regs(acc_29_0);
      fence_regs(acc_27_0);
      wgmma_fence();
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0, matrix(0x40000040, tile2 + slot1 * 2048), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 4, matrix(0x40000040, tile2 + slot1 * 2048 + 128), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 8, matrix(0x40000040, tile2 + slot1 * 2048 + 256), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 12, matrix(0x40000040, tile2 + slot1 * 2048 + 384), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 16, matrix(0x40000040, tile2 + slot1 * 2048 + 512), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 20, matrix(0x40000040, tile2 + slot1 * 2048 + 640), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 24, matrix(0x40000040, tile2 + slot1 * 2048 + 768), 1);
      wgmma_m64n128k16_f16_rm(acc_29_0, acc_27_0 + 28, matrix(0x40000040, tile2 + slot1 * 2048 + 896), 1);
      wgmma_commit();
    }
    bar_arrive(4, 256);  // pass TC.0 [stage 1, cycle 2776]
    wgmma_wait<0>();  // await mma.2/0 [stage 1, cycle 3377]
    fence_regs(acc_29_0);
    if (lane == 0) mbar_arrive(smem + 229400 + 8 * slot1);  // release tma_load.2 [stage 1, cycle 3377]
    // elementwise.4/0: arith.mulf, arith.addf, attention.py:38 row_sum [stage 1, cycle 3533]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        row_sum_22_0[i] = ((row_sum_22_0[i] * alpha_19_0[i]) + row_sum_21_0[i]);
      }
    }
    if (++slot1 == 3) slot1 = 0, phase1 ^= 1;
    bar_sync(5, 256);  // take TC.1 [stage 2, cycle 4528]
  }
  wgmma_wait<0>();
  fence_regs(acc_29_0);
  fence_regs(s_10_0);
  // stores are staged in the place of q_tile_4.0
  float acc_2[2];
#pragma unroll
  for (int i = 0; i < 2; i++) {
    acc_2[i] = row_sum_22_0[i];
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    acc_2[i] += __shfl_xor_sync(0xffffffffu, acc_2[i], 1);
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    acc_2[i] += __shfl_xor_sync(0xffffffffu, acc_2[i], 2);
  }
  float scales[2], inverses[2];
#pragma unroll
  for (int i = 0; i < 2; i++) {
    scales[i] = divisor_scale(acc_2[i]);
    inverses[i] = reciprocal(acc_2[i] * scales[i]);
  }
  uint32_t v4_0[32];
  if (scales[0] == 1.0f && scales[1] == 1.0f) {
#pragma unroll
    for (int i = 0; i < 32; i++) {
      v4_0[i] = pack_f16((acc_29_0[(2 * i)] * inverses[(((2 * i) >> 1) & 1)]), (acc_29_0[(2 * i + 1)] * inverses[((((2 * i + 1) >> 1) & 1))]));
    }
  }
  else {
#pragma unroll
    for (int i = 0; i < 32; i++) {
      v4_0[i] = pack_f16(((acc_29_0[(2 * i)] * scales[(((2 * i) >> 1) & 1)]) * inverses[(((2 * i) >> 1) & 1)]), ((acc_29_0[(2 * i + 1)] * scales[((((2 * i + 1) >> 1) & 1))]) * inverses[((((2 * i + 1) >> 1) & 1))]));
    }
  }
  bar_sync(2, 128);
  {
    const int row = 16 * warp + (lane & 15);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      stmatrix4(smem + 196608 + i / 4 * 8192 + row * 128 + (((2 * (i % 4) + (lane >> 4)) << 4) ^ ((row & 7) << 4)), v4_0[4 * i], v4_0[4 * i + 1], v4_0[4 * i + 2], v4_0[4 * i + 3]);
    }
  }
  fence_async();
  bar_sync(2, 128);
  if (thread == 0) {
    tma_store(o_map, smem + 196608, 0, row_2);
    tma_store(o_map, smem + 196608 + 8192, 0 + 64, row_2);
    bulk_commit();
  }
  float* const v5 = (lse + row_2);
#pragma unroll
  for (int i = 0; i < 2; i++) {
    if ((lane & 3) == 0) *((v5 + ((lane >> 2) + warp * 16 + i * 8))) = (new_max_13_0[i] + log2f(acc_2[i]));
  }
  if (lane == 0) mbar_arrive(smem + 229424);  // release q_tile_4.0
  if (thread == 0) bulk_wait<0>();
}

// Group 2 (compute): warps 8 to 11.
DEVICE void group_2(const CUtensorMap& o_map, float* lse, float scale, int S, uint32_t smem) {
  const int thread = threadIdx.x - 256;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, (int)(threadIdx.x >> 5), 0) - 8;
  float s_10_1[64];
  float alpha_1[2];
  float alpha_19_1[2];
  float acc_29_1[64];
  float row_sum_22_1[2];
  float new_max_11_1[2];
  float new_max_12_1[2];
  float new_max_13_1[2];
  float new_max_13_1_before[2];
  float p_17_1[64];
  float p_18_1[64];
  uint32_t acc_27_1[32];
  float row_sum_21_1[2];
  int slot0 = 0;
  uint32_t phase0 = 0;
  const uint32_t tile0 = opaque(matrix_low(smem, 16));
  const uint32_t tile1 = opaque(matrix_low(smem + 212992, 16));
  int slot1 = 0;
  uint32_t phase1 = 0;
  const uint32_t tile2 = opaque(matrix_low(smem + 98304, 16384));
  const int base = blockIdx.y;
  const int base_0 = (base * S);
  const int row = blockIdx.x;
  const int row_1 = (row * 128);
  const int row_2 = (base_0 + row_1);
  const float qk_scale_3 = (scale * 1.4426950216293335f);
  mbar_wait(smem + 229496, 0);  // wait q_tile_4.1
#pragma unroll
  for (int i = 0; i < 2; i++) {
    row_sum_22_1[i] = 0.0f;
  }
#pragma unroll
  for (int i = 0; i < 64; i++) {
    acc_29_1[i] = 0.0f;
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    new_max_13_1[i] = __int_as_float(0xff800000);
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    new_max_13_1_before[i] = __int_as_float(0xff800000);
  }
  const int n = trips(0, S, 128);  // iterations
  float acc_3[2];
  if (n >= 1) {
    // first turns: not every stage has an iteration yet
    mbar_wait(smem + 229440 + 8 * slot0, phase0);  // wait tma_load.1 [stage 0, cycle 1132]
    // mma.1/1: ttng.warp_group_dot, attention.py:34 s [stage 0, cycle 1132]
    {
      fence_regs(s_10_1);
      wgmma_fence();
      wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1), matrix(0x40000040, tile0 + slot0 * 2048), 0);
      wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 2), matrix(0x40000040, tile0 + slot0 * 2048 + 2), 1);
      wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 4), matrix(0x40000040, tile0 + slot0 * 2048 + 4), 1);
      wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 6), matrix(0x40000040, tile0 + slot0 * 2048 + 6), 1);
      wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 512), matrix(0x40000040, tile0 + slot0 * 2048 + 1024), 1);
      wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 514), matrix(0x40000040, tile0 + slot0 * 2048 + 1026), 1);
      wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 516), matrix(0x40000040, tile0 + slot0 * 2048 + 1028), 1);
      wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 518), matrix(0x40000040, tile0 + slot0 * 2048 + 1030), 1);
      wgmma_commit();
    }
    wgmma_wait<0>();  // await mma.1/1 [stage 0, cycle 1784]
    fence_regs(s_10_1);
    if (lane == 0) mbar_arrive(smem + 229376 + 8 * slot0);  // release tma_load.1 [stage 0, cycle 1784]
    // reduce_max.1/1: tt.reduce, attention.py:35 new_max [stage 0, cycle 1784]
    {
      float new_max_11_1_2_part[4], new_max_11_1_2[2];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        new_max_11_1_2_part[i] = s_10_1[i];
      }
#pragma unroll
      for (int i = 4; i < 64; i++) {
        new_max_11_1_2_part[i % 4] = fmaxf(new_max_11_1_2_part[i % 4], s_10_1[i]);
      }
      new_max_11_1_2[0] = fmaxf(new_max_11_1_2_part[0], new_max_11_1_2_part[1]);
      new_max_11_1_2[1] = fmaxf(new_max_11_1_2_part[2], new_max_11_1_2_part[3]);
      if (__any_sync(0xffffffffu, new_max_11_1_2[0] * qk_scale_3 > new_max_13_1[0] || new_max_11_1_2[1] * qk_scale_3 > new_max_13_1[1] || !(qk_scale_3 >= 0.0f))) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_11_1_2[i] = fmaxf(new_max_11_1_2[i], __shfl_xor_sync(0xffffffffu, new_max_11_1_2[i], 1));
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_11_1_2[i] = fmaxf(new_max_11_1_2[i], __shfl_xor_sync(0xffffffffu, new_max_11_1_2[i], 2));
        }
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_11_1[i] = new_max_11_1_2[i];
      }
    }
    // elementwise.1/1: arith.mulf, attention.py:35 new_max [stage 0, cycle 2264]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_12_1[i] = (new_max_11_1[i] * qk_scale_3);
      }
    }
    // max.1/1: arith.maxnumf, attention.py:35 new_max [stage 0, cycle 2277]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_13_1_before[i] = new_max_13_1[i];
      }
#pragma unroll
      for (int i = 0; i < 2; i++) {
        new_max_13_1[i] = fmaxf(new_max_13_1_before[i], new_max_12_1[i]);
      }
    }
    // elementwise.2/1: arith.mulf, arith.subf, attention.py:36 p [stage 0, cycle 2291]
    {
#pragma unroll
      for (int i = 0; i < 64; i++) {
        p_17_1[i] = ((s_10_1[i] * qk_scale_3) - new_max_13_1[(((i >> 1) & 1))]);
      }
    }
    // exp2.1/1: math.exp2, attention.py:36 p [stage 0, cycle 2399]
    {
#pragma unroll
      for (int i = 0; i < 64; i++) {
        p_18_1[i] = ex2(p_17_1[i]);
      }
    }
    // convert.1/1: arith.truncf, attention.py:41 acc [stage 0, cycle 3172]
    {
#pragma unroll
      for (int i = 0; i < 32; i++) {
        acc_27_1[i] = pack_f16(p_18_1[(2 * i)], p_18_1[(2 * i + 1)]);
      }
    }
    // reduce_sum.1/1: tt.reduce, attention.py:38 row_sum [stage 0, cycle 3300]
    {
      float row_sum_21_1_2_part[4], row_sum_21_1_2[2];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        row_sum_21_1_2_part[i] = p_18_1[i];
      }
#pragma unroll
      for (int i = 4; i < 64; i++) {
        row_sum_21_1_2_part[i % 4] = (row_sum_21_1_2_part[i % 4] + p_18_1[i]);
      }
      row_sum_21_1_2[0] = (row_sum_21_1_2_part[0] + row_sum_21_1_2_part[1]);
      row_sum_21_1_2[1] = (row_sum_21_1_2_part[2] + row_sum_21_1_2_part[3]);
      // every lane keeps its own part of the sum; they are added behind the loop
#pragma unroll
      for (int i = 0; i < 2; i++) {
        row_sum_21_1[i] = row_sum_21_1_2[i];
      }
    }
    if (++slot0 == 3) slot0 = 0, phase0 ^= 1;
    // complete turns
    for (int t = 1; t < n; t++) {
      mbar_wait(smem + 229440 + 8 * slot0, phase0);  // wait tma_load.1 [stage 0, cycle 1132]
      bar_sync(4, 256);  // take TC.0 [stage 1, cycle 3396]
      // mma.1/1: ttng.warp_group_dot, attention.py:34 s [stage 0, cycle 1132]
      {
        fence_regs(s_10_1);
        wgmma_fence();
        wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1), matrix(0x40000040, tile0 + slot0 * 2048), 0);
        wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 2), matrix(0x40000040, tile0 + slot0 * 2048 + 2), 1);
        wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 4), matrix(0x40000040, tile0 + slot0 * 2048 + 4), 1);
        wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 6), matrix(0x40000040, tile0 + slot0 * 2048 + 6), 1);
        wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 512), matrix(0x40000040, tile0 + slot0 * 2048 + 1024), 1);
        wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 514), matrix(0x40000040, tile0 + slot0 * 2048 + 1026), 1);
        wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 516), matrix(0x40000040, tile0 + slot0 * 2048 + 1028), 1);
        wgmma_m64n128k16_f16_kk(s_10_1, matrix(0x40000040, tile1 + 518), matrix(0x40000040, tile0 + slot0 * 2048 + 1030), 1);
        wgmma_commit();
      }
      // elementwise.3/1: arith.subf, attention.py:37 alpha [stage 1, cycle 3520]
      {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          alpha_1[i] = (new_max_13_1_before[i] - new_max_13_1[i]);
        }
      }
      // exp2.2/1: math.exp2, attention.py:37 alpha [stage 1, cycle 3533]
      {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          alpha_19_1[i] = ex2(alpha_1[i]);
        }
      }
      // elementwise.5/1: arith.mulf, attention.py:39 acc [stage 1, cycle 3551]
      {
        // a factor of one in all rows of the warp that it belongs to changes nothing
        const bool changes = __any_sync(0xffffffffu, alpha_19_1[0] != 1.0f);
        const bool changes_2 = __any_sync(0xffffffffu, alpha_19_1[1] != 1.0f);
        if (changes) {
#pragma unroll
          for (int i = 0; i < 64; i++) {
            if (((i >> 1) & 1) == 0) acc_29_1[i] = (acc_29_1[i] * alpha_19_1[(((i >> 1) & 1))]);
          }
        }
        if (changes_2) {
#pragma unroll
          for (int i = 0; i < 64; i++) {
            if (((i >> 1) & 1) == 1) acc_29_1[i] = (acc_29_1[i] * alpha_19_1[(((i >> 1) & 1))]);
          }
        }
      }
      // elementwise.4/1: arith.mulf, arith.addf, attention.py:38 row_sum [stage 1, cycle 3647]
      {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          row_sum_22_1[i] = ((row_sum_22_1[i] * alpha_19_1[i]) + row_sum_21_1[i]);
        }
      }
      mbar_wait(smem + 229464 + 8 * slot1, phase1);  // wait tma_load.2 [stage 1, cycle 3908]
      // mma.2/1: ttng.warp_group_dot, attention.py:41 acc [stage 1, cycle 3908]
      {
        fence_regs(acc_29_1);
        fence_regs(acc_27_1);
        wgmma_fence();
        wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1, matrix(0x40000040, tile2 + slot1 * 2048), 1);
        wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 4, matrix(0x40000040, tile2 + slot1 * 2048 + 128), 1);
        wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 8, matrix(0x40000040, tile2 + slot1 * 2048 + 256), 1);
        wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 12, matrix(0x40000040, tile2 + slot1 * 2048 + 384), 1);
        wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 16, matrix(0x40000040, tile2 + slot1 * 2048 + 512), 1);
        wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 20, matrix(0x40000040, tile2 + slot1 * 2048 + 640), 1);
        wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 24, matrix(0x40000040, tile2 + slot1 * 2048 + 768), 1);
        wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 28, matrix(0x40000040, tile2 + slot1 * 2048 + 896), 1);
        wgmma_commit();
      }
      bar_arrive(5, 256);  // pass TC.1 [stage 1, cycle 3908]
      wgmma_wait<1>();  // await mma.1/1 [stage 0, cycle 1784]
      fence_regs(s_10_1);
      if (lane == 0) mbar_arrive(smem + 229376 + 8 * slot0);  // release tma_load.1 [stage 0, cycle 1784]
      // reduce_max.1/1: tt.reduce, attention.py:35 new_max [stage 0, cycle 1784]
      {
        float new_max_11_1_3_part[4], new_max_11_1_3[2];
#pragma unroll
        for (int i = 0; i < 4; i++) {
          new_max_11_1_3_part[i] = s_10_1[i];
        }
#pragma unroll
        for (int i = 4; i < 64; i++) {
          new_max_11_1_3_part[i % 4] = fmaxf(new_max_11_1_3_part[i % 4], s_10_1[i]);
        }
        new_max_11_1_3[0] = fmaxf(new_max_11_1_3_part[0], new_max_11_1_3_part[1]);
        new_max_11_1_3[1] = fmaxf(new_max_11_1_3_part[2], new_max_11_1_3_part[3]);
        if (__any_sync(0xffffffffu, new_max_11_1_3[0] * qk_scale_3 > new_max_13_1[0] || new_max_11_1_3[1] * qk_scale_3 > new_max_13_1[1] || !(qk_scale_3 >= 0.0f))) {
#pragma unroll
          for (int i = 0; i < 2; i++) {
            new_max_11_1_3[i] = fmaxf(new_max_11_1_3[i], __shfl_xor_sync(0xffffffffu, new_max_11_1_3[i], 1));
          }
#pragma unroll
          for (int i = 0; i < 2; i++) {
            new_max_11_1_3[i] = fmaxf(new_max_11_1_3[i], __shfl_xor_sync(0xffffffffu, new_max_11_1_3[i], 2));
          }
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_11_1[i] = new_max_11_1_3[i];
        }
      }
      wgmma_wait<0>();  // await mma.2/1 [stage 1, cycle 4509]
      fence_regs(acc_29_1);
      if (lane == 0) mbar_arrive(smem + 229400 + 8 * slot1);  // release tma_load.2 [stage 1, cycle 4509]
      // elementwise.1/1: arith.mulf, attention.py:35 new_max [stage 0, cycle 2264]
      {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_12_1[i] = (new_max_11_1[i] * qk_scale_3);
        }
      }
      // max.1/1: arith.maxnumf, attention.py:35 new_max [stage 0, cycle 2277]
      {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_13_1_before[i] = new_max_13_1[i];
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
          new_max_13_1[i] = fmaxf(new_max_13_1_before[i], new_max_12_1[i]);
        }
      }
      // elementwise.2/1: arith.mulf, arith.subf, attention.py:36 p [stage 0, cycle 2291]
      {
#pragma unroll
        for (int i = 0; i < 64; i++) {
          p_17_1[i] = ((s_10_1[i] * qk_scale_3) - new_max_13_1[(((i >> 1) & 1))]);
        }
      }
      // exp2.1/1: math.exp2, attention.py:36 p [stage 0, cycle 2399]
      {
#pragma unroll
        for (int i = 0; i < 64; i++) {
          p_18_1[i] = ex2(p_17_1[i]);
        }
      }
      // convert.1/1: arith.truncf, attention.py:41 acc [stage 0, cycle 3172]
      {
#pragma unroll
        for (int i = 0; i < 32; i++) {
          acc_27_1[i] = pack_f16(p_18_1[(2 * i)], p_18_1[(2 * i + 1)]);
        }
      }
      // reduce_sum.1/1: tt.reduce, attention.py:38 row_sum [stage 0, cycle 3300]
      {
        float row_sum_21_1_3_part[4], row_sum_21_1_3[2];
#pragma unroll
        for (int i = 0; i < 4; i++) {
          row_sum_21_1_3_part[i] = p_18_1[i];
        }
#pragma unroll
        for (int i = 4; i < 64; i++) {
          row_sum_21_1_3_part[i % 4] = (row_sum_21_1_3_part[i % 4] + p_18_1[i]);
        }
        row_sum_21_1_3[0] = (row_sum_21_1_3_part[0] + row_sum_21_1_3_part[1]);
        row_sum_21_1_3[1] = (row_sum_21_1_3_part[2] + row_sum_21_1_3_part[3]);
        // every lane keeps its own part of the sum; they are added behind the loop
#pragma unroll
        for (int i = 0; i < 2; i++) {
          row_sum_21_1[i] = row_sum_21_1_3[i];
        }
      }
      if (++slot0 == 3) slot0 = 0, phase0 ^= 1;
      if (++slot1 == 3) slot1 = 0, phase1 ^= 1;
    }
    // last turns: not every stage has an iteration any more
    bar_sync(4, 256);  // take TC.0 [stage 1, cycle 3396]
    // elementwise.3/1: arith.subf, attention.py:37 alpha [stage 1, cycle 3520]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        alpha_1[i] = (new_max_13_1_before[i] - new_max_13_1[i]);
      }
    }
    // exp2.2/1: math.exp2, attention.py:37 alpha [stage 1, cycle 3533]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        alpha_19_1[i] = ex2(alpha_1[i]);
      }
    }
    // elementwise.5/1: arith.mulf, attention.py:39 acc [stage 1, cycle 3551]
    {
      // a factor of one in all rows of the warp that it belongs to changes nothing
      const bool changes_3 = __any_sync(0xffffffffu, alpha_19_1[0] != 1.0f);
      const bool changes_4 = __any_sync(0xffffffffu, alpha_19_1[1] != 1.0f);
      if (changes_3) {
#pragma unroll
        for (int i = 0; i < 64; i++) {
          if (((i >> 1) & 1) == 0) acc_29_1[i] = (acc_29_1[i] * alpha_19_1[(((i >> 1) & 1))]);
        }
      }
      if (changes_4) {
#pragma unroll
        for (int i = 0; i < 64; i++) {
          if (((i >> 1) & 1) == 1) acc_29_1[i] = (acc_29_1[i] * alpha_19_1[(((i >> 1) & 1))]);
        }
      }
    }
    // elementwise.4/1: arith.mulf, arith.addf, attention.py:38 row_sum [stage 1, cycle 3647]
    {
#pragma unroll
      for (int i = 0; i < 2; i++) {
        row_sum_22_1[i] = ((row_sum_22_1[i] * alpha_19_1[i]) + row_sum_21_1[i]);
      }
    }
    mbar_wait(smem + 229464 + 8 * slot1, phase1);  // wait tma_load.2 [stage 1, cycle 3908]
    // mma.2/1: ttng.warp_group_dot, attention.py:41 acc [stage 1, cycle 3908]
    {
      fence_regs(acc_29_1);
      fence_regs(acc_27_1);
      wgmma_fence();
      wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1, matrix(0x40000040, tile2 + slot1 * 2048), 1);
      wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 4, matrix(0x40000040, tile2 + slot1 * 2048 + 128), 1);
      wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 8, matrix(0x40000040, tile2 + slot1 * 2048 + 256), 1);
      wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 12, matrix(0x40000040, tile2 + slot1 * 2048 + 384), 1);
      wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 16, matrix(0x40000040, tile2 + slot1 * 2048 + 512), 1);
      wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 20, matrix(0x40000040, tile2 + slot1 * 2048 + 640), 1);
      wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 24, matrix(0x40000040, tile2 + slot1 * 2048 + 768), 1);
      wgmma_m64n128k16_f16_rm(acc_29_1, acc_27_1 + 28, matrix(0x40000040, tile2 + slot1 * 2048 + 896), 1);
      wgmma_commit();
    }
    bar_arrive(5, 256);  // pass TC.1 [stage 1, cycle 3908]
    // while the last products run
#pragma unroll
    for (int i = 0; i < 2; i++) {
      acc_3[i] = row_sum_22_1[i];
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      acc_3[i] += __shfl_xor_sync(0xffffffffu, acc_3[i], 1);
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      acc_3[i] += __shfl_xor_sync(0xffffffffu, acc_3[i], 2);
    }
    float* const v5 = (lse + row_2);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      if ((lane & 3) == 0) *((v5 + (64 + (lane >> 2) + warp * 16 + i * 8))) = (new_max_13_1[i] + log2f(acc_3[i]));
    }
    wgmma_wait<0>();  // await mma.2/1 [stage 1, cycle 4509]
    fence_regs(acc_29_1);
    if (lane == 0) mbar_arrive(smem + 229400 + 8 * slot1);  // release tma_load.2 [stage 1, cycle 4509]
    if (++slot1 == 3) slot1 = 0, phase1 ^= 1;
  }
  else {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      acc_3[i] = row_sum_22_1[i];
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      acc_3[i] += __shfl_xor_sync(0xffffffffu, acc_3[i], 1);
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      acc_3[i] += __shfl_xor_sync(0xffffffffu, acc_3[i], 2);
    }
    float* const v5 = (lse + row_2);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      if ((lane & 3) == 0) *((v5 + (64 + (lane >> 2) + warp * 16 + i * 8))) = (new_max_13_1[i] + log2f(acc_3[i]));
    }
  }
  wgmma_wait<0>();
  fence_regs(acc_29_1);
  fence_regs(s_10_1);
  // stores are staged in the place of q_tile_4.1
  float scales[2], inverses[2];
#pragma unroll
  for (int i = 0; i < 2; i++) {
    scales[i] = divisor_scale(acc_3[i]);
    inverses[i] = reciprocal(acc_3[i] * scales[i]);
  }
  const int row_2_1_2 = (row_2 + 64);
  uint32_t v4_1[32];
  if (scales[0] == 1.0f && scales[1] == 1.0f) {
#pragma unroll
    for (int i = 0; i < 32; i++) {
      v4_1[i] = pack_f16((acc_29_1[(2 * i)] * inverses[(((2 * i) >> 1) & 1)]), (acc_29_1[(2 * i + 1)] * inverses[((((2 * i + 1) >> 1) & 1))]));
    }
  }
  else {
#pragma unroll
    for (int i = 0; i < 32; i++) {
      v4_1[i] = pack_f16(((acc_29_1[(2 * i)] * scales[(((2 * i) >> 1) & 1)]) * inverses[(((2 * i) >> 1) & 1)]), ((acc_29_1[(2 * i + 1)] * scales[((((2 * i + 1) >> 1) & 1))]) * inverses[((((2 * i + 1) >> 1) & 1))]));
    }
  }
  bar_sync(3, 128);
  {
    const int row = 16 * warp + (lane & 15);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      stmatrix4(smem + 212992 + i / 4 * 8192 + row * 128 + (((2 * (i % 4) + (lane >> 4)) << 4) ^ ((row & 7) << 4)), v4_1[4 * i], v4_1[4 * i + 1], v4_1[4 * i + 2], v4_1[4 * i + 3]);
    }
  }
  fence_async();
  bar_sync(3, 128);
  if (thread == 0) {
    tma_store(o_map, smem + 212992, 0, row_2_1_2);
    tma_store(o_map, smem + 212992 + 8192, 0 + 64, row_2_1_2);
    bulk_commit();
  }
  if (lane == 0) mbar_arrive(smem + 229432);  // release q_tile_4.1
  if (thread == 0) bulk_wait<0>();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1) attention_fwd(const __grid_constant__ CUtensorMap q_map, int q_shape_0, int q_shape_1, long long q_stride_0, long long q_stride_1, const __grid_constant__ CUtensorMap k_map, int k_shape_0, int k_shape_1, long long k_stride_0, long long k_stride_1, const __grid_constant__ CUtensorMap v_map, int v_shape_0, int v_shape_1, long long v_stride_0, long long v_stride_1, const __grid_constant__ CUtensorMap o_map, int o_shape_0, int o_shape_1, long long o_stride_0, long long o_stride_1, float* lse, float scale, int S) {
  extern __shared__ __align__(1024) char dynamic[];
  const uint32_t smem = opaque((uint32_t)__cvta_generic_to_shared(dynamic));
  if (threadIdx.x == 0) {
    mbar_init(smem + 229376, 8);
    mbar_init(smem + 229384, 8);
    mbar_init(smem + 229392, 8);
    mbar_init(smem + 229400, 8);
    mbar_init(smem + 229408, 8);
    mbar_init(smem + 229416, 8);
    mbar_init(smem + 229424, 4);
    mbar_init(smem + 229432, 4);
    mbar_init(smem + 229440, 1);
    mbar_init(smem + 229448, 1);
    mbar_init(smem + 229456, 1);
    mbar_init(smem + 229464, 1);
    mbar_init(smem + 229472, 1);
    mbar_init(smem + 229480, 1);
    mbar_init(smem + 229488, 1);
    mbar_init(smem + 229496, 1);
    mbar_init_fence();
    tma_prefetch(q_map);
    tma_prefetch(k_map);
    tma_prefetch(v_map);
    tma_prefetch(o_map);
  }
  __syncthreads();
  const int warp = threadIdx.x >> 5;
  if (warp < 4) {
    fewer_registers<24>();
    if (warp == 0 && (threadIdx.x & 31) == 0) group_0(q_map, k_map, v_map, S, smem);
  }
  else if (warp < 8) {
    more_registers<240>();
    group_1(o_map, lse, scale, S, smem);
  }
  else {
    more_registers<240>();
    group_2(o_map, lse, scale, S, smem);
  }
}

// twill.cuda-kernel/1 {"name": "attention_fwd", "target": "sm_90a", "threads": 384, "shared_bytes": 230400, "cluster": 1, "registers": 168, "grants": [[0, 24], [1, 240], [2, 240]], "arguments": [{"name": "q_map", "source": "q", "kind": "tensor_map", "dtype": "f16", "box": [64, 64], "swizzle": 128}, {"name": "q_shape_0", "source": "q.shape.0", "kind": "scalar", "dtype": "i32", "of": "q", "field": "shape"}, {"name": "q_shape_1", "source": "q.shape.1", "kind": "scalar", "dtype": "i32", "of": "q", "field": "shape", "axis": 1}, {"name": "q_stride_0", "source": "q.stride.0", "kind": "scalar", "dtype": "i64", "of": "q", "field": "stride"}, {"name": "q_stride_1", "source": "q.stride.1", "kind": "scalar", "dtype": "i64", "of": "q", "field": "stride", "axis": 1}, {"name": "k_map", "source": "k", "kind": "tensor_map", "dtype": "f16", "box": [128, 64], "swizzle": 128}, {"name": "k_shape_0", "source": "k.shape.0", "kind": "scalar", "dtype": "i32", "of": "k", "field": "shape"}, {"name": "k_shape_1", "source": "k.shape.1", "kind": "scalar", "dtype": "i32", "of": "k", "field": "shape", "axis": 1}, {"name": "k_stride_0", "source": "k.stride.0", "kind": "scalar", "dtype": "i64", "of": "k", "field": "stride"}, {"name": "k_stride_1", "source": "k.stride.1", "kind": "scalar", "dtype": "i64", "of": "k", "field": "stride", "axis": 1}, {"name": "v_map", "source": "v", "kind": "tensor_map", "dtype": "f16", "box": [128, 64], "swizzle": 128}, {"name": "v_shape_0", "source": "v.shape.0", "kind": "scalar", "dtype": "i32", "of": "v", "field": "shape"}, {"name": "v_shape_1", "source": "v.shape.1", "kind": "scalar", "dtype": "i32", "of": "v", "field": "shape", "axis": 1}, {"name": "v_stride_0", "source": "v.stride.0", "kind": "scalar", "dtype": "i64", "of": "v", "field": "stride"}, {"name": "v_stride_1", "source": "v.stride.1", "kind": "scalar", "dtype": "i64", "of": "v", "field": "stride", "axis": 1}, {"name": "o_map", "source": "o", "kind": "tensor_map", "dtype": "f16", "box": [64, 64], "swizzle": 128}, {"name": "o_shape_0", "source": "o.shape.0", "kind": "scalar", "dtype": "i32", "of": "o", "field": "shape"}, {"name": "o_shape_1", "source": "o.shape.1", "kind": "scalar", "dtype": "i32", "of": "o", "field": "shape", "axis": 1}, {"name": "o_stride_0", "source": "o.stride.0", "kind": "scalar", "dtype": "i64", "of": "o", "field": "stride"}, {"name": "o_stride_1", "source": "o.stride.1", "kind": "scalar", "dtype": "i64", "of": "o", "field": "stride", "axis": 1}, {"name": "lse", "source": "lse", "kind": "pointer", "dtype": "f32", "align": 16}, {"name": "scale", "source": "scale", "kind": "scalar", "dtype": "f32"}, {"name": "S", "source": "S", "kind": "scalar", "dtype": "i32"}]}
