"""Triton sources of the kernels that the GPU benchmarks build."""
