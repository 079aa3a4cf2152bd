"""Prefixes of environment variables that Python, torch and its libraries read at start or import."""

from __future__ import annotations

# A fork would honour some of them, which are read later.
# Listing these for each version is not worth the second.
READ_AT_START = (
    "ATEN_",
    "BLIS_",
    "C10_",
    "CUBLAS",
    "CUDA_",
    "CUDNN",
    "DNNL_",
    "GLIBC_",
    "GOMP_",
    "GOTO_",
    "KINETO",
    "KMP_",
    "LANG",
    "LC_",
    "LD_",
    "MALLOC_",
    "MKL_",
    "NCCL",
    "NUMEXPR",
    "NVIDIA_",
    "OMP_",
    "ONEDNN_",
    "OPENBLAS",
    "PYTHON",
    "PYTORCH_",
    "TORCH",
    "TRITON",
    "XLA_",
)
