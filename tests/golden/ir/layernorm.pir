pipeline.program @layernorm {ii = 316, length = 892} {
  // Turn t of a group works on iteration t - stage.  From 3 iterations on, every group has turns in which all instructions work.
  // global_load.2 reaches other groups through 1 x 2,048 bytes of shared memory
  // group 1 is unrolled 2 times, for copies of registers: global_load.1 (2), global_load.3 (2)
  op @global_load.1 {kind = "global_load"}
  op @convert.1 {kind = "convert"}
  op @global_load.2 {kind = "global_load"}
  op @convert.2 {kind = "convert"}
  op @global_load.3 {kind = "global_load"}
  op @convert.3 {kind = "convert"}
  op @elementwise.1 {kind = "elementwise"}
  op @elementwise.2 {kind = "elementwise"}
  op @elementwise.3 {kind = "elementwise"}
  op @convert.4 {kind = "convert"}
  op @layout_change.1 {kind = "layout_change"}
  op @global_store.1 {kind = "global_store"}
  buffer @global_load.2 {memory = "smem", slots = 1, slot = 2048, offset = 0, parts = [[%global_load.2, 0, 2048]], empty = {arrivals = 4, parity = 1, offset = 2048}}
  channel @global_load.2 {values = [%global_load.2], buffer = @global_load.2, from = 2, to = [1], full = {arrivals = 4, parity = 0, offset = 2056}}
  group 1 "compute" {warps = 4, first_warp = 0, grant = 240, stages = 3, unroll = 2} {
    register %global_load.1 {words = 512, copies = 2}
    register %convert.1 {words = 1024, copies = 1}
    register %global_load.2 {words = 512, copies = 1}
    register %convert.2 {words = 1024, copies = 1}
    register %global_load.3 {words = 512, copies = 2}
    register %convert.3 {words = 1024, copies = 1}
    register %elementwise.1 {words = 1024, copies = 1}
    register %elementwise.2 {words = 1024, copies = 1}
    register %elementwise.3 {words = 1024, copies = 1}
    register %convert.4 {words = 512, copies = 1}
    register %layout_change.1 {words = 512, copies = 1}
    loop {
      [cycle   0, stage 0]  %global_load.1 = issue @global_load.1() {queue = load}
      [cycle 643, stage 2]  %convert.4 = issue @convert.4(%elementwise.3)
      [cycle 688, stage 2]  %layout_change.1 = issue @layout_change.1(%convert.4)
      [cycle 776, stage 2]  issue @global_store.1(%layout_change.1)
      [cycle 535, stage 1]  await @global_load.1 {queue = load, pending = 0}
      [cycle 535, stage 1]  %convert.1 = issue @convert.1(%global_load.1)
      [cycle 551, stage 1]  wait @global_load.2
      [cycle 551, stage 1]  %global_load.2 = receive @global_load.2
      [cycle 551, stage 1]  release @global_load.2 {by = threads, count = 4}
      [cycle 551, stage 1]  %convert.2 = issue @convert.2(%global_load.2)
      [cycle 567, stage 1]  %elementwise.1 = issue @elementwise.1(%convert.1)
      [cycle 260, stage 0]  %global_load.3 = issue @global_load.3() {queue = load}
      [cycle 587, stage 1]  %elementwise.2 = issue @elementwise.2(%elementwise.1)
      [cycle 595, stage 1]  await @global_load.3 {queue = load, pending = 0}
      [cycle 595, stage 1]  %convert.3 = issue @convert.3(%global_load.3)
      [cycle 623, stage 1]  %elementwise.3 = issue @elementwise.3(%convert.2, %convert.3, %elementwise.2)
    }
  }
  group 2 "compute" {warps = 4, first_warp = 4, grant = 240, stages = 1, unroll = 1} {
    register %global_load.2 {words = 512, copies = 1}
    loop {
      [cycle  88, stage 0]  %global_load.2 = issue @global_load.2() {queue = load}
      [cycle 390, stage 0]  await @global_load.2 {queue = load, pending = 0}
      [cycle 390, stage 0]  acquire @global_load.2
      [cycle 390, stage 0]  send %global_load.2 to @global_load.2
      [cycle 390, stage 0]  arrive @global_load.2 {by = threads, count = 4}
    }
  }
}
