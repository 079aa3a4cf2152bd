"""A fork of a paused interpreter gets its card at its first touch, as a process of its own does."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from warm_jobs import Both

from worker import harness
from worker.sandbox import Answer, Ending, Gate, SandboxResult

CARD = "/dev/full"


@dataclass
class Cards:
    """A card that is free once an event is set."""

    free: threading.Event = field(default_factory=threading.Event)

    def touch(self) -> Answer:
        return Answer.OPEN if self.free.is_set() else Answer.WAIT

    def fail(self, why: str) -> None:
        raise AssertionError(why)

    def leave(self) -> None:
        """There is no line."""


SCRIPT = f"""
import torch, os, time
for way in (os.O_RDONLY, os.O_WRONLY):
    try: print("around the gate", os.open({CARD!r}, way))
    except PermissionError: pass
began = time.monotonic()
fd = os.open({CARD!r}, os.O_RDWR | os.O_CLOEXEC)
print(time.monotonic() - began > 0.3, os.fstat(fd).st_rdev == os.makedev(1, 7), torch.ones(2).sum().item())
"""


@pytest.mark.parametrize("how", ["cold", "warm"])
def test_it_waits_for_its_card(both: Both, how: str) -> None:
    cards = Cards()
    gates: list[Gate] = []

    def make_gate() -> Gate:
        gates.append(Gate((CARD,), cards, most_seconds=20))
        return gates[-1]

    gated = replace(both, devices=(CARD,), make_gate=make_gate)
    if how == "warm":
        gated.prepare()
    run: Callable[[str], SandboxResult] = gated.warm if how == "warm" else gated.cold

    def free_when_waited_for() -> None:
        deadline = time.monotonic() + 60
        while not (gates and gates[-1].waited_seconds > 0.5) and time.monotonic() < deadline:
            time.sleep(0.02)
        cards.free.set()

    threading.Thread(target=free_when_waited_for).start()
    result = run(SCRIPT)
    assert (result.ending, result.exit_status) == (Ending.EXITED, 0), result
    assert result.stdout.head == b"True True 2.0\n"
    assert result.devices_opened == (CARD,)
    assert gates[-1].waited_seconds > 0.3
    # The card is there, so another run does not wait.
    again = run(SCRIPT.replace("> 0.3", "< 0.3"))
    assert again.stdout.head == b"True True 2.0\n"


def test_the_paused_interpreter_takes_all_files_of_a_job() -> None:
    """Each file comes as a descriptor, beside those of the streams. Those beyond the limit would be lost."""
    source = Path(harness.__file__).with_name("pause.py").read_text()
    limit = re.search(r"^MOST_DESCRIPTORS = (\d+)$", source, re.MULTILINE)
    assert limit is not None
    assert len(harness.harness_sources()) + 10 < int(limit[1])
