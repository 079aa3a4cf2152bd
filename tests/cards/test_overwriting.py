"""The memory of a card is overwritten before another attempt gets the card."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import pytest
from emulated_cards import emulated_gpu

from worker.cards import nvml
from worker.cards.health import Answer
from worker.cards.watch import CardWatch
from worker.contract import GIB, CardReading, CardState, Level, ToolchainFacts
from worker.harness.check import overwrite as program
from worker.sandbox import Ending, SandboxResult
from worker.sandbox.job import Stream
from worker.toolchains import Toolchain

GPU = emulated_gpu(0).model_copy(update={"memory_bytes": 140 * GIB})


TOOLCHAIN = Toolchain(
    name="t", folder=Path("/t"), build_id="b", facts=ToolchainFacts(name="t", state="ready"), binds=()
)


class Driver:
    """The driver's library, with a card of so many free bytes. It keeps the blocks that were zeroed."""

    def __init__(self, *free: int, broken: str = "") -> None:
        self.free, self.broken = list(free), broken
        self.zeroed: list[tuple[int, int]] = []
        self.card = 0
        self.given: dict[int, int] = {}

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)
        return lambda *_: 1 if name == self.broken else 0

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = len(self.free)
        return 0

    def cuDeviceGet(self, device: Any, number: int) -> int:  # noqa: N802
        device._obj.value = self.card = number
        return 0

    def cuMemAlloc_v2(self, block: Any, size: ctypes.c_size_t) -> int:  # noqa: N802
        if size.value > self.free[self.card]:
            return 2
        self.free[self.card] -= size.value
        block._obj.value = 1000 + len(self.given)
        self.given[block._obj.value] = size.value
        return 0

    def cuMemsetD8_v2(self, block: Any, value: Any, size: Any) -> int:  # noqa: N802
        if self.broken == "cuMemsetD8_v2":
            return 700
        self.zeroed.append((block.value, size.value))
        return int(value.value)


def test_all_free_memory_is_overwritten_but_for_the_rest_of_a_block() -> None:
    driver = Driver(3 * GIB + (517 << 20), 5 << 20)
    sizes = program.overwrite_all(driver)
    assert sizes == [3 * GIB + (516 << 20), 4 << 20]
    assert dict(driver.zeroed) == driver.given
    assert max(driver.free) < program.SMALLEST


@pytest.mark.parametrize("broken", ["cuInit", "cuCtxCreate_v2", "cuMemsetD8_v2", "cuCtxSynchronize"])
def test_an_error_of_the_driver_is_no_success(broken: str) -> None:
    with pytest.raises(program.DriverError):
        program.overwrite_all(Driver(GIB, broken=broken))


class Slot:
    """A sandbox in which the program prints what a test sets."""

    def __init__(self) -> None:
        self.sizes: list[int] = [138 * GIB]
        self.exit_status = 0
        self.jobs: list[Any] = []

    def run(self, job: Any, **_: object) -> SandboxResult:
        self.jobs.append(job)
        return SandboxResult(
            ending=Ending.EXITED,
            level=Level.NAMESPACES,
            exit_status=self.exit_status,
            stdout=Stream(head=json.dumps(self.sizes).encode()),
        )


@pytest.fixture
def slot() -> Slot:
    return Slot()


class Cards(CardWatch):
    def __init__(self, folder: Path, *, overwrites: bool = True) -> None:
        super().__init__(
            [GPU],
            lambda: TOOLCHAIN,
            folder=folder,
            check_seconds=600,
            check_memory_bytes=0,
            overwrites=overwrites,
        )
        self.asked = 0

    def _ask(self, *_: object) -> tuple[Answer, str]:
        self.asked += 1
        return Answer(wrong=[], varies=[], digests={"0": {"exp": "0" * 16}}, build=["2"]), ""

    def read(self, index: int) -> CardReading:
        return CardReading(index=index)

    def state(self) -> tuple[CardState, str]:
        [card] = self.cards()
        return card.state, card.detail


@pytest.fixture(autouse=True)
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "is_divided", lambda _index: False)
    monkeypatch.setattr(nvml, "processes_on", lambda _index: [])


def test_it_is_off_unless_it_is_asked_for(tmp_path: Path, slot: Slot) -> None:
    cards = Cards(tmp_path, overwrites=False)
    cards.clean([0], slot)  # type: ignore[arg-type]
    assert (slot.jobs, cards.state()) == ([], (CardState.UNCHECKED, ""))


def test_after_each_attempt_and_at_the_start(tmp_path: Path, slot: Slot) -> None:
    """An earlier process may have ended before it was done, also if it had checked the card."""
    for _ in range(2):
        cards = Cards(tmp_path)
        assert cards.state() == (CardState.IN_USE, "its memory is to be overwritten first")
        assert (cards.usable(), cards.due()) == ([], [0])
        assert cards.check(0, slot)  # type: ignore[arg-type]
        assert (cards.state(), cards.usable(), cards.asked) == ((CardState.SOUND, ""), [0], 1)
    assert len(slot.jobs) == 2
    cards.clean([0], slot)  # type: ignore[arg-type]
    assert len(slot.jobs) == 3
    assert slot.jobs[-1].devices == ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm")
    assert cards.state() == (CardState.SOUND, "")


@pytest.mark.parametrize("fault", [{"exit_status": 1}, {"sizes": [20 * GIB]}, {"sizes": []}, {"sizes": None}])
def test_a_card_that_is_not_overwritten_is_out_of_use_until_it_is(
    tmp_path: Path, slot: Slot, fault: dict[str, Any]
) -> None:
    cards = Cards(tmp_path)
    assert cards.check(0, slot)  # type: ignore[arg-type]
    for name, value in fault.items():
        setattr(slot, name, value)
    cards.clean([0], slot)  # type: ignore[arg-type]
    assert cards.state() == (CardState.IN_USE, "its memory could not be overwritten")
    assert cards.usable() == []
    # A check alone does not bring it back.
    assert not cards.check(0, slot)  # type: ignore[arg-type]
    assert (cards.asked, cards.usable()) == (1, [])
    slot.sizes, slot.exit_status = [138 * GIB], 0
    assert cards.check(0, slot)  # type: ignore[arg-type]
    assert cards.usable() == [0]
