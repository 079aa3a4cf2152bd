"""The filter's numbers are those of the kernel's headers, and it refuses machines without a table."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from worker.sandbox import SandboxUnavailableError
from worker.sandbox.isolation import seccomp

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
# Newer than the kernel headers of the distributions in our tests.
NEWER = {
    "fchmodat2": 452,
    "statmount": 457,
    "listmount": 458,
    "setxattrat": 463,
    "removexattrat": 466,
    "open_tree_attr": 467,
    "file_setattr": 469,
}


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
def test_numbers(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("no kernel headers here")
    definitions = re.findall(r"#define\s+__NR(?:3264)?_(\w+)\s+(\d+)", HEADERS[machine].read_text())
    known = {**NEWER, **{name: int(number) for name, number in definitions}}
    numbers = seccomp.ARCHITECTURES[machine].numbers
    assert {name: number for name, number in numbers.items() if known.get(name) != number} == {}


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
def test_program_is_well_formed(machine: str) -> None:
    for counted, namespaces, own_uid in itertools.product((True, False), repeat=3):
        program = seccomp.build_filter(
            memory_is_counted=counted, own_namespaces=namespaces, own_uid=own_uid, machine=machine
        )
        assert len(program) % 8 == 0
        assert len(program) // 8 < 4096
    assert len(seccomp.build_filter(memory_is_counted=False, machine=machine)) > len(
        seccomp.build_filter(memory_is_counted=True, machine=machine)
    )


def test_other_machines_are_refused() -> None:
    with pytest.raises(SandboxUnavailableError, match="this machine is riscv64"):
        seccomp.build_filter(memory_is_counted=True, machine="riscv64")
