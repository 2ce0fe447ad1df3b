pipeline.program @attention_fwd {ii = 2048, length = 4096} {
  // Turn t of a group works on iteration t - stage.  From 3 iterations on, every group has turns in which all instructions work.
  // group 1 is unrolled 2 times, for copies of registers: max.1/0 (2)
  // group 2 is unrolled 2 times, for copies of registers: max.1/1 (2)
  // groups take turns on TC: the order of the schedule is kept by 2 tokens
  op @tma_load.1 {kind = "tma_load"}
  op @mma.1/0 {kind = "mma"}
  op @mma.1/1 {kind = "mma"}
  op @reduce_max.1/0 {kind = "reduce_max"}
  op @reduce_max.1/1 {kind = "reduce_max"}
  op @elementwise.1/0 {kind = "elementwise"}
  op @elementwise.1/1 {kind = "elementwise"}
  op @max.1/0 {kind = "max"}
  op @max.1/1 {kind = "max"}
  op @elementwise.2/0 {kind = "elementwise"}
  op @elementwise.2/1 {kind = "elementwise"}
  op @exp2.1/0 {kind = "exp2"}
  op @exp2.1/1 {kind = "exp2"}
  op @elementwise.3/0 {kind = "elementwise"}
  op @elementwise.3/1 {kind = "elementwise"}
  op @exp2.2/0 {kind = "exp2"}
  op @exp2.2/1 {kind = "exp2"}
  op @reduce_sum.1/0 {kind = "reduce_sum"}
  op @reduce_sum.1/1 {kind = "reduce_sum"}
  op @elementwise.4/0 {kind = "elementwise"}
  op @elementwise.4/1 {kind = "elementwise"}
  op @elementwise.5/0 {kind = "elementwise"}
  op @elementwise.5/1 {kind = "elementwise"}
  op @tma_load.2 {kind = "tma_load"}
  op @convert.1/0 {kind = "convert"}
  op @convert.1/1 {kind = "convert"}
  op @mma.2/0 {kind = "mma"}
  op @mma.2/1 {kind = "mma"}
  buffer @tma_load.1 {memory = "smem", slots = 3, slot = 32768, offset = 0, parts = [[%tma_load.1, 0, 32768]], empty = {arrivals = 8, parity = 1, offset = 196608}}
  buffer @tma_load.2 {memory = "smem", slots = 3, slot = 32768, offset = 98304, parts = [[%tma_load.2, 0, 32768]], empty = {arrivals = 8, parity = 1, offset = 196632}}
  channel @tma_load.1 {values = [%tma_load.1], buffer = @tma_load.1, from = 0, to = [1, 2], full = {arrivals = 1, bytes = 32768, parity = 0, offset = 196656}}
  channel @tma_load.2 {values = [%tma_load.2], buffer = @tma_load.2, from = 0, to = [1, 2], full = {arrivals = 1, bytes = 32768, parity = 0, offset = 196680}}
  token @TC.0 {unit = "TC", before = @mma.2/0, after = @mma.1/1, from = 1, to = 2, distance = 1, barrier = 4}
  token @TC.1 {unit = "TC", before = @mma.2/1, after = @mma.1/0, from = 2, to = 1, distance = 2, barrier = 5}
  group 0 "load" {warps = 1, first_warp = 0, grant = 24, stages = 1, unroll = 1} {
    loop {
      [cycle    0, stage 0]  acquire @tma_load.1
      [cycle    0, stage 0]  arrive @tma_load.1 {by = bytes, count = 1, bytes = 32768, op = @tma_load.1}
      [cycle    0, stage 0]  @tma_load.1 = issue @tma_load.1() {queue = tma}
      [cycle 1332, stage 0]  acquire @tma_load.2
      [cycle 1332, stage 0]  arrive @tma_load.2 {by = bytes, count = 1, bytes = 32768, op = @tma_load.2}
      [cycle 1332, stage 0]  @tma_load.2 = issue @tma_load.2() {queue = tma}
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
    loop {
      [cycle    0, stage 0]  wait @tma_load.1
      [cycle 4096, stage 2]  take @TC.1
      [cycle    0, stage 0]  %mma.1/0 = issue @mma.1/0(@tma_load.1) {queue = wgmma}
      [cycle 4096, stage 2]  await @mma.2/0 {queue = wgmma, pending = 1}
      [cycle 4096, stage 2]  release @tma_load.2 {by = threads, count = 4}
      [cycle 2324, stage 1]  %convert.1/0 = issue @convert.1/0(%exp2.1/0)
      [cycle 2452, stage 1]  %elementwise.5/0 = issue @elementwise.5/0(%exp2.2/0, %mma.2/0[-1])
      [cycle 2560, stage 1]  wait @tma_load.2
      [cycle 2560, stage 1]  %mma.2/0 = issue @mma.2/0(%elementwise.5/0, @tma_load.2, %convert.1/0) {queue = wgmma}
      [cycle 2560, stage 1]  pass @TC.0
      [cycle  671, stage 0]  await @mma.1/0 {queue = wgmma, pending = 1}
      [cycle  671, stage 0]  release @tma_load.1 {by = threads, count = 4}
      [cycle  671, stage 0]  %reduce_max.1/0 = issue @reduce_max.1/0(%mma.1/0)
      [cycle 2975, stage 1]  %elementwise.4/0 = issue @elementwise.4/0(%exp2.2/0, %reduce_sum.1/0, %elementwise.4/0[-1])
      [cycle 1117, stage 0]  %elementwise.1/0 = issue @elementwise.1/0(%reduce_max.1/0)
      [cycle 1130, stage 0]  %max.1/0 = issue @max.1/0(%elementwise.1/0, %max.1/0[-1])
      [cycle 1144, stage 0]  %elementwise.3/0 = issue @elementwise.3/0(%max.1/0, %max.1/0[-1])
      [cycle 1145, stage 0]  %elementwise.2/0 = issue @elementwise.2/0(%mma.1/0, %max.1/0)
      [cycle 1253, stage 0]  %exp2.1/0 = issue @exp2.1/0(%elementwise.2/0)
      [cycle 1946, stage 0]  %reduce_sum.1/0 = issue @reduce_sum.1/0(%exp2.1/0)
      [cycle 2042, stage 0]  %exp2.2/0 = issue @exp2.2/0(%elementwise.3/0)
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
    loop {
      [cycle 1024, stage 0]  wait @tma_load.1
      [cycle 3072, stage 1]  take @TC.0
      [cycle 1024, stage 0]  %mma.1/1 = issue @mma.1/1(@tma_load.1) {queue = wgmma}
      [cycle 3348, stage 1]  %reduce_sum.1/1 = issue @reduce_sum.1/1(%exp2.1/1)
      [cycle 3444, stage 1]  %convert.1/1 = issue @convert.1/1(%exp2.1/1)
      [cycle 3584, stage 1]  wait @tma_load.2
      [cycle 3584, stage 1]  %mma.2/1 = issue @mma.2/1(%elementwise.5/1, @tma_load.2, %convert.1/1) {queue = wgmma}
      [cycle 3584, stage 1]  pass @TC.1
      [cycle 1690, stage 0]  await @mma.1/1 {queue = wgmma, pending = 1}
      [cycle 1690, stage 0]  release @tma_load.1 {by = threads, count = 4}
      [cycle 1690, stage 0]  %reduce_max.1/1 = issue @reduce_max.1/1(%mma.1/1)
      [cycle 4095, stage 1]  %elementwise.4/1 = issue @elementwise.4/1(%exp2.2/1, %reduce_sum.1/1, %elementwise.4/1[-1])
      [cycle 4185, stage 1]  await @mma.2/1 {queue = wgmma, pending = 0}
      [cycle 4185, stage 1]  release @tma_load.2 {by = threads, count = 4}
      [cycle 2141, stage 0]  %elementwise.1/1 = issue @elementwise.1/1(%reduce_max.1/1)
      [cycle 2154, stage 0]  %max.1/1 = issue @max.1/1(%elementwise.1/1, %max.1/1[-1])
      [cycle 2168, stage 0]  %elementwise.3/1 = issue @elementwise.3/1(%max.1/1, %max.1/1[-1])
      [cycle 2181, stage 0]  %exp2.2/1 = issue @exp2.2/1(%elementwise.3/1)
      [cycle 2187, stage 0]  %elementwise.2/1 = issue @elementwise.2/1(%mma.1/1, %max.1/1)
      [cycle 2295, stage 0]  %exp2.1/1 = issue @exp2.1/1(%elementwise.2/1)
      [cycle 2976, stage 0]  %elementwise.5/1 = issue @elementwise.5/1(%exp2.2/1, %mma.2/1[-1])
    }
  }
}
