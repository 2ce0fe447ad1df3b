pipeline.program @attention_bwd_dq {ii = 1004, length = 2776} {
  // Turn t of a group works on iteration t - stage.  From 3 iterations on, every group has turns in which all instructions work.
  op @tma_load.1 {kind = "tma_load"}
  op @tma_load.2 {kind = "tma_load"}
  op @mma.1 {kind = "mma"}
  op @tmem_load.1 {kind = "tmem_load"}
  op @elementwise.1 {kind = "elementwise"}
  op @exp2.1 {kind = "exp2"}
  op @mma.2 {kind = "mma"}
  op @tmem_load.2 {kind = "tmem_load"}
  op @elementwise.2 {kind = "elementwise"}
  op @elementwise.3 {kind = "elementwise"}
  op @convert.1 {kind = "convert"}
  op @tmem_store.1 {kind = "tmem_store"}
  op @mma.3 {kind = "mma"}
  buffer @tma_load.1 {memory = "smem", slots = 6, slot = 16384, offset = 0, parts = [[%tma_load.1, 0, 16384]], empty = {arrivals = 1, parity = 1, offset = 147456}}
  buffer @tma_load.2 {memory = "smem", slots = 3, slot = 16384, offset = 98304, parts = [[%tma_load.2, 0, 16384]], empty = {arrivals = 1, parity = 1, offset = 147504}}
  buffer @mma.1 {memory = "tmem", slots = 2, slot = 64, offset = 0, parts = [[%mma.1, 0, 64]], empty = {arrivals = 8, parity = 1, offset = 147528}}
  buffer @mma.2 {memory = "tmem", slots = 2, slot = 64, offset = 128, parts = [[%mma.2, 0, 64]], empty = {arrivals = 8, parity = 1, offset = 147544}}
  buffer @tmem_store.1 {memory = "tmem", slots = 1, slot = 32, offset = 256, parts = [[%tmem_store.1, 0, 32]], empty = {arrivals = 1, parity = 1, offset = 147560}}
  buffer @mma.3 {memory = "tmem", slots = 1, slot = 128, offset = 288, parts = [[%mma.3, 0, 128]]}
  channel @tma_load.1 {values = [%tma_load.1], buffer = @tma_load.1, from = 0, to = [1], full = {arrivals = 1, bytes = 16384, parity = 0, offset = 147568}}
  channel @tma_load.2 {values = [%tma_load.2], buffer = @tma_load.2, from = 0, to = [1], full = {arrivals = 1, bytes = 16384, parity = 0, offset = 147616}}
  channel @mma.1 {values = [%mma.1], buffer = @mma.1, from = 1, to = [2], full = {arrivals = 1, parity = 0, offset = 147640}}
  channel @mma.2 {values = [%mma.2], buffer = @mma.2, from = 1, to = [2], full = {arrivals = 1, parity = 0, offset = 147656}}
  channel @tmem_store.1 {values = [%tmem_store.1], buffer = @tmem_store.1, from = 2, to = [1], full = {arrivals = 8, parity = 0, offset = 147672}}
  group 0 "load" {warps = 1, first_warp = 0, grant = 24, stages = 1, unroll = 1} {
    loop {
      [cycle   0, stage 0]  acquire @tma_load.1
      [cycle   0, stage 0]  arrive @tma_load.1 {by = bytes, count = 1, bytes = 16384, op = @tma_load.1}
      [cycle   0, stage 0]  @tma_load.1 = issue @tma_load.1() {queue = tma}
      [cycle 192, stage 0]  acquire @tma_load.2
      [cycle 192, stage 0]  arrive @tma_load.2 {by = bytes, count = 1, bytes = 16384, op = @tma_load.2}
      [cycle 192, stage 0]  @tma_load.2 = issue @tma_load.2() {queue = tma}
    }
  }
  group 1 "mma" {warps = 1, first_warp = 1, grant = 24, stages = 3, unroll = 1} {
    loop {
      [cycle    0, stage 0]  acquire @mma.1
      [cycle    0, stage 0]  wait @tma_load.1
      [cycle    0, stage 0]  @mma.1 = issue @mma.1(@tma_load.1) {queue = tensor}
      [cycle    0, stage 0]  arrive @mma.1 {by = commit, count = 1, op = @mma.1}
      [cycle  256, stage 0]  acquire @mma.2
      [cycle  256, stage 0]  wait @tma_load.2
      [cycle  256, stage 0]  @mma.2 = issue @mma.2(@tma_load.2) {queue = tensor}
      [cycle  256, stage 0]  arrive @mma.2 {by = commit, count = 1, op = @mma.2}
      [cycle  256, stage 0]  release @tma_load.2 {by = commit, count = 1}
      [cycle 2520, stage 2]  wait @tmem_store.1
      [cycle 2520, stage 2]  @mma.3 = issue @mma.3(@tma_load.1, @tmem_store.1, @mma.3[-1]) {queue = tensor}
      [cycle 2520, stage 2]  release @tma_load.1 {by = commit, count = 1}
      [cycle 2520, stage 2]  release @tmem_store.1 {by = commit, count = 1}
    }
  }
  group 2 "compute" {warps = 8, first_warp = 4, grant = 240, stages = 2, unroll = 1} {
    register %tmem_load.1 {words = 8192, copies = 1}
    register %elementwise.1 {words = 8192, copies = 1}
    register %exp2.1 {words = 8192, copies = 1}
    register %tmem_load.2 {words = 8192, copies = 1}
    register %elementwise.2 {words = 8192, copies = 1}
    register %elementwise.3 {words = 8192, copies = 1}
    register %convert.1 {words = 4096, copies = 1}
    loop {
      [cycle 1068, stage 0]  wait @mma.1
      [cycle 1068, stage 0]  %tmem_load.1 = issue @tmem_load.1(@mma.1)
      [cycle 1068, stage 0]  release @mma.1 {by = threads, count = 8}
      [cycle 2200, stage 1]  %elementwise.3 = issue @elementwise.3(%exp2.1, %elementwise.2)
      [cycle 1260, stage 0]  wait @mma.2
      [cycle 1260, stage 0]  %tmem_load.2 = issue @tmem_load.2(@mma.2)
      [cycle 1260, stage 0]  release @mma.2 {by = threads, count = 8}
      [cycle 2392, stage 1]  %convert.1 = issue @convert.1(%elementwise.3)
      [cycle 1420, stage 0]  %elementwise.1 = issue @elementwise.1(%tmem_load.1)
      [cycle 2488, stage 1]  acquire @tmem_store.1
      [cycle 2488, stage 1]  @tmem_store.1 = issue @tmem_store.1(%convert.1)
      [cycle 2488, stage 1]  arrive @tmem_store.1 {by = threads, count = 8}
      [cycle 1496, stage 0]  %exp2.1 = issue @exp2.1(%elementwise.1)
      [cycle 2008, stage 0]  %elementwise.2 = issue @elementwise.2(%tmem_load.2)
    }
  }
}
