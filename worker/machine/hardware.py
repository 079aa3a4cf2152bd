"""Reads the facts about this machine's processor, without host name and serial number."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path

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
    """The first processor that /proc/cpuinfo lists. `cores` is the number that this process may use."""

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
