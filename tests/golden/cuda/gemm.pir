pipeline.program @gemm {ii = 716, length = 870, loop = 9} {
  // Turn t of a group works on iteration t - stage.  Every turn of every group is complete.
  op @tma_load.1 {kind = "tma_load", operations = [10, 11]}
  op @tma_load.2 {kind = "tma_load", operations = [12, 13]}
  op @mma.1 {kind = "mma", operations = [14]}
  buffer @tma_load.1 {memory = "smem", slots = 2, slot = 16384, offset = 0, parts = [[%tma_load.1, 0, 16384]], empty = {arrivals = 4, parity = 1, offset = 65536}}
  buffer @tma_load.2 {memory = "smem", slots = 2, slot = 16384, offset = 32768, parts = [[%tma_load.2, 0, 16384]], empty = {arrivals = 4, parity = 1, offset = 65552}}
  channel @tma_load.1 {values = [%tma_load.1], buffer = @tma_load.1, from = 0, to = [1], full = {arrivals = 1, bytes = 16384, parity = 0, offset = 65568}}
  channel @tma_load.2 {values = [%tma_load.2], buffer = @tma_load.2, from = 0, to = [1], full = {arrivals = 1, bytes = 16384, parity = 0, offset = 65584}}
  group 0 "load" {warps = 1, first_warp = 0, grant = 24, stages = 1, unroll = 1} {
    before {
      run 1 "arith.constant"
      run 2 "arith.constant"
      run 3 "arith.constant"
      run 5 "tt.get_program_id"
      run 6 "arith.muli"
      run 7 "tt.get_program_id"
      run 8 "arith.muli"
    }
    loop {
      [cycle   0, stage 0]  acquire @tma_load.1
      [cycle   0, stage 0]  arrive @tma_load.1 {by = bytes, count = 1, bytes = 16384, op = @tma_load.1}
      [cycle   0, stage 0]  @tma_load.1 = issue @tma_load.1() {queue = tma}
      [cycle 358, stage 0]  acquire @tma_load.2
      [cycle 358, stage 0]  arrive @tma_load.2 {by = bytes, count = 1, bytes = 16384, op = @tma_load.2}
      [cycle 358, stage 0]  @tma_load.2 = issue @tma_load.2() {queue = tma}
    }
  }
  group 1 "mma" {warps = 4, first_warp = 4, grant = 240, stages = 1, unroll = 1} {
    register %mma.1 {words = 16384, copies = 1}
    before {
      run 1 "arith.constant"
      run 2 "arith.constant"
      run 3 "arith.constant"
      run 4 "arith.constant"
      run 5 "tt.get_program_id"
      run 6 "arith.muli"
      run 7 "tt.get_program_id"
      run 8 "arith.muli"
    }
    loop {
      [cycle 358, stage 0]  wait @tma_load.1
      [cycle 358, stage 0]  wait @tma_load.2
      [cycle 358, stage 0]  %mma.1 = issue @mma.1(@tma_load.1, @tma_load.2, %mma.1[-1]) {queue = wgmma}
      [cycle 870, stage 0]  await @mma.1 {queue = wgmma, pending = 0}
      [cycle 870, stage 0]  release @tma_load.1 {by = threads, count = 4}
      [cycle 870, stage 0]  release @tma_load.2 {by = threads, count = 4}
    }
    after {
      run 16 "arith.truncf"
      run 17 "ttg.convert_layout"
      run 18 "tt.descriptor_store"
    }
  }
}
