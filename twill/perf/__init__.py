"""How long a warp-specialized kernel takes, without running it.

lg            the published model (arXiv:2506.11209): recurrences, kernel time, both objectives, two-point calibration
closed_form   the same values, and those of the ring with latency, in constant time
simulate      event by event, who waits for what
kernel        from one thread block to the kernel: waves, fill, occupancy, shared bandwidth, list scheduling
persistent    time per tile of cooperative, ping-pong and persistent kernels (cycle_ratio: exact period of an event graph)
parameters    machine files: each number with unit, source and quality
candidates    one tile on one machine; predict: its time explained; search: the best of a space, by three methods
calibrate     rates and startups from measured rows
published     the published rows beside what the formulas give
plot, text    pictures and tables

Every function is pure, deterministic, exact on int and Fraction, and needs no GPU.
"""
