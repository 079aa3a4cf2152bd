"""Keeps watch over the cards of a node: checks them before they give evidence, and keeps from use what is faulty or taken by others."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog
from pydantic import BaseModel, TypeAdapter, ValidationError

from worker.cards import nvml
from worker.cards.health import Answer, KnownAnswers, answers_key, fault_of_driver, faults, read_answer
from worker.cards.witness import Witness
from worker.contract import GIB, CardReading, CardState, Gpu, Limits
from worker.harness import HARNESS_CONFIG_PATH, known_answer_source
from worker.machine.settings import NodeSettings
from worker.sandbox import Ending, Sandbox, SandboxJob
from worker.toolchains import Toolchain, ToolchainStore
from worker.toolchains.default_choice import choose_for_cards

_PROGRAM_PATH = "/run/samehere/known_answer.py"
_SHIPPED = Path(__file__).with_name("known_answers.json")
_MEMORY_BYTES = 8 * GIB
_LOOK_AGAIN_SECONDS = 5.0
_log = structlog.get_logger(__name__)
_answers: TypeAdapter[dict[str, dict[str, str]]] = TypeAdapter(dict[str, dict[str, str]])


@dataclass(slots=True)
class _Card:
    gpu: Gpu
    state: CardState = CardState.UNCHECKED
    detail: str = ""
    # By the monotonic clock.
    check_at: float = 0.0
    # When a check last passed, in seconds since 1970: what was seen since then rests on it.
    sound_at: float | None = None


class _Passed(BaseModel):
    sound_at: float
    boot: str
    tells: bool


class CardWatch:
    """One per node process. `toolchain` gives one whose torch can use a card, or None: then nothing can be checked.

    `alone`: no card is given out on which somebody else computes.
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
    ) -> None:
        self._cards = {gpu.index: _Card(gpu) for gpu in gpus}
        self._folder = folder
        self._alone = alone
        self._toolchain = toolchain
        self._learned = folder / "known_answers.json"
        self._check_seconds = check_seconds
        self._check_memory_bytes = check_memory_bytes
        self._lock = threading.Lock()
        self._faults = nvml.FaultWatch()
        # Whether the driver tells us of processes in a sandbox: learnt by looking at a check.
        self._tells = False
        for card in self._cards.values():
            self._remember(card)

    def start(self) -> None:
        if self._cards:
            self._faults.start()

    def stop(self) -> None:
        if self._cards:
            self._faults.stop()

    def cards(self) -> list[Gpu]:
        """All of them, with the state each is in."""
        with self._lock:
            return [
                card.gpu.model_copy(
                    update={"state": card.state, "detail": card.detail, "sound_at": card.sound_at}
                )
                for card in self._cards.values()
            ]

    def select(self, indexes: Iterable[int]) -> list[Gpu]:
        """These cards, without their state: what an attempt on them has in common with one on their like."""
        wanted = set(indexes)
        return [card.gpu for index, card in self._cards.items() if index in wanted]

    def usable(self) -> list[int]:
        """Those that may be given to an attempt."""
        with self._lock:
            return [
                index
                for index, card in self._cards.items()
                if card.state in {CardState.SOUND, CardState.UNCHECKED}
            ]

    @property
    def count(self) -> int:
        """How many there are, in whatever state."""
        return len(self._cards)

    def is_in_use(self) -> bool:
        """Whether somebody else computes on any of them."""
        with self._lock:
            return any(card.state is CardState.IN_USE for card in self._cards.values())

    def witness(self, indexes: Sequence[int]) -> Witness | None:
        """Of these cards; None where the driver tells nothing of what runs in a sandbox."""
        with self._lock:
            return Witness(indexes) if self._tells else None

    def due(self) -> list[int]:
        """Those whose last check is too long ago; a faulty card is checked again too, and given out again once it passes."""
        now = time.monotonic()
        with self._lock:
            return [index for index, card in self._cards.items() if now >= card.check_at]

    def take(self, index: int) -> bool:
        """Whether nobody else computes on a card whose lock is ours; else it is out of use for a while."""
        if not self._alone:
            return True
        if not nvml.processes_on(index):
            return True
        self._note(
            self._cards[index],
            CardState.IN_USE,
            "a program of somebody else's computes on it",
            again_in=_LOOK_AGAIN_SECONDS,
        )
        return False

    def readings(self, indexes: Sequence[int]) -> list[CardReading]:
        """What the driver tells of these cards, each with when it last passed its check."""
        found = [self.read(index) for index in indexes]
        return [reading for reading in found if reading is not None]

    def condemn_faulty(self, before: Sequence[CardReading], after: Sequence[CardReading]) -> str | None:
        """What the driver reported of a card between two readings, if anything: then it is out of use until a check passes."""
        if len(after) < len(before):
            lost = next(
                reading.index for reading in before if reading.index not in {other.index for other in after}
            )
            return self._condemn(lost, "the driver does not know the card any more")
        for earlier, later in zip(before, after, strict=True):
            fault = fault_of_driver(earlier, later)
            if fault is not None:
                return self._condemn(later.index, fault)
        return None

    def check(self, index: int, sandbox: Sandbox) -> bool:
        """Whether the card computes rightly. In the slot's thread, with the card locked."""
        card = self._cards[index]
        if not self.take(index):
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
        found = [trouble] if answer is None else faults(answer, [card.gpu], self._known())
        driver = None if before is None or after is None else fault_of_driver(before, after)
        if after is None:
            found.append("the driver does not know it any more")
        if driver is not None:
            found.append(driver)
        if found:
            self._note(card, CardState.FAULTY, found[0])
            _log.error("card_faulty", card=index, model=card.gpu.model, found=found[:20])
            return False
        if answer is not None:
            self._learn(card.gpu, answer)
        with self._lock:
            self._tells = bool(witness.computed)
        self._note(card, CardState.SOUND, "")
        return True

    def read(self, index: int) -> CardReading | None:
        reading = nvml.read_card(index, xids=self._faults.xids(index))
        with self._lock:
            return (
                None
                if reading is None
                else reading.model_copy(update={"sound_at": self._cards[index].sound_at})
            )

    def _condemn(self, index: int, why: str) -> str:
        self._note(self._cards[index], CardState.FAULTY, why, again_in=0.0)
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
            passed = _Passed(sound_at=moment, boot=_boot(), tells=self._tells)
            self._passed(card.gpu).write_text(passed.model_dump_json(), encoding="utf-8")
        elif state is CardState.FAULTY:
            self._passed(card.gpu).unlink(missing_ok=True)

    def _passed(self, gpu: Gpu) -> Path:
        """Where it is kept that the card passed, for the next start."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self._folder / f"passed-{gpu.index}.json"

    def _remember(self, card: _Card) -> None:
        """A check that passed shortly before an earlier process ended still holds."""
        try:
            passed = _Passed.model_validate_json(self._passed(card.gpu).read_bytes())
        except (OSError, ValidationError):
            return
        age = time.time() - passed.sound_at
        if passed.boot == _boot() and 0 <= age < self._check_seconds:
            card.state, card.sound_at, card.check_at = (
                CardState.SOUND,
                passed.sound_at,
                time.monotonic() + self._check_seconds - age,
            )
            self._tells = passed.tells

    def _ask(self, gpu: Gpu, toolchain: Toolchain, sandbox: Sandbox) -> tuple[Answer | None, str]:
        job = SandboxJob(
            argv=(toolchain.python_inside, _PROGRAM_PATH, str(self._check_memory_bytes)),
            files={_PROGRAM_PATH: known_answer_source(), HARNESS_CONFIG_PATH: b"{}"},
            variables={"CUBLAS_WORKSPACE_CONFIG": ":4096:8"},
            binds=toolchain.binds,
            devices=nvml.device_nodes([gpu]),
            limits=Limits(wall_seconds=120.0, memory_bytes=_MEMORY_BYTES),
        )
        result = sandbox.run(job, cancelled=threading.Event())
        if result.ending is not Ending.EXITED or result.exit_status != 0:
            said = result.stderr.tail or result.stderr.head
            _log.warning(
                "card_check_failed",
                ending=result.ending,
                exit_status=result.exit_status,
                said=said[-2000:].decode("utf-8", "replace"),
            )
            return None, f"its check ended with {result.ending} and exit status {result.exit_status}"
        answer = read_answer(result.stdout.head)
        return answer, "" if answer else "its check gave no readable answer"

    def _known(self) -> KnownAnswers:
        """What is shipped wins over what was learned here."""
        return {**_read(self._learned), **_read(_SHIPPED)}

    def _learn(self, gpu: Gpu, answer: Answer) -> None:
        """The first answer of a model with these libraries, so that a later one or another card can be held against it."""
        key = answers_key(gpu, answer.build)
        if key in self._known():
            return
        known = {**_read(self._learned), key: answer.digests["0"]}
        self._learned.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = self._learned.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(known, indent=1), encoding="utf-8")
        fresh.replace(self._learned)


def watch_cards(settings: NodeSettings, toolchains: ToolchainStore) -> CardWatch:
    """Over all cards of this machine, as the node's settings say."""
    return CardWatch(
        nvml.find_gpus(),
        lambda: choose_for_cards(toolchains),
        folder=settings.cache_folder / "cards",
        check_seconds=settings.card_check_seconds,
        check_memory_bytes=settings.card_check_memory_bytes,
        alone=settings.cards_alone,
    )


def _read(path: Path) -> dict[str, dict[str, str]]:
    try:
        return _answers.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return {}


def _boot() -> str:
    """Tells one start of the machine from another."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
