"""Builds the filter that stops a program at its first open of a device node, as a classic BPF program.

The nodes lie on a mount without devices (`nodev`), so a program can't open them itself, whatever this filter
lets pass. The filter only finds the opens that a driver's library makes, and the node answers those
(`worker.sandbox.process.gate`).
"""

from __future__ import annotations

import os
import struct

from worker.sandbox.isolation.seccomp import Instruction, architecture

_LOAD, _AND, _EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_NUMBER_AT, _ARCH_AT = 0, 4
# SECCOMP_FILTER_FLAG_NEW_LISTENER and _WAIT_KILLABLE_RECV. With the second one, a signal's handler does not
# interrupt an open that the node has seen: only a kill does.
_FLAGS = 1 << 3 | 1 << 5
# The calls that open by path, with the position of their flags, and the call `seccomp` itself.
_OPENS = {"x86_64": {2: 1, 257: 2}, "aarch64": {56: 2}}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
# The flags that do not change the kind of an open: O_CLOEXEC, O_NONBLOCK, O_NOCTTY and O_LARGEFILE.
_HARMLESS = {
    "x86_64": 0o2000000 | 0o4000 | 0o400 | 0o100000,
    "aarch64": 0o2000000 | 0o4000 | 0o400 | 0o400000,
}


def build_gate_filter(machine: str | None = None) -> bytes:
    """The content of the file that `init.py` installs.

    4 bytes each of the number of the call `seccomp` and of its flags, then the instructions, 8 bytes each.
    Raises SandboxUnavailableError for an unknown machine.
    """
    arch = architecture(machine)
    name = machine or os.uname().machine
    program: list[Instruction] = [
        # The other filter kills other architectures.
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, arch.audit),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    for number, flags_at in _OPENS[name].items():
        body: list[Instruction] = [
            (_LOAD, 0, 0, 16 + 8 * flags_at),
            (_AND, 0, 0, ~_HARMLESS[name] & 0xFFFFFFFF),
            (_EQUAL, 0, 1, os.O_RDWR),
            (_RETURN, 0, 0, _NOTIFY),
            (_RETURN, 0, 0, _ALLOW),
        ]
        program += [(_EQUAL, 0, len(body), number), *body]
    program.append((_RETURN, 0, 0, _ALLOW))
    return struct.pack("=II", _SECCOMP[name], _FLAGS) + b"".join(
        struct.pack("HBBI", *instruction) for instruction in program
    )
