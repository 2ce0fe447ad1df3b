pipeline.program @gemm {ii = 716, length = 870} {
  // Turn t of a group works on iteration t - stage.  From 2 iterations on, every group has turns in which all instructions work.
  op @tma_load.1 {kind = "tma_load"}
  op @tma_load.2 {kind = "tma_load"}
  op @mma.1 {kind = "mma"}
  buffer @tma_load.1 {memory = "smem", slots = 4, slot = 16384, offset = 0, parts = [[%tma_load.1, 0, 16384]], empty = {arrivals = 4, parity = 1, offset = 131072}}
  buffer @tma_load.2 {memory = "smem", slots = 4, slot = 16384, offset = 65536, parts = [[%tma_load.2, 0, 16384]], empty = {arrivals = 4, parity = 1, offset = 131104}}
  channel @tma_load.1 {values = [%tma_load.1], buffer = @tma_load.1, from = 0, to = [1], full = {arrivals = 1, bytes = 16384, parity = 0, offset = 131136}}
  channel @tma_load.2 {values = [%tma_load.2], buffer = @tma_load.2, from = 0, to = [1], full = {arrivals = 1, bytes = 16384, parity = 0, offset = 131168}}
  group 0 "load" {warps = 1, first_warp = 0, grant = 24, stages = 1, unroll = 1} {
    loop {
      [cycle   0, stage 0]  acquire @tma_load.1
      [cycle   0, stage 0]  arrive @tma_load.1 {by = bytes, count = 1, bytes = 16384, op = @tma_load.1}
      [cycle   0, stage 0]  @tma_load.1 = issue @tma_load.1() {queue = tma}
      [cycle 358, stage 0]  acquire @tma_load.2
      [cycle 358, stage 0]  arrive @tma_load.2 {by = bytes, count = 1, bytes = 16384, op = @tma_load.2}
      [cycle 358, stage 0]  @tma_load.2 = issue @tma_load.2() {queue = tma}
    }
  }
  group 1 "mma" {warps = 4, first_warp = 4, grant = 240, stages = 2, unroll = 1} {
    register %mma.1 {words = 16384, copies = 1}
    loop {
      [cycle  358, stage 0]  wait @tma_load.1
      [cycle  358, stage 0]  wait @tma_load.2
      [cycle  358, stage 0]  %mma.1 = issue @mma.1(@tma_load.1, @tma_load.2, %mma.1[-1]) {queue = wgmma}
      [cycle 1074, stage 1]  await @mma.1 {queue = wgmma, pending = 1}
      [cycle 1074, stage 1]  release @tma_load.1 {by = threads, count = 4}
      [cycle 1074, stage 1]  release @tma_load.2 {by = threads, count = 4}
    }
  }
}
