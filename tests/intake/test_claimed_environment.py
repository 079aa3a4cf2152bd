"""The environment that a report states, in the names and forms of a captured environment."""

from __future__ import annotations

import pytest

from app.intake.text.claimed_environment import claimed_environment
from app.judging.comparison.environments import differing_fields
from worker.contract import Environment

COLLECTED = """PyTorch version: 2.3.0+cu121
Is debug build: False
CUDA used to build PyTorch: 12.1
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.4 LTS (x86_64)
Libc version: glibc-2.35

Python version: 3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0] (64-bit runtime)
Is CUDA available: True
GPU models and configuration:
GPU 0: NVIDIA A100-SXM4-40GB
GPU 1: NVIDIA A100-SXM4-40GB

Nvidia driver version: 535.161.08
cuDNN version: Probably one of the following:
/usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.7

CPU:
Model name:                      AMD EPYC 7742 64-Core Processor

Versions of relevant libraries:
[pip3] numpy==1.26.4
[pip3] torch==2.3.0+cu121"""
OF_COLLECTED: Environment = {
    "torch.version": "2.3.0+cu121",
    "torch.cuda_build": "12.1",
    "os.name": "Ubuntu 22.04.4 LTS",
    "os.machine": "x86_64",
    "os.libc": "glibc 2.35",
    "python.version": "3.10.12",
    "gpu.0.model": "NVIDIA A100-SXM4-40GB",
    "gpu.driver": "535.161.08",
    "cudnn.version": 8907,
    "cpu.model": "AMD EPYC 7742 64-Core Processor",
    "package.numpy": "1.26.4",
    "package.torch": "2.3.0+cu121",
}
SMI = """+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.129.03             Driver Version: 535.129.03   CUDA Version: 12.2     |
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
|   0  NVIDIA GeForce RTX 3090        Off | 00000000:01:00.0  On |                  N/A |"""
CONFIG = """PyTorch built with:
  - GCC 9.3
  - Intel(R) oneAPI Math Kernel Library Version 2022.2-Product Build 20220804 for Intel(R) 64 architecture
  - Intel(R) MKL-DNN v3.3.6 (Git Hash 86e6af5974177e513fd3fee58425e1063e7f1361)
  - CPU capability usage: AVX512
  - CUDA Runtime 12.1
  - CuDNN 8.9.2
  - Build settings: BLAS_INFO=mkl, TORCH_VERSION=2.3.1, USE_CUDA=ON,"""
CONDA = """# Name                    Version                   Build  Channel
cudatoolkit               11.8.0               h6a678d5_0
numpy                     1.24.3          py310h5f9d8c6_1
python                    3.10.11              h955ad1f_3
pytorch                   2.0.1           py3.10_cuda11.8_cudnn8.7.0_0    pytorch"""


@pytest.mark.parametrize(
    "text",
    [
        COLLECTED,
        f"<details><summary>env</summary>\n\n```\n{COLLECTED}\n```\n</details>",
        "\n".join(f"> {line}" for line in COLLECTED.split("\n")),
        COLLECTED.replace("\n", "\r\n"),
        " ".join(COLLECTED.split()).replace("PyTorch: 12.1", "PyTorch: 12.1"),
    ],
    ids=["plain", "details", "quoted", "crlf", "one line"],
)
def test_what_collect_env_prints_in_any_wrapping(text: str) -> None:
    found = claimed_environment(text)
    assert {name: found.get(name) for name in OF_COLLECTED} == OF_COLLECTED


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (SMI, {"gpu.driver": "535.129.03", "cuda.driver": "12.2", "gpu.0.model": "NVIDIA GeForce RTX 3090"}),
        (
            CONFIG,
            {
                "torch.version": "2.3.1",
                "torch.cuda_build": "12.1",
                "cudnn.version": 8902,
                "blas.version": "2022.2",
                "onednn.version": "3.3.6",
                "torch.cpu_capability": "AVX512",
            },
        ),
        (
            (
                "Package   Version\n--------- -------\nnumpy 1.26.4\nnvidia-cudnn-cu12  8.9.2.26\n"
                "torch    2.3.0\n\nThanks 1.0"
            ),
            {
                "torch.version": "2.3.0",
                "cudnn.version": 8902,
                "package.torch": "2.3.0",
                "package.numpy": "1.26.4",
                "package.nvidia-cudnn-cu12": "8.9.2.26",
            },
        ),
        (
            "numpy==1.26.4\ntorch==2.3.0+cpu\nscikit_learn==1.4.0",
            {
                "torch.version": "2.3.0+cpu",
                "package.torch": "2.3.0+cpu",
                "package.numpy": "1.26.4",
                "package.scikit-learn": "1.4.0",
            },
        ),
        (
            CONDA,
            {
                "torch.version": "2.0.1",
                "python.version": "3.10.11",
                "torch.cuda_build": "11.8",
                "package.pytorch": "2.0.1",
                "package.numpy": "1.24.3",
                "package.python": "3.10.11",
                "package.cudatoolkit": "11.8.0",
            },
        ),
        (
            "I use torch 2.3 on an A100, Windows 11, CUDA 12.1, Python 3.10",
            {
                "torch.version": "2.3",
                "gpu.0.model": "A100",
                "os.name": "Windows 11",
                "torch.cuda_build": "12.1",
                "python.version": "3.10",
            },
        ),
        (
            ">>> torch.__version__\n'2.0.1+cu117'\n>>> torch.version.cuda\n'11.7'",
            {"torch.version": "2.0.1+cu117", "torch.cuda_build": "11.7"},
        ),
        ("Mac (M2 Pro), macOS Sonoma", {"cpu.model": "M2 Pro", "os.name": "macOS Sonoma"}),
    ],
)
def test_other_forms(text: str, found: Environment) -> None:
    assert claimed_environment(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "latest torch, some gpu, a recent cuda",
        "It worked in torch 2.0 and fails in torch 2.1",
        "works on Linux, fails on Windows? I only tried Ubuntu and Windows",
        "torch.rand(2, 3) and numpy 1d arrays",
        "GPU: none",
        "the loss is 2.31 after python train.py --lr 0.1",
    ],
)
def test_what_is_vague_or_contradicts_itself_is_left_out(text: str) -> None:
    assert claimed_environment(text) == {}


def test_the_likeliest_culprit_comes_first() -> None:
    claimed = claimed_environment("torch 2.3 on an A100, Python 3.10, numpy 1.26.4")
    captured: Environment = {
        "torch.version": "2.13.0",
        "gpu.0.model": "NVIDIA H100",
        "python.version": "3.12.3",
        "package.numpy": "2.1.0",
    }
    assert differing_fields(claimed, captured) == [
        "torch.version",
        "gpu.0.model",
        "python.version",
        "package.numpy",
    ]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("In numpy 1.26 the sum became an int64. I tried 2.0.0rc1.", "2.0.0rc1"),
        ("In numpy 1.26 the sum was right. I use numpy 2.0.2.", "2.0.2"),
        ("numpy 1.26.4, Linux. I tried 2.0.2 too: the same.", "1.26.4"),
        ("numpy 1.26.4, Linux. I tried 2.0.2.", "1.26.4"),
        ("It fails in numpy 1.26. I tried 2.1 and it works.", "1.26"),
        ("In numpy 1.26 it was fine. I tried 2.0.1. I tried 2.1.3.", "1.26"),
    ],
)
def test_the_version_that_was_tried_goes_before_one_that_is_told_about(text: str, version: str) -> None:
    assert claimed_environment(text)["package.numpy"] == version
