"""Checks the cards of a node before attempts use them.

A card that is faulty, or that other programs use, is out of use.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog
from pydantic import ValidationError

from worker.cards import nvml
from worker.cards.asking import ask_card
from worker.cards.health import (
    Answer,
    KnownAnswers,
    answers_key,
    fault_of_driver,
    faults,
    is_shaken,
    memory_left,
)
from worker.cards.overwriting import overwrite
from worker.cards.records import PassRecord, boot_id, read_answers
from worker.cards.witness import Witness
from worker.contract import CardReading, CardState, Gpu
from worker.contract.names import is_capability
from worker.machine.settings import NodeSettings
from worker.sandbox import Sandbox
from worker.toolchains import Toolchain, ToolchainStore
from worker.toolchains.default_choice import choose_for_cards

_SHIPPED = Path(__file__).with_name("known_answers.json")
_LOOK_AGAIN_SECONDS = 5.0
# The driver may need so long until the memory of a process that has ended is free.
_GIVE_BACK_SECONDS, _LOOK_AT_MEMORY_SECONDS = 5.0, 0.25
# After the fault of a program a card is checked at most so often.
_SHAKEN_SECONDS = 60.0
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Card:
    gpu: Gpu
    state: CardState = CardState.UNCHECKED
    detail: str = ""
    # The time of the next check, by the monotonic clock.
    check_at: float = 0.0
    # The time of the last check that passed, in seconds since 1970. Later results rely on it.
    sound_at: float | None = None
    # The time of the last check, by the monotonic clock.
    checked_at: float = float("-inf")
    # The reading before an attempt whose memory was not given back.
    before_leak: CardReading | None = None
    # True while an attempt may have left something in its memory that is to be overwritten.
    is_dirty: bool = False


class CardWatch:
    """The cards of one node process.

    `toolchain` returns a toolchain whose torch can use a card; without one, no card can be checked. With
    `alone`, a card is out of use while another program computes on it. With `overwrites`, its memory is
    overwritten after each attempt, and at the start of the node.
    """

    def __init__(
        self,
        gpus: Sequence[Gpu],
        toolchain: Callable[[], Toolchain | None],
        *,
        folder: Path,
        check_seconds: float,
        check_memory_bytes: int,
        alone: bool = True,
        overwrites: bool = False,
    ) -> None:
        self._cards = {gpu.index: _Card(gpu) for gpu in gpus}
        self._folder = folder
        self._alone = alone
        self._overwrites = overwrites
        self._toolchain = toolchain
        self._learned = folder / "known_answers.json"
        self._check_seconds = check_seconds
        self._check_memory_bytes = check_memory_bytes
        self._lock = threading.Lock()
        self._faults = nvml.FaultWatch()
        # True if the driver lists processes in a sandbox. The last check that passed decides this.
        self._tells = False
        for card in self._cards.values():
            self._remember(card)
            if overwrites:
                # An earlier process may have ended before it was done.
                card.is_dirty, card.check_at = True, 0.0
                card.state, card.detail = CardState.IN_USE, "its memory is to be overwritten first"

    def start(self) -> None:
        if self._cards:
            self._faults.start()

    def stop(self) -> None:
        if self._cards:
            self._faults.stop()

    def cards(self) -> list[Gpu]:
        """All cards, with their states."""
        with self._lock:
            return [
                card.gpu.model_copy(
                    update={"state": card.state, "detail": card.detail, "sound_at": card.sound_at}
                )
                for card in self._cards.values()
            ]

    def select(self, indexes: Iterable[int]) -> list[Gpu]:
        """These cards, without their states."""
        index_set = set(indexes)
        return [card.gpu for index, card in self._cards.items() if index in index_set]

    def usable(self) -> list[int]:
        """The indexes of the cards that an attempt may use."""
        with self._lock:
            return [
                index
                for index, card in self._cards.items()
                if card.state in {CardState.SOUND, CardState.UNCHECKED}
            ]

    def of_kind(self, capability: str | None) -> list[int]:
        """The indexes of the cards with this capability, in any state. None: all cards."""
        return [
            index for index, card in self._cards.items() if is_capability(capability, card.gpu.capability)
        ]

    def hold_back(self, indexes: Sequence[int]) -> None:
        """Take cards out of use whose attempt can't be stopped, until their locks are free and they pass."""
        for index in indexes:
            self._note(
                self._cards[index],
                CardState.IN_USE,
                "an attempt on it could not be stopped",
                again_in=_LOOK_AGAIN_SECONDS,
            )

    @property
    def count(self) -> int:
        """The number of cards, in any state."""
        return len(self._cards)

    def is_in_use(self) -> bool:
        """True if another program was seen to compute on one of the cards."""
        with self._lock:
            return any(card.state is CardState.IN_USE for card in self._cards.values())

    def witness(self, indexes: Sequence[int]) -> Witness | None:
        """A witness for these cards. None if the driver does not list the processes in a sandbox."""
        with self._lock:
            return Witness(indexes) if self._tells else None

    def due(self) -> list[int]:
        """The indexes of the cards that need a check now.

        A faulty card is checked again too, and is in use again after it passes.
        """
        now = time.monotonic()
        with self._lock:
            return [index for index, card in self._cards.items() if now >= card.check_at]

    def is_alone(self, index: int) -> bool:
        """True if no other program computes on the card, or if that does not matter here."""
        return not self._alone or not nvml.processes_on(index)

    def take(self, index: int) -> bool:
        """Look for other uses of a card whose lock is ours. False if there are any.

        The card is then out of use until the next look.
        """
        card = self._cards[index]
        why = self._find_use(index, card)
        if why:
            self._note(card, CardState.IN_USE, why, again_in=_LOOK_AGAIN_SECONDS)
        return not why

    def _find_use(self, index: int, card: _Card) -> str:
        if nvml.is_silent():
            return "its driver does not answer"
        if nvml.is_divided(index):
            return "it is divided by MIG, and only whole cards are used"
        if not self.is_alone(index):
            return "another program computes on it"
        if card.before_leak is not None:
            now = self.read(index)
            left = None if now is None else memory_left(card.before_leak, now)
            if left is not None:
                return left
            card.before_leak = None
        return ""

    def readings(self, indexes: Sequence[int]) -> list[CardReading]:
        """The states of these cards from the driver. Cards that the driver no longer knows are left out."""
        readings = (self.read(index) for index in indexes)
        return [reading for reading in readings if reading is not None]

    def condemn_missing(self, indexes: Sequence[int], readings: Sequence[CardReading]) -> str | None:
        """Take the first of these cards without a reading out of use, and say why. None if there is none."""
        known = {reading.index for reading in readings}
        lost = next((index for index in indexes if index not in known), None)
        return None if lost is None else self._condemn(lost, "the driver no longer knows the card")

    def condemn(self, indexes: Sequence[int], why: str) -> None:
        """Take cards out of use whose driver hangs, until a later check passes: one now would hang too."""
        for index in indexes:
            self._condemn(index, why, again_in=self._check_seconds)

    def condemn_faulty(self, before: Sequence[CardReading], after: Sequence[CardReading]) -> str | None:
        """The first fault that the driver reported between two readings. None if there is none.

        The card is then out of use until a check passes. A card on which the driver reported the fault of a
        program is checked next.
        """
        missing = self.condemn_missing([reading.index for reading in before], after)
        if missing is not None:
            return missing
        for earlier, later in zip(before, after, strict=True):
            fault = fault_of_driver(earlier, later)
            if fault is not None:
                return self._condemn(later.index, fault)
            card = self._cards[later.index]
            if is_shaken(earlier, later) and time.monotonic() - card.checked_at >= _SHAKEN_SECONDS:
                with self._lock:
                    card.check_at = 0.0
        return None

    def await_memory(self, before: Sequence[CardReading], after: Sequence[CardReading]) -> None:
        """Wait a moment for the memory of an attempt that has ended, if the readings say that it is in use.

        A card that does not give it back is out of use until it does.
        """
        until = time.monotonic() + _GIVE_BACK_SECONDS
        for earlier, later in zip(before, after, strict=True):
            now: CardReading | None = later
            while (left := None if now is None else memory_left(earlier, now)) is not None:
                if time.monotonic() >= until:
                    break
                time.sleep(_LOOK_AT_MEMORY_SECONDS)
                now = self.read(earlier.index)
            if left is not None and self.is_alone(earlier.index):
                card = self._cards[earlier.index]
                card.before_leak = earlier
                self._note(card, CardState.IN_USE, left, again_in=_LOOK_AGAIN_SECONDS)
                _log.error("card_memory_left", card=earlier.index, detail=left)

    def check(self, index: int, sandbox: Sandbox) -> bool:
        """Check the card with known answers. False if it may not be used now.

        True without a toolchain that can use a card. The caller holds the lock of the card.
        """
        card = self._cards[index]
        card.checked_at = time.monotonic()
        if not self.take(index):
            return False
        if card.is_dirty and not self._overwrite(card, sandbox):
            return False
        toolchain = self._toolchain()
        if toolchain is None:
            self._note(
                card, CardState.UNCHECKED, "no toolchain here can use a card", again_in=_LOOK_AGAIN_SECONDS
            )
            return True
        before = self.read(index)
        witness = Witness([index])
        with witness.watch():
            answer, trouble = self._ask(card.gpu, toolchain, sandbox)
        after = self.read(index)
        messages = [trouble] if answer is None else faults(answer, [card.gpu], self._known_answers())
        driver = None if before is None or after is None else fault_of_driver(before, after)
        if after is None:
            messages.append("the driver no longer knows it")
        if driver is not None:
            messages.append(driver)
        if messages:
            self._note(card, CardState.FAULTY, messages[0])
            _log.error("card_faulty", card=index, model=card.gpu.model, found=messages[:20])
            return False
        if answer is not None:
            self._learn(card.gpu, answer)
        with self._lock:
            self._tells = bool(witness.computed)
        self._note(card, CardState.SOUND, "")
        return True

    def clean(self, indexes: Sequence[int], sandbox: Sandbox) -> None:
        """Overwrite what an attempt left on these cards, if this node does so. Their locks are ours.

        A card on which that fails is out of use until it succeeds.
        """
        for index in indexes if self._overwrites else ():
            self._cards[index].is_dirty = True
            self._overwrite(self._cards[index], sandbox)

    def _overwrite(self, card: _Card, sandbox: Sandbox) -> bool:
        toolchain = self._toolchain()
        # Without a toolchain that can use a card, nobody has written anything there.
        card.is_dirty = toolchain is not None and not overwrite(card.gpu, toolchain, sandbox)
        if card.is_dirty:
            detail = "its memory could not be overwritten"
            self._note(card, CardState.IN_USE, detail, again_in=_LOOK_AGAIN_SECONDS)
        return not card.is_dirty

    def read(self, index: int) -> CardReading | None:
        """The state of a card, with the time of its last check that passed.

        None if the driver has no such card.
        """
        reading = nvml.read_card(index, xids=self._faults.xids(index))
        with self._lock:
            return (
                None
                if reading is None
                else reading.model_copy(update={"sound_at": self._cards[index].sound_at})
            )

    def _condemn(self, index: int, why: str, *, again_in: float = 0.0) -> str:
        self._note(self._cards[index], CardState.FAULTY, why, again_in=again_in)
        _log.error("card_faulty", card=index, found=[why])
        return why

    def _note(self, card: _Card, state: CardState, detail: str, *, again_in: float | None = None) -> None:
        moment = time.time()
        with self._lock:
            card.state, card.detail = state, detail
            card.check_at = time.monotonic() + (self._check_seconds if again_in is None else again_in)
            if state is CardState.SOUND:
                card.sound_at = moment
        if state is CardState.SOUND:
            record = PassRecord(sound_at=moment, boot=boot_id(), tells=self._tells)
            self._pass_file(card.gpu).write_text(record.model_dump_json(), encoding="utf-8")
        elif state is CardState.FAULTY:
            self._pass_file(card.gpu).unlink(missing_ok=True)

    def _pass_file(self, gpu: Gpu) -> Path:
        """The file that tells the next start of the node when the card passed its check."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self._folder / f"passed-{gpu.index}.json"

    def _remember(self, card: _Card) -> None:
        """Use a recent check of an earlier process, if the machine has not restarted since."""
        try:
            record = PassRecord.model_validate_json(self._pass_file(card.gpu).read_bytes())
        except (OSError, ValidationError):
            return
        age = time.time() - record.sound_at
        if record.boot == boot_id() and 0 <= age < self._check_seconds:
            card.state, card.sound_at, card.check_at = (
                CardState.SOUND,
                record.sound_at,
                time.monotonic() + self._check_seconds - age,
            )
            self._tells = record.tells

    def _ask(self, gpu: Gpu, toolchain: Toolchain, sandbox: Sandbox) -> tuple[Answer | None, str]:
        return ask_card(gpu, toolchain, sandbox, memory_bytes=self._check_memory_bytes)

    def _known_answers(self) -> KnownAnswers:
        """The known answers. Those that are shipped replace those that this node stored."""
        return {**read_answers(self._learned), **read_answers(_SHIPPED)}

    def _learn(self, gpu: Gpu, answer: Answer) -> None:
        """Store the first answer of a card model with these libraries. Later answers are compared with it."""
        key = answers_key(gpu, answer.build)
        if key in self._known_answers():
            return
        known = {**read_answers(self._learned), key: answer.digests["0"]}
        self._learned.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self._learned.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(known, indent=1), encoding="utf-8")
        fresh.replace(self._learned)


def watch_cards(settings: NodeSettings, toolchains: ToolchainStore) -> CardWatch:
    """The watch over all cards of this machine."""
    return CardWatch(
        nvml.find_gpus(),
        lambda: choose_for_cards(toolchains),
        folder=settings.cache_folder / "cards",
        check_seconds=settings.card_check_seconds,
        check_memory_bytes=settings.card_check_memory_bytes,
        alone=settings.cards_alone,
        overwrites=settings.cards_overwrite,
    )
