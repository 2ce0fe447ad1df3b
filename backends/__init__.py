"""Writers: from the pipelined program to IR text, Triton marks and CUDA."""
