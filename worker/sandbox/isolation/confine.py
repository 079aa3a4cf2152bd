"""Restricts this process, and all that it starts, by Landlock and a seccomp filter, without namespaces.

Our pid 1 loads it in the child that becomes the program. Python 3.8 syntax, and only modules that are already
imported.
"""

from __future__ import annotations

import ctypes
import os
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
SECCOMP_MODE_FILTER = 2
INSTRUCTION_BYTES = 8
# The same numbers on every architecture, by kernel policy.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PATH_BENEATH = 1


class FilterProgram(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def confine(path: str) -> None:
    """Put the rules in a file in force. Raises OSError if the kernel refuses them.

    `worker.sandbox.isolation.landlock` writes it; its fields are separated by NUL: the ruleset's attributes
    in hex, the number of rules, for each rule its rights as a decimal number and its path, and last the
    seccomp filter.
    """
    with open(path, "rb") as file:
        attributes, count, rest = file.read().split(b"\0", 2)
    fields = rest.split(b"\0", 2 * int(count))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    restrict(libc, bytes.fromhex(attributes.decode()), list(zip(fields[0:-1:2], fields[1:-1:2])))
    program = fields[-1]
    filtered = FilterProgram(len(program) // INSTRUCTION_BYTES, program)
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filtered), 0, 0))


def restrict(libc: ctypes.CDLL, attributes: bytes, rules: list[tuple[bytes, bytes]]) -> None:
    """Deny all accesses that the attributes name, except those that a rule (rights, path) permits."""
    ruleset = check(libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    for rights, path in rules:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = int(rights).to_bytes(8, sys.byteorder) + beneath.to_bytes(4, sys.byteorder)
        check(libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, rule, 0))
        os.close(beneath)
    check(libc.syscall(RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def check(result: int) -> int:
    """The result of a call, or the C library's error as OSError if it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
