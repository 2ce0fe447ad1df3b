"""twill: optimal software pipelining and warp specialization for tensor-core GPU kernels, with proof."""
