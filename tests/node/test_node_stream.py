"""The node as a filter: every line gets its answer, and no line can hurt it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from running_service import share_environments

pytestmark = pytest.mark.sandbox

NO_CGROUPS = ("unshare", "--mount", "sh", "-c", 'umount --recursive /sys/fs/cgroup && exec "$@"', "sh")


class Talk:
    """A stream process, line by line."""

    def __init__(self, home: Path, toolchains: Path, *options: str, wrapper: Sequence[str] = ()) -> None:
        share_environments(home)
        variables = {
            **os.environ,
            "SAMEHERE_HOME": str(home),
            "SAMEHERE_TOOLCHAINS": str(toolchains),
            "SAMEHERE_MESSAGE_BYTES": "100000",
        }
        command = [*wrapper, sys.executable, "-P", "-m", "worker", *options]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables
        )

    def say(self, message: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(
            message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        )
        self.process.stdin.flush()

    def hear(self, kind: str | None = None) -> dict[str, Any]:
        """The next message (of a kind)."""
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            message: dict[str, Any] = json.loads(line)
            if kind is None or message["type"] == kind:
                return message
        pytest.fail("the stream ended")

    def end(self) -> list[dict[str, Any]]:
        """Close its input; what it still says, once it has ended well."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        rest = [json.loads(line) for line in self.process.stdout]
        assert self.process.wait(30) == 0
        return rest

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


@pytest.fixture
def talk(tmp_path: Path, toolchains: Path) -> Iterator[Talk]:
    stream = Talk(tmp_path, toolchains, "--slots", "1", "--name", "here")
    yield stream
    stream.stop()


def attempt(attempt_id: str, script: str, toolchain: str, **more: Any) -> dict[str, Any]:
    return {"type": "attempt", "attempt_id": attempt_id, "script": script, "toolchain": toolchain, **more}


def test_hello_comes_first_and_soon(talk: Talk, toolchain: str) -> None:
    start = time.monotonic()
    hello = talk.hear()
    assert hello["type"] == "hello"
    assert (hello["node"], hello["slots"]) == ("here", 1)
    assert toolchain in [facts["name"] for facts in hello["toolchains"]]
    assert time.monotonic() - start < 10
    assert talk.end() == []


def test_bad_lines_are_refused_and_the_rest_goes_on(talk: Talk, toolchain: str) -> None:
    talk.hear("hello")
    for line in (
        b"nonsense\n",
        b"[]\n",
        b'{"type": "surprise<script>"}\n',
        b'{"type": "attempt"}\n',
        b"\xff\xfe\n",
        b"x" * 300_000 + b"\n",
    ):
        talk.say(line)
        refused = talk.hear()
        assert refused["type"] == "refused"
        assert "surprise" not in refused["detail"]
    talk.say(b"\n")
    talk.say(attempt("a", "print('still here')", toolchain))
    assert talk.hear("result")["observation"]["stdout"] == "still here\n"
    assert talk.end() == []


def test_the_end_of_input_finishes_what_was_given(talk: Talk, toolchain: str) -> None:
    for number in range(3):
        talk.say(attempt(str(number), f"print({number})", toolchain))
    messages = talk.end()
    results = [message for message in messages if message["type"] == "result"]
    assert [result["observation"]["stdout"] for result in results] == ["0\n", "1\n", "2\n"]
    kinds = [
        (message["type"], message.get("attempt_id")) for message in messages if message["type"] != "hello"
    ]
    assert kinds == [(kind, str(number)) for number in range(3) for kind in ("started", "result")]


def test_cancel_stops_what_runs_and_what_waits(talk: Talk, toolchain: str) -> None:
    talk.say(attempt("runs", "import time; time.sleep(60)", toolchain))
    talk.say(attempt("waits", "print(1)", toolchain))
    talk.hear("started")
    talk.say({"type": "cancel", "attempt_id": "waits"})
    waits = talk.hear("result")
    assert (waits["attempt_id"], waits["outcome"]) == ("waits", "cancelled")
    time.sleep(1)
    talk.say({"type": "cancel", "attempt_id": "runs"})
    runs = talk.hear("result")
    assert (runs["attempt_id"], runs["outcome"], runs["reason"]["code"]) == ("runs", "cancelled", "cancelled")
    talk.say({"type": "cancel", "attempt_id": "unknown"})
    assert talk.end() == []


def test_drain_finishes_what_runs_and_forgets_what_waits(talk: Talk, toolchain: str) -> None:
    talk.say(attempt("runs", "import time; time.sleep(2); print('done')", toolchain))
    talk.hear("started")
    talk.say(attempt("waits", "print(1)", toolchain))
    talk.say({"type": "drain"})
    talk.hear("draining")
    talk.say(attempt("late", "print(1)", toolchain))
    assert talk.hear()["type"] == "refused"
    assert [(message["attempt_id"], message["observation"]["stdout"]) for message in talk.end()] == [
        ("runs", "done\n")
    ]


def test_the_same_attempt_twice_runs_once(talk: Talk, toolchain: str) -> None:
    talk.say(attempt("a", "import time; time.sleep(1)", toolchain))
    talk.say(attempt("a", "import time; time.sleep(1)", toolchain))
    assert talk.hear("refused")
    assert [message["type"] for message in talk.end()] in (["started", "result"], ["result"])


def test_sigterm_cancels_and_leaves_nothing(talk: Talk, toolchain: str) -> None:
    talk.say(attempt("runs", "import time; time.sleep(60)", toolchain))
    talk.hear("started")
    time.sleep(1)
    talk.process.send_signal(signal.SIGTERM)
    assert talk.hear("result")["outcome"] == "cancelled"
    assert talk.process.wait(20) == 0


def test_two_streams_share_the_machines_slots(tmp_path: Path, toolchains: Path, toolchain: str) -> None:
    # Two homes share the slots, their uids and the cards of the machine.
    streams = [Talk(tmp_path / name, toolchains, "--slots", "1") for name in ("one", "other")]
    spans: list[list[str]] = []
    script = "import time\nstart = time.time()\ntime.sleep(1)\nprint(start, time.time())"

    def use(stream: Talk) -> None:
        stream.say(attempt("a", script, toolchain))
        spans.append(stream.hear("result")["observation"]["stdout"].split())
        stream.end()

    threads = [threading.Thread(target=use, args=(stream,)) for stream in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for stream in streams:
        stream.stop()
    first, second = sorted([float(start), float(end)] for start, end in spans)
    assert first[1] <= second[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root takes the cgroups away")
def test_without_a_sandbox_it_says_why(tmp_path: Path, toolchains: Path) -> None:
    stream = Talk(tmp_path, toolchains, "--level", "ns+seccomp+cgroup", wrapper=NO_CGROUPS)
    assert "no cgroup for each job" in stream.hear("refused")["detail"]
    assert stream.process.wait(20) == 3
    stream.stop()


def test_a_folder_of_locks_that_others_write_to_is_refused(
    tmp_path: Path, toolchains: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "locks"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("SAMEHERE_LOCKS", str(folder))
    stream = Talk(tmp_path, toolchains)
    assert "nobody else writes to" in stream.hear("refused")["detail"]
    assert stream.process.wait(20) == 3
    stream.stop()
