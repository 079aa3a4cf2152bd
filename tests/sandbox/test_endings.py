"""The program's end is reported exactly, and its output is stored exactly."""

from __future__ import annotations

import hashlib
import signal

from sandbox_jobs import SMALL, Jobs

from worker.contract import KIB
from worker.sandbox import Ending, SandboxJob


def test_exit_status(jobs: Jobs) -> None:
    result = jobs.run("raise SystemExit(3)")
    assert (result.ending, result.exit_status, result.signal, result.level) == (
        Ending.EXITED,
        3,
        None,
        jobs.level,
    )


def test_exit_139_is_no_signal(jobs: Jobs) -> None:
    result = jobs.run("import os; os._exit(139)")
    assert (result.exit_status, result.signal) == (139, None)


def test_segmentation_fault_is_a_signal(jobs: Jobs) -> None:
    result = jobs.run("import ctypes; ctypes.string_at(0)")
    assert (result.exit_status, result.signal) == (None, signal.SIGSEGV)


def test_abort(jobs: Jobs) -> None:
    assert jobs.run("import os; os.abort()").signal == signal.SIGABRT


def test_killing_everything_spares_the_messenger(jobs: Jobs) -> None:
    source = """
import os, signal, time
child = os.fork() or time.sleep(60)
os.kill(-1, signal.SIGKILL)
os.kill(1, signal.SIGKILL)
print(os.waitpid(child, 0)[1])
"""
    assert jobs.output_of(source) == "9\n"


def test_traceback_goes_to_stderr(jobs: Jobs) -> None:
    result = jobs.run("def f():\n    raise ValueError('no')\nf()\n")
    assert result.exit_status == 1
    assert result.stderr.head.startswith(
        b'Traceback (most recent call last):\n  File "/home/u/script.py", line 3, in <module>\n'
    )


def test_bytes_that_are_no_text(jobs: Jobs) -> None:
    data = bytes(range(256)) * 4
    result = jobs.run("import sys; sys.stdout.buffer.write(bytes(range(256)) * 4)")
    assert result.stdout.head == data
    assert result.stdout.digest == hashlib.sha256(data).hexdigest()
    assert not result.stdout.truncated


def test_long_output_keeps_both_ends_and_the_digest_of_all(jobs: Jobs) -> None:
    limits = SMALL.model_copy(update={"stream_bytes": 4 * KIB})
    data = b"".join(b"%07d\n" % number for number in range(100_000))
    result = jobs.run(
        "import sys; sys.stdout.write(''.join('%07d\\n' % n for n in range(100000)))", limits=limits
    )
    assert (result.stdout.head, result.stdout.tail) == (data[: 2 * KIB], data[-2 * KIB :])
    assert (result.stdout.total_bytes, result.stdout.digest) == (len(data), hashlib.sha256(data).hexdigest())
    assert result.stdout.truncated


def test_no_input(jobs: Jobs) -> None:
    assert jobs.output_of("import sys; print(repr(sys.stdin.read()))") == "''\n"


def test_environment_is_what_was_given_and_nothing_else(jobs: Jobs) -> None:
    output = jobs.output_of(
        "import os; print(sorted(os.environ), os.environ['LD_PRELOAD'])",
        variables={"LD_PRELOAD": "", "X": "1"},
    )
    assert output == "['HOME', 'LANG', 'LD_PRELOAD', 'LOGNAME', 'PATH', 'TMPDIR', 'USER', 'X'] \n"


def test_descriptors_and_folder_are_those_of_a_fresh_start(jobs: Jobs) -> None:
    source = """
import os, signal
print(sorted(int(fd) for fd in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + fd)),
    open("/dev/null").fileno())
print(os.getcwd(), oct(os.umask(0)), os.getpid() == os.getsid(0), os.getuid(), os.getgid())
"""
    assert jobs.output_of(source) == "[0, 1, 2, 63] 3\n/home/u 0o22 True 1000 1000\n"


def test_signals_are_those_of_a_fresh_start(jobs: Jobs) -> None:
    job = SandboxJob(argv=("/bin/sh", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status"), limits=SMALL)
    result = jobs.runner.run(job)
    # 32 and 33 belong to the C library, which leaves them ignored in processes that posix_spawn starts.
    masks = [int(line.split()[1], 16) & ~(0b11 << 31) for line in result.stdout.head.splitlines()]
    assert masks == [0, 0]


def test_report_channel(jobs: Jobs) -> None:
    source = (
        "import json, os; "
        "fd = json.load(open('/run/samehere/harness.json'))['report_fd']; "
        "os.write(fd, b'{}\\n'); print(fd)"
    )
    result = jobs.run(
        source, files={"/run/samehere/harness.json": b'{"report_fd": @REPORT_FD@, "settings": {}}'}
    )
    assert (result.report, result.stdout.head) == (b"{}\n", b"63\n")


def test_report_is_capped_and_its_writer_does_not_block(jobs: Jobs) -> None:
    limits = SMALL.model_copy(update={"result_bytes": 16 * KIB})
    result = jobs.run(
        "import os\nfor _ in range(64): os.write(63, b'x' * 65536)\nprint('done')", limits=limits
    )
    assert (result.report, result.stdout.head) == (b"x" * 16 * KIB, b"done\n")


def test_a_program_that_is_not_there(jobs: Jobs) -> None:
    result = jobs.runner.run(SandboxJob(argv=("/usr/bin/python-that-is-not-there",), limits=SMALL))
    assert result.ending is Ending.SETUP_FAILED
    assert result.detail
    result = jobs.runner.run(SandboxJob(argv=("/usr/bin/not-there",), limits=SMALL))
    assert (result.ending, result.detail) == (
        Ending.SETUP_FAILED,
        "the program could not be started: No such file or directory",
    )


def test_time_is_that_of_the_program(jobs: Jobs) -> None:
    result = jobs.run("import time; time.sleep(0.5)")
    assert 0.5 < result.wall_seconds < 10.0
    assert 0.0 < result.cpu_seconds < 0.4
    assert result.peak_memory_bytes > 1 << 20


def test_peak_memory_counts_what_was_used(jobs: Jobs) -> None:
    assert 200 << 20 < jobs.run("x = b'x' * (200 << 20)").peak_memory_bytes < 400 << 20


def test_self_test_finds_nothing(jobs: Jobs) -> None:
    assert jobs.runner.ask("self_test") == []
