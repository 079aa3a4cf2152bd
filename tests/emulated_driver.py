"""A driver of cards that a test breaks: it takes the place of the library `pynvml`."""

# ruff: noqa: N802

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from emulated_cards import emulated_gpu

from worker.cards.health import Answer
from worker.cards.nvml import FaultWatch
from worker.cards.watch import CardWatch
from worker.contract import CardState, Gpu
from worker.toolchains import Toolchain

GIB = 1 << 30
LOST = 15


class NVMLError(Exception):
    def __init__(self, value: int = 999) -> None:
        super().__init__(value)
        self.value = value


@dataclass(slots=True)
class DrivenCard:
    """One card, as the driver sees it. `is_lost`: asked for anything, it is gone."""

    is_lost: bool = False
    is_divided: bool = False
    used: int = GIB // 2
    xids: list[int] = field(default_factory=list)
    pids: list[int] = field(default_factory=list)


class EmulatedDriver:
    """The functions of `pynvml` that the node calls. The handle of a card is its number."""

    NVMLError = NVMLError
    NVML_ERROR_GPU_IS_LOST = LOST
    NVML_TEMPERATURE_GPU = NVML_MEMORY_ERROR_TYPE_CORRECTED = NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 0
    NVML_VOLATILE_ECC = 0

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cards: int = 2) -> None:
        self.cards = [DrivenCard() for _ in range(cards)]
        # Not set: the driver hangs.
        self.answers = threading.Event()
        self.answers.set()
        self.is_gone = False
        self.questions = 0
        monkeypatch.setitem(sys.modules, "pynvml", self)
        monkeypatch.setattr(FaultWatch, "xids", lambda _, index: list(self.cards[index].xids))

    def _card(self, index: int) -> DrivenCard:
        if self.cards[index].is_lost:
            raise NVMLError(LOST)
        return self.cards[index]

    def nvmlInit(self) -> None:
        self.questions += 1
        self.answers.wait(60)

    def nvmlShutdown(self) -> None:
        """Nothing is to be closed."""

    def nvmlSystemGetDriverVersion(self) -> str:
        if self.is_gone:
            raise NVMLError
        return "1"

    def nvmlDeviceGetCount(self) -> int:
        if self.is_gone:
            raise NVMLError
        return len(self.cards)

    # The handle of a lost card may still be had.
    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetMinorNumber(self, handle: int) -> int:
        return handle

    def nvmlDeviceGetTemperature(self, handle: int, _kind: int) -> int:
        return 40 if self._card(handle) else 0

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return SimpleNamespace(used=self._card(handle).used)

    def nvmlDeviceGetTotalEccErrors(self, *_: int) -> int:
        raise NVMLError

    def nvmlDeviceGetMigMode(self, handle: int) -> tuple[int, int]:
        return (int(self._card(handle).is_divided), 0)

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:
        return [SimpleNamespace(pid=pid) for pid in self._card(handle).pids]


class DrivenCards(CardWatch):
    """The watch of a node over such cards. A check answers what a test sets."""

    def __init__(self, folder: Path, count: int = 2) -> None:
        cards = [emulated_gpu(index) for index in range(count)]
        super().__init__(
            cards,
            lambda: Toolchain,
            folder=folder,
            check_seconds=600,
            check_memory_bytes=0,  # type: ignore[arg-type, return-value]
        )
        self.wrong: set[int] = set()
        self.asked: list[int] = []
        for card in self._cards.values():
            self._note(card, CardState.SOUND, "")

    def _ask(self, gpu: Gpu, *_: object) -> tuple[Answer | None, str]:
        self.asked.append(gpu.index)
        wrong = ["0: product float32"] if gpu.index in self.wrong else []
        return Answer(wrong=wrong, varies=[], digests={"0": {"exp": "0" * 16}}, build=["2"]), ""

    def states(self) -> list[tuple[CardState, str]]:
        return [(card.state, card.detail) for card in self.cards()]

    def look_again(self) -> None:
        """The time of the next look has come."""
        for card in self._cards.values():
            card.check_at = 0.0
