pipeline.program @attention_fwd {ii = 2264, length = 4420, loop = 21} {
  // Turn t of a group works on iteration t - stage.  From 3 iterations on, every group has turns in which all instructions work.
  // group 1 is unrolled 2 times, for copies of registers: max.1/0 (2)
  // group 2 is unrolled 2 times, for copies of registers: max.1/1 (2)
  // groups take turns on TC: the order of the schedule is kept by 2 tokens
  op @tma_load.1 {kind = "tma_load", operations = [23, 24], folded = [22]}
  op @mma.1/0 {kind = "mma", operations = [26], folded = [25]}
  op @mma.1/1 {kind = "mma", operations = [27], folded = [25]}
  op @reduce_max.1/0 {kind = "reduce_max", operations = [28]}
  op @reduce_max.1/1 {kind = "reduce_max", operations = [31]}
  op @elementwise.1/0 {kind = "elementwise", operations = [34]}
  op @elementwise.1/1 {kind = "elementwise", operations = [35]}
  op @max.1/0 {kind = "max", operations = [36]}
  op @max.1/1 {kind = "max", operations = [37]}
  op @elementwise.2/0 {kind = "elementwise", operations = [44, 38], folded = [40, 42]}
  op @elementwise.2/1 {kind = "elementwise", operations = [45, 39], folded = [41, 43]}
  op @exp2.1/0 {kind = "exp2", operations = [46]}
  op @exp2.1/1 {kind = "exp2", operations = [47]}
  op @elementwise.3/0 {kind = "elementwise", operations = [48]}
  op @elementwise.3/1 {kind = "elementwise", operations = [49]}
  op @exp2.2/0 {kind = "exp2", operations = [50]}
  op @exp2.2/1 {kind = "exp2", operations = [51]}
  op @reduce_sum.1/0 {kind = "reduce_sum", operations = [54]}
  op @reduce_sum.1/1 {kind = "reduce_sum", operations = [57]}
  op @elementwise.4/0 {kind = "elementwise", operations = [60, 52]}
  op @elementwise.4/1 {kind = "elementwise", operations = [61, 53]}
  op @elementwise.5/0 {kind = "elementwise", operations = [66], folded = [62, 64]}
  op @elementwise.5/1 {kind = "elementwise", operations = [67], folded = [63, 65]}
  op @tma_load.2 {kind = "tma_load", operations = [68, 69], folded = [22]}
  op @convert.1/0 {kind = "convert", operations = [70]}
  op @convert.1/1 {kind = "convert", operations = [71]}
  op @mma.2/0 {kind = "mma", operations = [74], folded = [72]}
  op @mma.2/1 {kind = "mma", operations = [75], folded = [73]}
  buffer @tma_load.1 {memory = "smem", slots = 3, slot = 32768, offset = 0, parts = [[%tma_load.1, 0, 32768]], empty = {arrivals = 8, parity = 1, offset = 229376}}
  buffer @tma_load.2 {memory = "smem", slots = 3, slot = 32768, offset = 98304, parts = [[%tma_load.2, 0, 32768]], empty = {arrivals = 8, parity = 1, offset = 229400}}
  buffer @q_tile_4.0 {memory = "smem", slots = 1, slot = 16384, offset = 196608, parts = [[%q_tile_4.0, 0, 16384]], empty = {arrivals = 4, parity = 1, offset = 229424}, per = entry}
  buffer @q_tile_4.1 {memory = "smem", slots = 1, slot = 16384, offset = 212992, parts = [[%q_tile_4.1, 0, 16384]], empty = {arrivals = 4, parity = 1, offset = 229432}, per = entry}
  channel @tma_load.1 {values = [%tma_load.1], buffer = @tma_load.1, from = 0, to = [1, 2], full = {arrivals = 1, bytes = 32768, parity = 0, offset = 229440}}
  channel @tma_load.2 {values = [%tma_load.2], buffer = @tma_load.2, from = 0, to = [1, 2], full = {arrivals = 1, bytes = 32768, parity = 0, offset = 229464}}
  channel @q_tile_4.0 {values = [%q_tile_4.0], buffer = @q_tile_4.0, from = 0, to = [1], full = {arrivals = 1, bytes = 16384, parity = 0, offset = 229488}}
  channel @q_tile_4.1 {values = [%q_tile_4.1], buffer = @q_tile_4.1, from = 0, to = [2], full = {arrivals = 1, bytes = 16384, parity = 0, offset = 229496}}
  token @TC.0 {unit = "TC", before = @mma.2/0, after = @mma.1/1, from = 1, to = 2, distance = 1, barrier = 4}
  token @TC.1 {unit = "TC", before = @mma.2/1, after = @mma.1/0, from = 2, to = 1, distance = 2, barrier = 5}
  group 0 "load" {warps = 1, first_warp = 0, grant = 24, stages = 1, unroll = 1} {
    before {
      run 1 "arith.constant"
      run 3 "arith.constant"
      run 7 "tt.get_program_id"
      run 8 "arith.muli"
      run 9 "tt.get_program_id"
      run 10 "arith.muli"
      run 11 "arith.addi"
      acquire @q_tile_4.0
      arrive @q_tile_4.0 {by = bytes, count = 1, bytes = 16384, op = @q_tile_4.0}
      run 13 "tt.descriptor_load"
      run 14 "arith.constant"
      run 15 "arith.addi"
      acquire @q_tile_4.1
      arrive @q_tile_4.1 {by = bytes, count = 1, bytes = 16384, op = @q_tile_4.1}
      run 16 "tt.descriptor_load"
      @q_tile_4.0 = run 17 "ttg.local_alloc" {queue = tma, value = %q_tile_4.0}
      @q_tile_4.1 = run 18 "ttg.local_alloc" {queue = tma, value = %q_tile_4.1}
    }
    loop {
      [cycle   0, stage 0]  acquire @tma_load.1
      [cycle   0, stage 0]  arrive @tma_load.1 {by = bytes, count = 1, bytes = 32768, op = @tma_load.1}
      [cycle   0, stage 0]  @tma_load.1 = issue @tma_load.1() {queue = tma}
      [cycle 716, stage 0]  acquire @tma_load.2
      [cycle 716, stage 0]  arrive @tma_load.2 {by = bytes, count = 1, bytes = 32768, op = @tma_load.2}
      [cycle 716, stage 0]  @tma_load.2 = issue @tma_load.2() {queue = tma}
    }
  }
  group 1 "compute" {warps = 4, first_warp = 4, grant = 240, stages = 3, unroll = 2} {
    register %mma.1/0 {words = 8192, copies = 1}
    register %reduce_max.1/0 {words = 64, copies = 1}
    register %elementwise.1/0 {words = 64, copies = 1}
    register %max.1/0 {words = 64, copies = 2}
    register %elementwise.2/0 {words = 8192, copies = 1}
    register %exp2.1/0 {words = 8192, copies = 1}
    register %elementwise.3/0 {words = 64, copies = 1}
    register %exp2.2/0 {words = 64, copies = 1}
    register %reduce_sum.1/0 {words = 64, copies = 1}
    register %elementwise.4/0 {words = 64, copies = 1}
    register %elementwise.5/0 {words = 8192, copies = 1}
    register %convert.1/0 {words = 4096, copies = 1}
    register %mma.2/0 {words = 8192, copies = 1}
    before {
      run 1 "arith.constant"
      run 2 "arith.constant"
      run 3 "arith.constant"
      run 4 "arith.constant"
      run 5 "arith.constant"
      run 6 "arith.constant"
      run 7 "tt.get_program_id"
      run 8 "arith.muli"
      run 9 "tt.get_program_id"
      run 10 "arith.muli"
      run 11 "arith.addi"
      run 12 "arith.mulf"
      run 19 "tt.splat"
      run 20 "tt.splat"
      wait @q_tile_4.0
    }
    loop {
      [cycle    0, stage 0]  wait @tma_load.1
      [cycle 4528, stage 2]  take @TC.1
      [cycle    0, stage 0]  %mma.1/0 = issue @mma.1/0(@tma_load.1) {queue = wgmma}
      [cycle 2399, stage 1]  %elementwise.5/0 = issue @elementwise.5/0(%exp2.2/0, %mma.2/0[-1])
      [cycle 2776, stage 1]  wait @tma_load.2
      [cycle 2776, stage 1]  %mma.2/0 = issue @mma.2/0(%elementwise.5/0, @tma_load.2, %convert.1/0) {queue = wgmma}
      [cycle 2776, stage 1]  pass @TC.0
      [cycle  652, stage 0]  await @mma.1/0 {queue = wgmma, pending = 1}
      [cycle  652, stage 0]  release @tma_load.1 {by = threads, count = 4}
      [cycle  652, stage 0]  %reduce_max.1/0 = issue @reduce_max.1/0(%mma.1/0)
      [cycle 3377, stage 1]  await @mma.2/0 {queue = wgmma, pending = 0}
      [cycle 3377, stage 1]  release @tma_load.2 {by = threads, count = 4}
      [cycle 1132, stage 0]  %elementwise.1/0 = issue @elementwise.1/0(%reduce_max.1/0)
      [cycle 1145, stage 0]  %max.1/0 = issue @max.1/0(%elementwise.1/0, %max.1/0[-1])
      [cycle 1159, stage 0]  %elementwise.3/0 = issue @elementwise.3/0(%max.1/0, %max.1/0[-1])
      [cycle 1160, stage 0]  %elementwise.2/0 = issue @elementwise.2/0(%mma.1/0, %max.1/0)
      [cycle 3533, stage 1]  %elementwise.4/0 = issue @elementwise.4/0(%exp2.2/0, %reduce_sum.1/0, %elementwise.4/0[-1])
      [cycle 1275, stage 0]  %exp2.1/0 = issue @exp2.1/0(%elementwise.2/0)
      [cycle 1956, stage 0]  %exp2.2/0 = issue @exp2.2/0(%elementwise.3/0)
      [cycle 2040, stage 0]  %convert.1/0 = issue @convert.1/0(%exp2.1/0)
      [cycle 2168, stage 0]  %reduce_sum.1/0 = issue @reduce_sum.1/0(%exp2.1/0)
    }
    after {
      release @q_tile_4.0 {by = threads, count = 4}
      run 77 "tt.expand_dims"
      run 79 "tt.broadcast"
      run 81 "arith.divf"
      run 83 "arith.truncf"
      run 85 "ttg.convert_layout"
      run 87 "tt.descriptor_store"
      run 91 "tt.addptr"
      run 92 "tt.make_range"
      run 94 "tt.splat"
      run 95 "tt.addptr"
      run 97 "math.log2"
      run 99 "arith.addf"
      run 101 "ttg.convert_layout"
      run 103 "tt.store"
    }
  }
  group 2 "compute" {warps = 4, first_warp = 8, grant = 240, stages = 2, unroll = 2} {
    register %mma.1/1 {words = 8192, copies = 1}
    register %reduce_max.1/1 {words = 64, copies = 1}
    register %elementwise.1/1 {words = 64, copies = 1}
    register %max.1/1 {words = 64, copies = 2}
    register %elementwise.2/1 {words = 8192, copies = 1}
    register %exp2.1/1 {words = 8192, copies = 1}
    register %elementwise.3/1 {words = 64, copies = 1}
    register %exp2.2/1 {words = 64, copies = 1}
    register %reduce_sum.1/1 {words = 64, copies = 1}
    register %elementwise.4/1 {words = 64, copies = 1}
    register %elementwise.5/1 {words = 8192, copies = 1}
    register %convert.1/1 {words = 4096, copies = 1}
    register %mma.2/1 {words = 8192, copies = 1}
    before {
      run 1 "arith.constant"
      run 2 "arith.constant"
      run 3 "arith.constant"
      run 4 "arith.constant"
      run 5 "arith.constant"
      run 6 "arith.constant"
      run 7 "tt.get_program_id"
      run 8 "arith.muli"
      run 9 "tt.get_program_id"
      run 10 "arith.muli"
      run 11 "arith.addi"
      run 12 "arith.mulf"
      run 19 "tt.splat"
      run 20 "tt.splat"
      wait @q_tile_4.1
    }
    loop {
      [cycle 1132, stage 0]  wait @tma_load.1
      [cycle 3396, stage 1]  take @TC.0
      [cycle 1132, stage 0]  %mma.1/1 = issue @mma.1/1(@tma_load.1) {queue = wgmma}
      [cycle 3520, stage 1]  %elementwise.3/1 = issue @elementwise.3/1(%max.1/1, %max.1/1[-1])
      [cycle 3533, stage 1]  %exp2.2/1 = issue @exp2.2/1(%elementwise.3/1)
      [cycle 3551, stage 1]  %elementwise.5/1 = issue @elementwise.5/1(%exp2.2/1, %mma.2/1[-1])
      [cycle 3647, stage 1]  %elementwise.4/1 = issue @elementwise.4/1(%exp2.2/1, %reduce_sum.1/1, %elementwise.4/1[-1])
      [cycle 3908, stage 1]  wait @tma_load.2
      [cycle 3908, stage 1]  %mma.2/1 = issue @mma.2/1(%elementwise.5/1, @tma_load.2, %convert.1/1) {queue = wgmma}
      [cycle 3908, stage 1]  pass @TC.1
      [cycle 1784, stage 0]  await @mma.1/1 {queue = wgmma, pending = 1}
      [cycle 1784, stage 0]  release @tma_load.1 {by = threads, count = 4}
      [cycle 1784, stage 0]  %reduce_max.1/1 = issue @reduce_max.1/1(%mma.1/1)
      [cycle 4509, stage 1]  await @mma.2/1 {queue = wgmma, pending = 0}
      [cycle 4509, stage 1]  release @tma_load.2 {by = threads, count = 4}
      [cycle 2264, stage 0]  %elementwise.1/1 = issue @elementwise.1/1(%reduce_max.1/1)
      [cycle 2277, stage 0]  %max.1/1 = issue @max.1/1(%elementwise.1/1, %max.1/1[-1])
      [cycle 2291, stage 0]  %elementwise.2/1 = issue @elementwise.2/1(%mma.1/1, %max.1/1)
      [cycle 2399, stage 0]  %exp2.1/1 = issue @exp2.1/1(%elementwise.2/1)
      [cycle 3172, stage 0]  %convert.1/1 = issue @convert.1/1(%exp2.1/1)
      [cycle 3300, stage 0]  %reduce_sum.1/1 = issue @reduce_sum.1/1(%exp2.1/1)
    }
    after {
      release @q_tile_4.1 {by = threads, count = 4}
      run 78 "tt.expand_dims"
      run 80 "tt.broadcast"
      run 82 "arith.divf"
      run 84 "arith.truncf"
      run 86 "ttg.convert_layout"
      run 88 "arith.constant"
      run 89 "arith.addi"
      run 90 "tt.descriptor_store"
      run 91 "tt.addptr"
      run 93 "tt.make_range"
      run 94 "tt.splat"
      run 96 "tt.addptr"
      run 98 "math.log2"
      run 100 "arith.addf"
      run 102 "ttg.convert_layout"
      run 104 "tt.store"
    }
  }
}
