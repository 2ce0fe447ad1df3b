pipeline.program @gemm {ii = 256, length = 352, loop = 13} {
  // Turn t of a group works on iteration t - stage.  Every turn of every group is complete.
  // group 2, 4 warps, only executes code around the loop: no other is wide enough
  op @tma_load.1 {kind = "tma_load", operations = [14, 15]}
  op @tma_load.2 {kind = "tma_load", operations = [16, 17]}
  op @mma.1 {kind = "mma", operations = [18]}
  buffer @tma_load.1 {memory = "smem", slots = 6, slot = 16384, offset = 0, parts = [[%tma_load.1, 0, 16384]], empty = {arrivals = 1, parity = 1, offset = 196608}}
  buffer @tma_load.2 {memory = "smem", slots = 6, slot = 16384, offset = 98304, parts = [[%tma_load.2, 0, 16384]], empty = {arrivals = 1, parity = 1, offset = 196656}}
  buffer @mma.1 {memory = "tmem", slots = 1, slot = 128, offset = 0, parts = [[%mma.1, 0, 128]], initial = 1}
  buffer @mma.1.begin {memory = "", slots = 1, slot = 0, offset = 0, parts = [], per = entry}
  buffer @mma.1.end {memory = "", slots = 1, slot = 0, offset = 0, parts = [], per = entry}
  channel @tma_load.1 {values = [%tma_load.1], buffer = @tma_load.1, from = 0, to = [1], full = {arrivals = 1, bytes = 16384, parity = 0, offset = 196704}}
  channel @tma_load.2 {values = [%tma_load.2], buffer = @tma_load.2, from = 0, to = [1], full = {arrivals = 1, bytes = 16384, parity = 0, offset = 196752}}
  channel @mma.1.begin {values = [%mma.1], buffer = @mma.1.begin, from = 2, to = [1], full = {arrivals = 4, parity = 0, offset = 196800}}
  channel @mma.1.end {values = [%mma.1], buffer = @mma.1.end, from = 1, to = [2], full = {arrivals = 1, parity = 0, offset = 196808}}
  group 0 "load" {warps = 1, first_warp = 0, grant = 24, stages = 1, unroll = 1} {
    before {
      run 3 "arith.constant"
      run 4 "arith.constant"
      run 5 "arith.constant"
      run 7 "tt.get_program_id"
      run 8 "arith.muli"
      run 9 "tt.get_program_id"
      run 10 "arith.muli"
    }
    loop {
      [cycle  0, stage 0]  acquire @tma_load.1
      [cycle  0, stage 0]  arrive @tma_load.1 {by = bytes, count = 1, bytes = 16384, op = @tma_load.1}
      [cycle  0, stage 0]  @tma_load.1 = issue @tma_load.1() {queue = tma}
      [cycle 96, stage 0]  acquire @tma_load.2
      [cycle 96, stage 0]  arrive @tma_load.2 {by = bytes, count = 1, bytes = 16384, op = @tma_load.2}
      [cycle 96, stage 0]  @tma_load.2 = issue @tma_load.2() {queue = tma}
    }
  }
  group 1 "mma" {warps = 1, first_warp = 1, grant = 24, stages = 1, unroll = 1} {
    before {
      run 1 "arith.constant"
      run 2 "arith.constant"
      run 4 "arith.constant"
      run 5 "arith.constant"
      wait @mma.1.begin
    }
    loop {
      [cycle 96, stage 0]  wait @tma_load.1
      [cycle 96, stage 0]  wait @tma_load.2
      [cycle 96, stage 0]  @mma.1 = issue @mma.1(@tma_load.1, @tma_load.2, @mma.1[-1]) {queue = tensor}
      [cycle 96, stage 0]  release @tma_load.1 {by = commit, count = 1}
      [cycle 96, stage 0]  release @tma_load.2 {by = commit, count = 1}
    }
    after {
      arrive @mma.1.end {by = commit, count = 1, op = @mma.1}
    }
  }
  group 2 "around" {warps = 4, first_warp = 4, grant = 240, stages = 1, unroll = 1} {
    before {
      run 2 "arith.constant"
      run 3 "arith.constant"
      run 4 "arith.constant"
      run 5 "arith.constant"
      run 6 "arith.constant"
      run 7 "tt.get_program_id"
      run 8 "arith.muli"
      run 9 "tt.get_program_id"
      run 10 "arith.muli"
      @mma.1 = run 12 "ttng.tmem_store" {value = %mma.1}
      arrive @mma.1.begin {by = threads, count = 4}
    }
    after {
      wait @mma.1.end
      run 20 "ttng.tmem_load"(@mma.1)
      run 21 "arith.truncf"
      run 22 "ttg.convert_layout"
      run 23 "tt.descriptor_store"
    }
  }
}
