"""Generated kernels as Python callables, for anything that has `__cuda_array_interface__` or DLPack: PyTorch, CuPy and others."""

from twill.cuda.kernel import LoadedKernel, load

__all__ = ["LoadedKernel", "load"]
