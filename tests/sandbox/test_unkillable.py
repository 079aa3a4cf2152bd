"""A process that the kernel can't kill: the supervision reports it, and the slot is blocked meanwhile."""

from __future__ import annotations

import ctypes
import os
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_jobs import SMALL, Jobs
from sandbox_runner import AS_ROOT, make_runner

from worker.sandbox import Bind, Ending, SandboxJob

LOOKUP, FORGET, GETATTR, INIT, INTERRUPT, FORGET_MANY = 1, 2, 3, 26, 36, 42
ENOSYS = 38


def _answer(fd: int) -> None:
    """A file system that never answers: a process that uses it waits in an uninterruptible call."""
    while True:
        try:
            request = os.read(fd, 1 << 17)
        except OSError:
            return
        _, operation, unique = struct.unpack_from("=IIQ", request)
        body, error = b"", -ENOSYS
        if operation in (LOOKUP, FORGET, INTERRUPT, FORGET_MANY):
            continue
        if operation == INIT:
            body, error = (
                struct.pack("=IIIIHHIIHHI7I", 7, 31, 1 << 16, 0, 12, 9, 1 << 16, 1, 0, 0, 0, *[0] * 7),
                0,
            )
        if operation == GETATTR:
            body, error = (
                struct.pack("=QII6Q10I", 60, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o040755, 2, 0, 0, 0, 4096, 0),
                0,
            )
        os.write(fd, struct.pack("=IiQ", 16 + len(body), error, unique) + body)


@pytest.fixture
def silent_folder() -> Iterator[tuple[str, int]]:
    if not AS_ROOT or not Path("/dev/fuse").exists():
        pytest.skip("only root mounts a file system that hangs")
    libc = ctypes.CDLL(None, use_errno=True)
    folder = tempfile.mkdtemp()
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(b"samehere", folder.encode(), b"fuse", ctypes.c_ulong(6), options.encode()):
        os.close(fd)
        pytest.skip(f"no file system in user space here: {os.strerror(ctypes.get_errno())}")
    threading.Thread(target=_answer, args=(fd,), daemon=True).start()
    device = os.minor(Path(folder).stat().st_dev)
    yield folder, device
    _release(device)
    libc.umount2(folder.encode(), 2)
    Path(folder).rmdir()
    os.close(fd)


def _release(device: int) -> None:
    """Abort the connection, so that waiting processes go on."""
    control = Path(f"/sys/fs/fuse/connections/{device}/abort")
    if not control.exists():
        ctypes.CDLL(None).mount(b"none", b"/sys/fs/fuse/connections", b"fusectl", ctypes.c_ulong(0), None)
    control.write_text("1")


def test_the_slot_comes_back_when_the_process_does(
    silent_folder: tuple[str, int], sandbox_home: Path
) -> None:
    folder, device = silent_folder
    runner = make_runner("polled", sandbox_home)
    jobs = Jobs(runner)
    limits = SMALL.model_copy(update={"wall_seconds": 1.0})
    job = jobs.job("print('on', flush=True); open('/silent/x')", limits=limits)
    began = time.monotonic()
    result = runner.run(
        SandboxJob(argv=job.argv, files=job.files, limits=limits, binds=(*job.binds, Bind(folder, "/silent")))
    )
    took = time.monotonic() - began
    assert (result.ending, result.stdout.head) == (Ending.NOT_REAPED, b"on\n")
    assert result.detail
    assert took < 30.0
    assert runner.ask("lost") == 1
    _release(device)
    time.sleep(0.2)
    assert jobs.output_of("print('again')") == "again\n"
    assert runner.ask("lost") == 0
    runner.close()
