"""Environment variables that Python, torch and the libraries below it read when they start or are imported, by prefix."""

from __future__ import annotations

# Some are read later and would be honoured by a fork too; to tell them apart version by version is not worth a second.
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
