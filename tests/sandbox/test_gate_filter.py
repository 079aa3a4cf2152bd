"""The gate's filter reports exactly the opens that a driver's library makes, on each kind of machine."""

from __future__ import annotations

import os
import struct

import pytest

from worker.sandbox import SandboxUnavailableError
from worker.sandbox.isolation import seccomp
from worker.sandbox.isolation.gate_filter import build_gate_filter

NOTIFY, ALLOW = 0x7FC00000, 0x7FFF0000
OPENAT = {"x86_64": 257, "aarch64": 56}
LARGE = {"x86_64": 0o100000, "aarch64": 0o400000}


def run(program: bytes, *, arch: int, number: int, arguments: tuple[int, ...]) -> int:
    """The answer of a classic BPF program to a call, as the kernel computes it."""
    data = struct.pack("=iIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    instructions = list(struct.iter_unpack("HBBI", program))
    at = accumulator = 0
    while True:
        code, when_true, when_false, value = instructions[at]
        at += 1
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif code == 0x54:
            accumulator &= value
        elif code == 0x15:
            at += when_true if accumulator == value else when_false
        elif code == 0x06:
            return int(value)
        else:
            raise AssertionError(code)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_it_reports_opens_for_reading_and_writing_alone(machine: str) -> None:
    whole = build_gate_filter(machine)
    call, flags = struct.unpack("=II", whole[:8])
    assert (call, flags) == ({"x86_64": 317, "aarch64": 277}[machine], 0b101000)
    audit = seccomp.ARCHITECTURES[machine].audit

    def answer(open_flags: int, number: int = OPENAT[machine], arch: int = audit) -> int:
        return run(whole[8:], arch=arch, number=number, arguments=(0xFFFFFF9C, 4096, open_flags, 0))

    plain = (0, os.O_CLOEXEC, os.O_NONBLOCK, os.O_NOCTTY, LARGE[machine], os.O_CLOEXEC | os.O_NONBLOCK)
    for more in plain:
        assert answer(os.O_RDWR | more) == NOTIFY
        assert answer(os.O_RDONLY | more) == ALLOW
        assert answer(os.O_WRONLY | more) == ALLOW
        assert answer(3 | more) == ALLOW
    for more in (os.O_CREAT, os.O_TRUNC, os.O_APPEND, os.O_PATH, os.O_DIRECT, os.O_EXCL):
        assert answer(os.O_RDWR | more) == ALLOW
    # The kernel takes 32 bits of the flags.
    assert answer(os.O_RDWR | 1 << 40) == NOTIFY
    # openat2 has its flags in memory, and another architecture never gets here.
    assert answer(os.O_RDWR, number=437) == ALLOW
    assert answer(os.O_RDWR, arch=0x40000003) == ALLOW


def test_the_old_call_is_reported_where_it_exists() -> None:
    program = build_gate_filter("x86_64")[8:]
    for flags, answer in ((os.O_RDWR, NOTIFY), (os.O_RDONLY, ALLOW)):
        assert run(program, arch=0xC000003E, number=2, arguments=(4096, flags)) == answer


def test_other_machines_are_refused() -> None:
    with pytest.raises(SandboxUnavailableError, match="this machine is riscv64"):
        build_gate_filter("riscv64")
