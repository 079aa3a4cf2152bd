"""At the wall limit every process says where it stands, and no script can tell that it could be asked."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import pytest

from worker.contract import Outcome, Result
from worker.harness import HARNESS_PATH, harness_sources
from worker.sandbox.process.stacks import COLLECT_SECONDS, STACKS_BYTES, STACKS_SIGNAL

Execute = Callable[..., Result]

pytestmark = pytest.mark.sandbox

DEADLOCK = """
import multiprocessing as mp, os, signal, subprocess, time

def waits_forever(method, queue):
    globals()["in_" + method](queue)

def in_fork(queue): queue.get()
def in_spawn(queue): queue.get()
def in_forkserver(queue): queue.get()

def deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(600)

if __name__ == "__main__":
    held = []
    for method in ("fork", "spawn", "forkserver"):
        context = mp.get_context(method)
        queue = context.Queue()
        process = context.Process(target=waits_forever, args=(method, queue))
        process.start()
        held += [queue, process]
    subprocess.Popen(["sleep", "600"])
    if os.fork() == 0:
        deaf()
    held[1].join()
"""


def processes(stacks: str) -> list[tuple[str, str]]:
    """Each one's head, and its own words."""
    parts = re.split(r"^(?=Process )", stacks, flags=re.MULTILINE)
    return [(head, text) for head, _, text in (part.partition("\n") for part in parts if part)]


def test_a_deadlock_of_many_processes(execute: Execute) -> None:
    result = execute(DEADLOCK, limits={"wall_seconds": 12})
    seen = result.observation
    found = processes(seen.stacks)
    assert (result.outcome, seen.idle, seen.stdout, seen.stderr) == (Outcome.TIMED_OUT, True, "", "")
    assert re.fullmatch(r"Process 2 \(python\), sleeping( in \w+)?, \d+ thread\(s\)", found[0][0])
    assert (
        found[0][1]
        .rstrip()
        .endswith(f'File "/home/u/script.py", line {len(DEADLOCK.splitlines())} in <module>')
    )
    assert " in deaf\n" not in seen.stacks
    for function in ("in_fork", "in_spawn", "in_forkserver"):
        texts = [text for _, text in found if f" in {function}\n" in text]
        assert len(texts) == 1, function
        assert 'File "/home/u/script.py"' in texts[0]
        assert texts[0].count("Current thread") == 1
    # Not killed before its time, and told only as it is seen from outside.
    assert [text.strip() for head, text in found if "(sleep), sleeping" in head] == [""]
    assert any(not text.strip() for head, text in found if "(python), sleeping" in head)


LOCKS = """
import threading, time
first, second = threading.Lock(), threading.Lock()
both = threading.Barrier(2)

def takes(one, other):
    with one:
        both.wait()
        waits_for(other)

def waits_for(lock):
    with lock:
        pass

def spins():
    while True:
        pass

threading.Thread(target=takes, args=(first, second)).start()
threading.Thread(target=takes, args=(second, first)).start()
print("held", flush=True)
{end}
"""


def test_two_threads_that_hold_each_others_lock(execute: Execute) -> None:
    seen = execute(LOCKS.replace("{end}", ""), limits={"wall_seconds": 4}).observation
    assert (seen.idle, seen.stdout, seen.stderr) == (True, "held\n", "")
    assert (
        len(re.findall(r"line 12 in waits_for\n  File \"/home/u/script.py\", line 9 in takes\n", seen.stacks))
        == 2
    )


def test_a_busy_loop_has_stacks_and_is_not_idle(execute: Execute) -> None:
    result = execute(LOCKS.replace("{end}", "spins()"), limits={"wall_seconds": 4})
    seen = result.observation
    assert (result.outcome, seen.idle, seen.stdout) == (Outcome.TIMED_OUT, False, "held\n")
    assert re.search(r"Process 2 \(python\), running", seen.stacks)
    assert re.search(r"line 1[67] in spins\n", seen.stacks)


def test_a_sleep_inside_of_torch_is_idle(execute: Execute) -> None:
    seen = execute("import time, torch\ntime.sleep(600)\n", limits={"wall_seconds": 15}).observation
    assert seen.idle is True
    assert 'File "/home/u/script.py", line 2 in <module>\n' in seen.stacks


MANY_FRAMES = """
import threading, os
def {name}(n):
    if n:
        return {name}(n - 1)
    threading.Event().wait()
for _ in range(60):
    threading.Thread(target={name}, args=(80,)).start()
for _ in range(12):
    if os.fork() == 0:
        {name}(80)
{name}(80)
"""


def test_stacks_are_capped(execute: Execute) -> None:
    result = execute(MANY_FRAMES.replace("{name}", "n" * 200), limits={"wall_seconds": 5})
    assert STACKS_BYTES // 2 < len(result.observation.stacks) <= STACKS_BYTES
    # For a process with many threads both ends are shown, since its main thread comes last.
    first = processes(result.observation.stacks)[0][1]
    assert "[...]" in first
    assert first.rstrip().endswith("in <module>")


def test_only_at_the_wall_limit(execute: Execute) -> None:
    for script, limits in (
        ("print(1)", {}),
        ("while True: print('x' * 9999)", {"stream_kill_bytes": 100_000}),
    ):
        result = execute(script, limits=limits)
        assert result.outcome is not Outcome.TIMED_OUT
        assert result.observation.stacks == ""


def test_hostile_answers_are_text(execute: Execute) -> None:
    script = (
        "import os, signal, time\n"
        'def answer(*_):\n    while True: os.write(900, b\'\\xff\\0{"kind": "exception", "type": "Forged"}\\n\' * 99)\n'  # noqa: E501
        f"signal.signal({STACKS_SIGNAL}, answer)\ntime.sleep(600)\n"
    )
    result = execute(script, limits={"wall_seconds": 3})
    seen = result.observation
    assert (result.outcome, seen.exception) == (Outcome.TIMED_OUT, None)
    assert "Forged" in seen.stacks
    assert "\0" not in seen.stacks
    assert len(seen.stacks) <= STACKS_BYTES
    assert seen.wall_seconds < 3 + COLLECT_SECONDS + 10


EVERY_SIGNAL = """
import signal, time
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, lambda number, _: print("caught", number, flush=True))
time.sleep(600)
"""


def test_a_script_that_catches_every_signal_is_not_told(execute: Execute) -> None:
    seen = execute(EVERY_SIGNAL, limits={"wall_seconds": 3}).observation
    assert (seen.stdout, seen.idle) == ("", True)
    assert seen.stacks.startswith("Process 2 (python), sleeping")


UNSEEN = f"""
import os, signal, subprocess, sys, multiprocessing as mp
def look():
    return str(signal.getsignal({STACKS_SIGNAL})), "faulthandler" in sys.modules, open("/dev/null").fileno()
def child(queue): queue.put(look())
if __name__ == "__main__":
    print(*look())
    for method in ("fork", "spawn"):
        context = mp.get_context(method)
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        print(*queue.get()[:2])
        process.join()
    asked = "import sys, signal, os; print(signal.getsignal({STACKS_SIGNAL}), os.open('/dev/null', 0), sys.modules.get('faulthandler'))"
    print(subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True))
"""  # noqa: E501


def test_a_script_sees_no_handler(execute: Execute) -> None:
    seen = execute(UNSEEN).observation
    lines = seen.stdout.splitlines()
    assert lines[:3] == ["0 False 3", "0 False", "0 False"]
    assert "stdout='0 3 None\\n', stderr=''" in lines[3]


def test_node_and_harness_speak_of_the_same_signal() -> None:
    tree = ast.parse(harness_sources()[HARNESS_PATH])
    named = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert named["STACKS_SIGNAL"] == STACKS_SIGNAL
