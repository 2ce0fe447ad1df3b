pipeline.program @attention_causal {ii = 2527, length = 4933, loop = 35} {
  // Turn t of a group works on iteration t - stage.  From 3 iterations on, every group has turns in which all instructions work.
  // group 1 is unrolled 2 times, for copies of registers: max.1/0 (2), exp2.2/0 (2)
  // group 2 is unrolled 2 times, for copies of registers: max.1/1 (2)
  // groups take turns on TC: the order of the schedule is kept by 4 tokens
  op @tma_load.1 {kind = "tma_load", operations = [37, 38], folded = [36]}
  op @mma.1/0 {kind = "mma", operations = [40], folded = [39]}
  op @mma.1/1 {kind = "mma", operations = [41], folded = [39]}
  op @select.1/0 {kind = "select", operations = [48], folded = [42, 43, 44, 45, 46]}
  op @select.1/1 {kind = "select", operations = [49], folded = [42, 43, 44, 45, 47]}
  op @reduce_max.1/0 {kind = "reduce_max", operations = [50]}
  op @reduce_max.1/1 {kind = "reduce_max", operations = [53]}
  op @elementwise.1/0 {kind = "elementwise", operations = [56]}
  op @elementwise.1/1 {kind = "elementwise", operations = [57]}
  op @max.1/0 {kind = "max", operations = [58]}
  op @max.1/1 {kind = "max", operations = [59]}
  op @elementwise.2/0 {kind = "elementwise", operations = [66, 60], folded = [62, 64]}
  op @elementwise.2/1 {kind = "elementwise", operations = [67, 61], folded = [63, 65]}
  op @exp2.1/0 {kind = "exp2", operations = [68]}
  op @exp2.1/1 {kind = "exp2", operations = [69]}
  op @elementwise.3/0 {kind = "elementwise", operations = [70]}
  op @elementwise.3/1 {kind = "elementwise", operations = [71]}
  op @exp2.2/0 {kind = "exp2", operations = [72]}
  op @exp2.2/1 {kind = "exp2", operations = [73]}
  op @reduce_sum.1/0 {kind = "reduce_sum", operations = [76]}
  op @reduce_sum.1/1 {kind = "reduce_sum", operations = [79]}
  op @elementwise.4/0 {kind = "elementwise", operations = [82, 74]}
  op @elementwise.4/1 {kind = "elementwise", operations = [83, 75]}
  op @elementwise.5/0 {kind = "elementwise", operations = [88], folded = [84, 86]}
  op @elementwise.5/1 {kind = "elementwise", operations = [89], folded = [85, 87]}
  op @tma_load.2 {kind = "tma_load", operations = [90, 91], folded = [36]}
  op @convert.1/0 {kind = "convert", operations = [92]}
  op @convert.1/1 {kind = "convert", operations = [93]}
  op @mma.2/0 {kind = "mma", operations = [96], folded = [94]}
  op @mma.2/1 {kind = "mma", operations = [97], folded = [95]}
  buffer @tma_load.1 {memory = "smem", slots = 3, slot = 32768, offset = 0, parts = [[%tma_load.1, 0, 32768]], empty = {arrivals = 8, parity = 1, offset = 229376}}
  buffer @tma_load.2 {memory = "smem", slots = 3, slot = 32768, offset = 98304, parts = [[%tma_load.2, 0, 32768]], empty = {arrivals = 8, parity = 1, offset = 229400}}
  buffer @q_tile_8.0 {memory = "smem", slots = 1, slot = 16384, offset = 196608, parts = [[%q_tile_8.0, 0, 16384]], empty = {arrivals = 4, parity = 1, offset = 229424}, per = entry}
  buffer @q_tile_8.1 {memory = "smem", slots = 1, slot = 16384, offset = 212992, parts = [[%q_tile_8.1, 0, 16384]], empty = {arrivals = 4, parity = 1, offset = 229432}, per = entry}
  channel @tma_load.1 {values = [%tma_load.1], buffer = @tma_load.1, from = 0, to = [1, 2], full = {arrivals = 1, bytes = 32768, parity = 0, offset = 229440}}
  channel @tma_load.2 {values = [%tma_load.2], buffer = @tma_load.2, from = 0, to = [1, 2], full = {arrivals = 1, bytes = 32768, parity = 0, offset = 229464}}
  channel @q_tile_8.0 {values = [%q_tile_8.0], buffer = @q_tile_8.0, from = 0, to = [1], full = {arrivals = 1, bytes = 16384, parity = 0, offset = 229488}}
  channel @q_tile_8.1 {values = [%q_tile_8.1], buffer = @q_tile_8.1, from = 0, to = [2], full = {arrivals = 1, bytes = 16384, parity = 0, offset = 229496}}
  token @TC.0 {unit = "TC", before = @mma.1/0, after = @mma.1/1, from = 1, to = 2, distance = 0, barrier = 4}
  token @TC.1 {unit = "TC", before = @mma.1/1, after = @mma.2/0, from = 2, to = 1, distance = -1, barrier = 5}
  token @TC.2 {unit = "TC", before = @mma.2/0, after = @mma.2/1, from = 1, to = 2, distance = 0, barrier = 6}
  token @TC.3 {unit = "TC", before = @mma.2/1, after = @mma.1/0, from = 2, to = 1, distance = 2, barrier = 7}
  group 0 "load" {warps = 1, first_warp = 0, grant = 24, stages = 1, unroll = 1} {
    before {
      run 1 "arith.constant"
      run 3 "arith.constant"
      run 8 "tt.get_program_id"
      run 9 "arith.muli"
      run 10 "tt.get_program_id"
      run 11 "arith.muli"
      run 12 "arith.addi"
      acquire @q_tile_8.0
      arrive @q_tile_8.0 {by = bytes, count = 1, bytes = 16384, op = @q_tile_8.0}
      run 22 "tt.descriptor_load"
      run 23 "arith.constant"
      run 24 "arith.addi"
      acquire @q_tile_8.1
      arrive @q_tile_8.1 {by = bytes, count = 1, bytes = 16384, op = @q_tile_8.1}
      run 25 "tt.descriptor_load"
      @q_tile_8.0 = run 26 "ttg.local_alloc" {queue = tma, value = %q_tile_8.0}
      @q_tile_8.1 = run 27 "ttg.local_alloc" {queue = tma, value = %q_tile_8.1}
      run 28 "arith.addi"
    }
    loop {
      [cycle    0, stage 0]  acquire @tma_load.1
      [cycle    0, stage 0]  arrive @tma_load.1 {by = bytes, count = 1, bytes = 32768, op = @tma_load.1}
      [cycle    0, stage 0]  @tma_load.1 = issue @tma_load.1() {queue = tma}
      [cycle 1638, stage 0]  acquire @tma_load.2
      [cycle 1638, stage 0]  arrive @tma_load.2 {by = bytes, count = 1, bytes = 32768, op = @tma_load.2}
      [cycle 1638, stage 0]  @tma_load.2 = issue @tma_load.2() {queue = tma}
    }
  }
  group 1 "compute" {warps = 4, first_warp = 4, grant = 240, stages = 3, unroll = 2} {
    register %mma.1/0 {words = 8192, copies = 1}
    register %select.1/0 {words = 8192, copies = 1}
    register %reduce_max.1/0 {words = 64, copies = 1}
    register %elementwise.1/0 {words = 64, copies = 1}
    register %max.1/0 {words = 64, copies = 2}
    register %elementwise.2/0 {words = 8192, copies = 1}
    register %exp2.1/0 {words = 8192, copies = 1}
    register %elementwise.3/0 {words = 64, copies = 1}
    register %exp2.2/0 {words = 64, copies = 2}
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
      run 7 "arith.constant"
      run 8 "tt.get_program_id"
      run 9 "arith.muli"
      run 10 "tt.get_program_id"
      run 11 "arith.muli"
      run 12 "arith.addi"
      run 13 "tt.make_range"
      run 15 "tt.make_range"
      run 16 "tt.make_range"
      run 18 "tt.splat"
      run 19 "arith.addi"
      run 21 "arith.mulf"
      run 28 "arith.addi"
      run 29 "tt.expand_dims"
      run 31 "tt.broadcast"
      run 33 "tt.splat"
      run 34 "tt.splat"
      wait @q_tile_8.0
    }
    loop {
      [cycle    0, stage 0]  wait @tma_load.1
      [cycle 5054, stage 2]  take @TC.3
      [cycle    0, stage 0]  %mma.1/0 = issue @mma.1/0(@tma_load.1) {queue = wgmma}
      [cycle    0, stage 0]  pass @TC.0
      [cycle  571, stage 0]  await @mma.1/0 {queue = wgmma, pending = 0}
      [cycle  571, stage 0]  release @tma_load.1 {by = threads, count = 4}
      [cycle  571, stage 0]  %select.1/0 = issue @select.1/0(%mma.1/0)
      [cycle  839, stage 0]  %reduce_max.1/0 = issue @reduce_max.1/0(%select.1/0)
      [cycle 3623, stage 1]  wait @tma_load.2
      [cycle 1096, stage 0]  take @TC.1
      [cycle 3623, stage 1]  %mma.2/0 = issue @mma.2/0(%elementwise.5/0, @tma_load.2, %convert.1/0) {queue = wgmma}
      [cycle 3623, stage 1]  pass @TC.2
      [cycle 1247, stage 0]  %elementwise.1/0 = issue @elementwise.1/0(%reduce_max.1/0)
      [cycle 1260, stage 0]  %max.1/0 = issue @max.1/0(%elementwise.1/0, %max.1/0[-1])
      [cycle 1274, stage 0]  %elementwise.2/0 = issue @elementwise.2/0(%select.1/0, %max.1/0)
      [cycle 1382, stage 0]  %exp2.1/0 = issue @exp2.1/0(%elementwise.2/0)
      [cycle 4224, stage 1]  await @mma.2/0 {queue = wgmma, pending = 0}
      [cycle 4224, stage 1]  release @tma_load.2 {by = threads, count = 4}
      [cycle 2063, stage 0]  %elementwise.3/0 = issue @elementwise.3/0(%max.1/0, %max.1/0[-1])
      [cycle 2076, stage 0]  %exp2.2/0 = issue @exp2.2/0(%elementwise.3/0)
      [cycle 2170, stage 0]  %elementwise.5/0 = issue @elementwise.5/0(%exp2.2/0, %mma.2/0[-1])
      [cycle 2266, stage 0]  %convert.1/0 = issue @convert.1/0(%exp2.1/0)
      [cycle 4921, stage 1]  %elementwise.4/0 = issue @elementwise.4/0(%exp2.2/0, %reduce_sum.1/0, %elementwise.4/0[-1])
      [cycle 2395, stage 0]  %reduce_sum.1/0 = issue @reduce_sum.1/0(%exp2.1/0)
    }
    after {
      release @q_tile_8.0 {by = threads, count = 4}
      run 99 "tt.expand_dims"
      run 101 "tt.broadcast"
      run 103 "arith.divf"
      run 105 "arith.truncf"
      run 107 "ttg.convert_layout"
      run 109 "tt.descriptor_store"
      run 113 "tt.addptr"
      run 114 "tt.splat"
      run 115 "tt.addptr"
      run 117 "math.log2"
      run 119 "arith.addf"
      run 121 "ttg.convert_layout"
      run 123 "tt.store"
    }
  }
  group 2 "compute" {warps = 4, first_warp = 8, grant = 240, stages = 2, unroll = 2} {
    register %mma.1/1 {words = 8192, copies = 1}
    register %select.1/1 {words = 8192, copies = 1}
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
      run 7 "arith.constant"
      run 8 "tt.get_program_id"
      run 9 "arith.muli"
      run 10 "tt.get_program_id"
      run 11 "arith.muli"
      run 12 "arith.addi"
      run 14 "tt.make_range"
      run 15 "tt.make_range"
      run 17 "tt.make_range"
      run 18 "tt.splat"
      run 20 "arith.addi"
      run 21 "arith.mulf"
      run 28 "arith.addi"
      run 30 "tt.expand_dims"
      run 32 "tt.broadcast"
      run 33 "tt.splat"
      run 34 "tt.splat"
      wait @q_tile_8.1
    }
    loop {
      [cycle  571, stage 0]  wait @tma_load.1
      [cycle  571, stage 0]  take @TC.0
      [cycle  571, stage 0]  %mma.1/1 = issue @mma.1/1(@tma_load.1) {queue = wgmma}
      [cycle  571, stage 0]  pass @TC.1
      [cycle 3622, stage 1]  %elementwise.4/1 = issue @elementwise.4/1(%exp2.2/1, %reduce_sum.1/1, %elementwise.4/1[-1])
      [cycle 3623, stage 1]  %elementwise.5/1 = issue @elementwise.5/1(%exp2.2/1, %mma.2/1[-1])
      [cycle 1370, stage 0]  await @mma.1/1 {queue = wgmma, pending = 0}
      [cycle 1370, stage 0]  release @tma_load.1 {by = threads, count = 4}
      [cycle 1370, stage 0]  %select.1/1 = issue @select.1/1(%mma.1/1)
      [cycle 1638, stage 0]  %reduce_max.1/1 = issue @reduce_max.1/1(%select.1/1)
      [cycle 4421, stage 1]  wait @tma_load.2
      [cycle 4421, stage 1]  take @TC.2
      [cycle 4421, stage 1]  %mma.2/1 = issue @mma.2/1(%elementwise.5/1, @tma_load.2, %convert.1/1) {queue = wgmma}
      [cycle 4421, stage 1]  pass @TC.3
      [cycle 2046, stage 0]  %elementwise.1/1 = issue @elementwise.1/1(%reduce_max.1/1)
      [cycle 2059, stage 0]  %max.1/1 = issue @max.1/1(%elementwise.1/1, %max.1/1[-1])
      [cycle 2073, stage 0]  %elementwise.2/1 = issue @elementwise.2/1(%select.1/1, %max.1/1)
      [cycle 2169, stage 0]  %elementwise.3/1 = issue @elementwise.3/1(%max.1/1, %max.1/1[-1])
      [cycle 2181, stage 0]  %exp2.1/1 = issue @exp2.1/1(%elementwise.2/1)
      [cycle 5022, stage 1]  await @mma.2/1 {queue = wgmma, pending = 0}
      [cycle 5022, stage 1]  release @tma_load.2 {by = threads, count = 4}
      [cycle 2862, stage 0]  %exp2.2/1 = issue @exp2.2/1(%elementwise.3/1)
      [cycle 2874, stage 0]  %reduce_sum.1/1 = issue @reduce_sum.1/1(%exp2.1/1)
      [cycle 2970, stage 0]  %convert.1/1 = issue @convert.1/1(%exp2.1/1)
    }
    after {
      release @q_tile_8.1 {by = threads, count = 4}
      run 100 "tt.expand_dims"
      run 102 "tt.broadcast"
      run 104 "arith.divf"
      run 106 "arith.truncf"
      run 108 "ttg.convert_layout"
      run 110 "arith.constant"
      run 111 "arith.addi"
      run 112 "tt.descriptor_store"
      run 113 "tt.addptr"
      run 114 "tt.splat"
      run 116 "tt.addptr"
      run 118 "math.log2"
      run 120 "arith.addf"
      run 122 "ttg.convert_layout"
      run 124 "tt.store"
    }
  }
}
