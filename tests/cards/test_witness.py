"""The driver shows which cards a script computes on, whatever the script reports."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from worker.attempt.execute import Executor
from worker.attempt.identity import Identity
from worker.cards.hold import CardHold, CardLine
from worker.cards.nvml import Looker, find_gpus
from worker.cards.watch import CardWatch
from worker.cards.witness import Witness
from worker.contract import GIB, MIB, Attempt, Device, Limits, Result
from worker.environment import EnvironmentRecorder
from worker.sandbox import Sandbox
from worker.sandbox.isolation import private_mounts
from worker.toolchains import ToolchainStore


class Driver:
    """A driver whose lists of processes a test sets."""

    def __init__(self) -> None:
        self.users: dict[int, list[int] | None] = {}
        self.looked = threading.Event()

    @contextmanager
    def looker(self) -> Iterator[Callable[[int], list[int] | None]]:
        def users_of(index: int) -> list[int] | None:
            self.looked.set()
            return self.users.get(index)

        yield users_of

    def open_looker(self) -> Looker:
        return self.looker()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_cards_are_named_in_the_order_in_which_they_were_given() -> None:
    driver = Driver()
    witness = Witness([5, 2], looker=driver.open_looker)
    with witness.watch():
        assert driver.looked.wait(5)
        assert witness.computed == []
        driver.users = {2: [77], 5: []}
        until(lambda: witness.computed == [1])
        driver.users = {}
    assert witness.computed == [1]
    with witness.watch():
        pass
    assert witness.computed == []


def test_what_ends_at_once_is_looked_at_once() -> None:
    driver = Driver()
    driver.users = {0: [1]}
    witness = Witness([0], looker=driver.open_looker)
    with witness.watch():
        pass
    assert witness.computed == [0]


def test_a_driver_that_does_not_tell() -> None:
    driver = Driver()
    driver.users = {0: None}
    witness = Witness([0], looker=driver.open_looker)
    with witness.watch():
        assert driver.looked.wait(5)
    assert witness.computed == []


ASKS = (
    "import torch\nprint(torch.cuda.is_available(), torch.cuda.device_count())\n"
    "print((torch.ones(3) * 2).sum().item())\n"
)
COMPUTES = "import torch\nprint((torch.ones(3, device='cuda') * 2).sum().item())\n"
CHILD = (
    "import subprocess, sys\n"
    f"print(subprocess.run([sys.executable, '-c', {COMPUTES!r}], capture_output=True, text=True).stdout)\n"
)
CLAIMS = (
    "import torch\ntorch.cuda.is_initialized = lambda: True\n"
    "torch.cuda.memory_stats = lambda *a: {'allocated_bytes.all.allocated': 9}\n" + ASKS
)


@pytest.mark.sandbox
@pytest.mark.parametrize("gated", [False, True], ids=["from the start", "at the touch"])
def test_on_a_card(tmp_path: Path, toolchains: Path, toolchain: str, *, gated: bool) -> None:
    store = ToolchainStore(toolchains)
    cards, chosen = find_gpus()[:1], store.find(toolchain)
    if not cards or chosen is None or chosen.facts.cuda_build is None:
        pytest.skip("no NVIDIA card here, or a CPU build of torch")
    private_mounts.enter()
    tmp_path.chmod(0o755)
    sandbox = Sandbox(slot=6, home=tmp_path)
    watch = CardWatch(
        cards, lambda: chosen, folder=tmp_path / "cards", check_seconds=600, check_memory_bytes=256 * MIB
    )
    executor = Executor(
        Identity("here", "x"), store, EnvironmentRecorder(tmp_path / "cache", probe_seconds=60)
    )
    index = cards[0].index
    assert watch.witness([index]) is None
    assert watch.check(index, sandbox), watch.cards()
    limits = Limits(memory_bytes=16 * GIB, wall_seconds=120)

    def run(script: str) -> Result:
        attempt = Attempt(
            attempt_id="a", script=script, toolchain=toolchain, device=Device.CUDA, gpus=1, limits=limits
        )
        hold = CardHold(watch, [index], folder=tmp_path / "locks", line=CardLine(), most_seconds=60)
        result = executor.execute(
            attempt,
            sandbox,
            granted=cards,
            cancelled=threading.Event(),
            witness=watch.witness([index]),
            hold=hold if gated else None,
        )
        assert "6.0" in result.observation.stdout, result
        assert hold.taken.is_set() == gated
        hold.release()
        return result

    assert run(COMPUTES).observation.devices_computed == ["cuda:0"]
    assert run(CHILD).observation.devices_computed == ["cuda:0"]
    observation = run(ASKS).observation
    assert observation.devices_computed == []
    assert f"/dev/nvidia{index}" in observation.devices_opened
    assert run(CLAIMS).observation.devices_computed == []
