"""Gives a fork of the paused interpreter its own namespaces, folders and confinement, as in a sandbox.

`pause.py` loads it. `worker.sandbox.isolation.bubblewrap` does the same for a cold start.
"""

import os
import sys

PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_CAP_AMBIENT = 22, 24, 47
SECCOMP_MODE_FILTER, PR_CAP_AMBIENT_CLEAR_ALL = 2, 4
CAPABILITY_VERSION = 0x20080522
# user, mnt, pid, net, ipc, uts, cgroup
NEW_NAMESPACES = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000 | 0x02000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
MS_REC, MS_PRIVATE = 16384, 1 << 18
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x49
INSTRUCTION_BYTES = 8


class Isolation:
    """The steps from a plain fork to a sandbox of its own. Each raises OSError if the system refuses it.

    `ctypes` and `socket` are these modules; they are not imported here, so that the script does not see them.
    `libc` is the C library, `program` the bytes of the seccomp filter.
    """

    def __init__(self, ctypes, libc, socket, program):
        self.ctypes, self.libc, self.socket, self.program = ctypes, libc, socket, program

    def check(self, result, action):
        """Raise the C library's error if the result is not 0."""
        if result:
            number = self.ctypes.get_errno()
            raise OSError(number, "%s: %s" % (action, os.strerror(number)))

    def mount(self, source, target, kind, flags, options=None):
        """Call `mount(2)`."""
        texts = [None if text is None else text.encode() for text in (source, target, kind, options)]
        self.check(
            self.libc.mount(texts[0], texts[1], texts[2], self.ctypes.c_ulong(flags), texts[3]),
            "mount " + target,
        )

    def enter(self, errors):
        """Enter new namespaces and go on as their pid 1; the caller's process ends.

        Writes an error to `errors`.
        """
        try:
            uid, gid = os.getuid(), os.getgid()
            self.check(self.libc.unshare(NEW_NAMESPACES), "unshare")
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", "%d %d 1" % (uid, uid)),
                ("gid_map", "%d %d 1" % (gid, gid)),
            ):
                with open("/proc/self/" + name, "w", encoding="ascii") as file:
                    file.write(text)
            if os.fork():
                os._exit(0)
        except BaseException as error:
            os.write(errors, str(error).encode())
            os._exit(1)

    def furnish(self, scratch):
        """Mount folders and set up the network as in a sandbox.

        `scratch`: bytes that each scratch folder may hold.
        """
        self.mount("none", "/", None, MS_REC | MS_PRIVATE)
        self.mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        for folder, mode in (("/tmp", "1777"), ("/dev/shm", "1777"), ("/home/u", "0700")):  # noqa: S108
            self.mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=%s,size=%d" % (mode, scratch))
        self.mount("tmpfs", "/run/samehere", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m")
        self.mount(
            "devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"
        )
        import fcntl

        any_socket = self.socket.socket(self.socket.AF_INET, self.socket.SOCK_DGRAM)
        fcntl.ioctl(
            any_socket.fileno(),
            SIOCSIFFLAGS,
            b"lo".ljust(16, b"\0") + IFF_UP_RUNNING.to_bytes(2, sys.byteorder) + bytes(14),
        )
        any_socket.close()

    def confine(self):
        """Drop all privileges and install the seccomp filter, for this process and all that it starts."""
        remount = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV
        self.mount("none", "/run/samehere", None, remount)
        prctl, ctypes = self.libc.prctl, self.ctypes
        number = 0
        while prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
            number += 1
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
        header = CAPABILITY_VERSION.to_bytes(4, sys.byteorder) + bytes(4)
        self.check(self.libc.capset(header, bytes(24)), "capset")
        instructions = ctypes.create_string_buffer(self.program, len(self.program))

        class FilterProgram(ctypes.Structure):
            """`struct sock_fprog`."""

            _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

        length = len(self.program) // INSTRUCTION_BYTES
        program = FilterProgram(length, ctypes.addressof(instructions))
        self.check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0), "seccomp")
