pipeline.program @softmax {ii = 259, length = 1510, loop = 7} {
  // Turn t of a group works on iteration t - stage.  From 6 iterations on, every group has turns in which all instructions work.
  // group 1 is unrolled 2 times, for copies of registers: global_load.1 (2), convert.1 (2), exp.1 (2), reduce_sum.1 (2)
  op @global_load.1 {kind = "global_load", operations = [12], folded = [8, 9, 10, 11]}
  op @convert.1 {kind = "convert", operations = [13]}
  op @reduce_max.1 {kind = "reduce_max", operations = [14]}
  op @elementwise.1 {kind = "elementwise", operations = [18], folded = [17]}
  op @exp.1 {kind = "exp", operations = [19]}
  op @reduce_sum.1 {kind = "reduce_sum", operations = [23]}
  op @div.1 {kind = "div", operations = [27], folded = [26]}
  op @convert.2 {kind = "convert", operations = [28]}
  op @global_store.1 {kind = "global_store", operations = [29], folded = [8, 20, 21, 22]}
  group 1 "compute" {warps = 4, first_warp = 0, grant = 240, stages = 6, unroll = 2} {
    register %global_load.1 {words = 512, copies = 2}
    register %convert.1 {words = 1024, copies = 2}
    register %reduce_max.1 {words = 1, copies = 1}
    register %elementwise.1 {words = 1024, copies = 1}
    register %exp.1 {words = 1024, copies = 2}
    register %reduce_sum.1 {words = 1, copies = 2}
    register %div.1 {words = 1024, copies = 1}
    register %convert.2 {words = 512, copies = 1}
    before {
      run 1 "arith.constant"
      run 2 "arith.constant"
      run 3 "tt.make_range"
      run 4 "tt.get_program_id"
      run 5 "tt.splat"
      run 6 "arith.cmpi"
    }
    loop {
      [cycle    0, stage 0]  %global_load.1 = issue @global_load.1() {queue = load}
      [cycle  529, stage 2]  %reduce_max.1 = issue @reduce_max.1(%convert.1)
      [cycle 1322, stage 5]  %convert.2 = issue @convert.2(%div.1)
      [cycle  812, stage 3]  %exp.1 = issue @exp.1(%elementwise.1)
      [cycle 1394, stage 5]  issue @global_store.1(%convert.2)
      [cycle  940, stage 3]  %reduce_sum.1 = issue @reduce_sum.1(%exp.1)
      [cycle 1207, stage 4]  %div.1 = issue @div.1(%exp.1, %reduce_sum.1)
      [cycle  494, stage 1]  await @global_load.1 {queue = load, pending = 0}
      [cycle  494, stage 1]  %convert.1 = issue @convert.1(%global_load.1)
      [cycle  769, stage 2]  %elementwise.1 = issue @elementwise.1(%convert.1, %reduce_max.1)
    }
  }
}
