"""What this machine is: its CPU, and its cards by NVML. No host name, UUID or serial number."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worker.contract import Gpu

# Flags that decide which code path a numeric library takes.
_FLAGS_OF_INTEREST = frozenset(
    {
        *("sse4_1", "sse4_2", "avx", "avx2", "fma", "f16c", "avx_vnni"),
        *("avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni", "avx512_bf16", "avx512_fp16"),
        *("amx_tile", "amx_bf16", "amx_int8", "asimd", "sve"),
    }
)


@dataclass(frozen=True, slots=True)
class Cpu:
    """The first processor that /proc/cpuinfo lists, and how many may be used."""

    model: str
    vendor: str
    flags: frozenset[str]
    cores: int


@functools.cache
def read_cpu() -> Cpu:
    fields: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            break
        fields[key.strip()] = value.strip()
    flags = frozenset((fields.get("flags") or fields.get("Features") or "").split()) & _FLAGS_OF_INTEREST
    return Cpu(fields.get("model name", ""), fields.get("vendor_id", ""), flags, len(os.sched_getaffinity(0)))


def find_gpus() -> list[Gpu]:
    """The cards whose device node is here; empty without driver or NVML."""
    with _nvml() as nvml:
        if nvml is None:
            return []
        driver = str(nvml.nvmlSystemGetDriverVersion())
        found = []
        for index in range(nvml.nvmlDeviceGetCount()):
            try:
                handle = nvml.nvmlDeviceGetHandleByIndex(index)
                minor = int(nvml.nvmlDeviceGetMinorNumber(handle))
                major_capability, minor_capability = nvml.nvmlDeviceGetCudaComputeCapability(handle)
                gpu = Gpu(
                    index=minor,
                    model=str(nvml.nvmlDeviceGetName(handle)),
                    memory_bytes=int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
                    capability=f"{major_capability}.{minor_capability}",
                    driver=driver,
                )
            except nvml.NVMLError:
                # A card that fell off the bus is not offered.
                continue
            if Path(f"/dev/nvidia{gpu.index}").exists():
                found.append(gpu)
        return found


def device_nodes(granted: list[Gpu]) -> tuple[str, ...]:
    """Exactly the nodes of the granted cards, and the two that every CUDA process needs."""
    if not granted:
        return ()
    return (*(f"/dev/nvidia{gpu.index}" for gpu in granted), "/dev/nvidiactl", "/dev/nvidia-uvm")


@contextmanager
def _nvml() -> Iterator[Any]:
    try:
        import pynvml
    except ImportError:
        yield None
        return
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield None
        return
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()
