"""First answers while many reports wait, by playing time with the dispatch of the service. Nothing runs.

The seconds of an attempt on a card are those that were measured on an H200 (`bench/results/cards_h200.json`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from app.runs.lifecycle import node_choice
from app.runs.lifecycle.capacity import capacities_of
from app.settings import ServiceSettings
from app.storage.queries.queue.queue import Candidate, Hold
from app.targets.target import Target
from worker.contract import AttemptKind, CardState, CardUse, Device, Gpu, Hello, Level, ToolchainFacts

CHAIN = ToolchainFacts(name="torch-2.13-cu130", state="ready", torch="2.13.0", cuda_build="13.0")
BEGIN = datetime(2026, 11, 30, tzinfo=UTC)
# The head start of a first answer in the line for a card (`worker.cards.hold`).
HEAD_START_SECONDS = 20.0
# From the start of an attempt to its first touch, and then with its card.
IMPORT_SECONDS, CARD_SECONDS = 4.2, 1.2
REPEATS = 3


def hello(*, cards: int, places: int) -> Hello:
    gpu = Gpu(
        index=0, model="H200", memory_bytes=1, capability="9.0", driver="1", state=CardState.SOUND, sound_at=1
    )
    return Hello(
        node="lab",
        instance="one",
        slots=cards * places,
        level=Level.NAMESPACES_CGROUP,
        gpus=[gpu.model_copy(update={"index": index}) for index in range(cards)],
        toolchains=[CHAIN],
        cores=16,
        card_places=places,
    )


@dataclass(slots=True)
class Job:
    run: str
    came_at: float
    submitter: str | None = None
    gpus: int = 1
    repeats: int = REPEATS


@dataclass(slots=True)
class Play:
    """One node on which the attempts of jobs run; `answers` are the seconds from coming to each answer."""

    cards: int = 1
    places: int = 4
    settings: ServiceSettings = field(default_factory=ServiceSettings)
    now: float = 0.0
    answers: dict[str, list[float]] = field(default_factory=dict)
    _waiting: list[Candidate] = field(default_factory=list)
    # The attempts on the node that wait for a slot.
    _queue: list[Candidate] = field(default_factory=list)
    # The attempts in slots, and the time from which each can use its card.
    _importing: dict[str, tuple[Candidate, float]] = field(default_factory=dict)
    # The attempts with cards, and the time at which each ends.
    _on_cards: dict[str, tuple[Candidate, float]] = field(default_factory=dict)
    _next_on_cards: dict[str, node_choice.NextOnCards] = field(default_factory=dict)

    def moment(self) -> datetime:
        return BEGIN + timedelta(seconds=self.now)

    def come(self, job: Job) -> None:
        target = Target(device=Device.CUDA, gpus=job.gpus, toolchain=CHAIN.name).model_dump(mode="json")
        self._waiting += [
            Candidate(
                attempt_id=f"{job.run}-{turn}",
                job_id=job.run,
                run_id=job.run,
                node=None,
                target=target,
                queued_at=self.moment(),
                turn=turn,
                submitter=job.submitter,
            )
            for turn in range(job.repeats)
        ]
        self.answers[job.run] = []

    def play(self, jobs: list[Job], *, until: float) -> dict[str, list[float]]:
        coming = sorted(jobs, key=lambda job: job.came_at)
        came = {job.run: job.came_at for job in jobs}
        while self.now < until:
            while coming and coming[0].came_at <= self.now:
                self.come(coming.pop(0))
            for candidate in self._ended():
                self.answers[candidate.run_id].append(round(self.now - came[candidate.run_id], 1))
            self._dispatch()
            self._start()
            self._touch()
            events = [job.came_at for job in coming[:1]]
            events += [at for _, at in (*self._importing.values(), *self._on_cards.values()) if at > self.now]
            if not events:
                break
            self.now = min(events)
        return self.answers

    def _ended(self) -> Iterator[Candidate]:
        over = [candidate for candidate, ends_at in self._on_cards.values() if ends_at <= self.now]
        for candidate in over:
            del self._on_cards[candidate.attempt_id]
        yield from over

    @property
    def _held(self) -> list[Candidate]:
        in_slots = (*self._importing.values(), *self._on_cards.values())
        return [*self._queue, *(candidate for candidate, _ in in_slots)]

    def _dispatch(self) -> None:
        fleet = {"lab": hello(cards=self.cards, places=self.places)}
        holds = [
            Hold(
                node="lab",
                run_id=each.run_id,
                target=each.target,
                job_id=each.job_id,
                submitter=each.submitter,
            )
            for each in self._held
        ]
        uses = {each.job_id: CardUse.AT_TOUCH for each in [*self._waiting, *self._held]}
        chosen = node_choice.choose(
            self._waiting,
            capacities_of(fleet, holds, uses),
            holds,
            uses=uses,
            settings=self.settings,
            next_on_cards=self._next_on_cards,
        )
        begun = {each.run_id for each in self._waiting if each.attempt_id in chosen}
        by_id = {each.attempt_id: each for each in self._waiting}
        first = node_choice.first_answers(by_id, chosen)
        self._queue += [replace(by_id[attempt], run_has_begun=attempt not in first) for attempt in chosen]
        self._waiting = [
            replace(each, run_has_begun=True, node="lab" if each.run_id in begun else each.node)
            if each.run_id in begun
            else each
            for each in self._waiting
            if each.attempt_id not in chosen
        ]

    def _start(self) -> None:
        """The attempts that have waited longest get the free slots. One on several cards waits for all."""
        slots = self.cards * self.places
        while self._queue and len(self._importing) + len(self._on_cards) < slots:
            candidate = self._queue.pop(0)
            self._importing[candidate.attempt_id] = (candidate, self.now + IMPORT_SECONDS)

    def _touch(self) -> None:
        """The attempts that have waited longest get the free cards."""
        free = self.cards - sum(_gpus(candidate) for candidate, _ in self._on_cards.values())
        for candidate, ready_at in sorted(self._importing.values(), key=_place_in_line):
            if ready_at > self.now:
                continue
            if _gpus(candidate) > free:
                return
            free -= _gpus(candidate)
            del self._importing[candidate.attempt_id]
            self._on_cards[candidate.attempt_id] = (candidate, self.now + CARD_SECONDS)


def _place_in_line(pair: tuple[Candidate, float]) -> float:
    candidate, ready_at = pair
    return ready_at - (0.0 if candidate.run_has_begun else HEAD_START_SECONDS)


def _gpus(candidate: Candidate) -> int:
    return int(candidate.target["gpus"])


@pytest.fixture(autouse=True)
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    made = Play()
    monkeypatch.setattr(node_choice, "now", made.moment)
    return made


@pytest.mark.parametrize("came_at", [13.0, 37.0])
def test_a_report_of_somebody_else_has_its_first_answer_within_ten_seconds(
    play: Play, came_at: float
) -> None:
    """Twenty reports of one submitter wait, most of which have not begun."""
    many = [Job(f"many {number}", 0.0, "many") for number in range(20)]
    answers = play.play([*many, Job("new", came_at, "few")], until=50)
    assert answers["new"][0] <= 10.0


@pytest.mark.parametrize("places", [4, 8])
def test_so_has_one_that_comes_while_twenty_wait_for_repeats(play: Play, places: int) -> None:
    """Also without tokens: repeats of others are not before it, on the queue and in the line for the card."""
    play.places = places
    many = [Job(f"many {number}", 0.0, repeats=5) for number in range(20)]
    new = [Job(f"new {number}", 40.0 + 20 * number) for number in range(3)]
    answers = play.play([*many, *new], until=90)
    assert max(answers[job.run][0] for job in new) <= 10.0
    # Repeats go on meanwhile.
    assert sum(len(answers[job.run]) for job in many) >= 50


def test_repeats_that_start_with_a_first_answer_have_no_head_start(play: Play) -> None:
    """The first attempt of another report comes before them in the line for the card."""
    play.places = 8
    answers = play.play([Job("old", 0.0, repeats=6), Job("new", 0.1, repeats=1)], until=20)
    assert answers["old"][0] < answers["new"][0] <= 7.0
    assert len(answers["old"]) == 6


def test_twenty_that_come_at_once_are_answered_as_fast_as_the_slots_can(play: Play) -> None:
    answers = play.play([Job(f"run {number:02}", 0.0) for number in range(20)], until=45)
    firsts = sorted(times[0] for times in answers.values())
    assert firsts[-1] <= (20 / play.places + 1) * (IMPORT_SECONDS + CARD_SECONDS)
    # No second answer came before the last of these.
    assert min(times[1] for times in answers.values() if len(times) > 1) >= firsts[-1]


def test_a_job_on_two_cards_never_starves_behind_a_stream_of_single_ones(play: Play) -> None:
    play.cards = 2
    # More than two cards can do: two of them every 1.2 seconds.
    singles = [Job(f"single {number:03}", 0.5 * number, repeats=1) for number in range(200)]
    pairs = [Job(f"pair {number}", 15.0 + 20 * number, gpus=2) for number in range(3)]
    answers = play.play([*singles, *pairs], until=140)
    assert [len(answers[pair.run]) for pair in pairs] == [REPEATS] * 3
    assert max(answers[pair.run][0] for pair in pairs) <= 30.0
    # The single ones go on.
    assert sum(bool(times) for run, times in answers.items() if run.startswith("single")) > 60


def test_previews_come_first_for_runs_of_which_nothing_has_begun() -> None:
    """The cold first attempts of the others are under way."""
    target = Target(device=Device.CUDA, gpus=1, toolchain=CHAIN.name).model_dump(mode="json")
    previews = [
        Candidate(
            attempt_id=f"preview of {run}",
            job_id=run,
            run_id=run,
            node=None,
            target=target,
            queued_at=BEGIN,
            kind=AttemptKind.PREVIEW,
            run_has_begun=run < "c",
        )
        for run in "abcd"
    ]
    fleet = {"lab": hello(cards=1, places=4).model_copy(update={"previews": 1})}
    chosen = node_choice.choose_previews(
        previews, capacities_of(fleet, [], {}), required_level=Level.NAMESPACES
    )
    assert list(chosen) == ["preview of c", "preview of d"]


def test_nobody_starves_behind_a_stream_of_new_reports(play: Play) -> None:
    """More reports come than the card can do, and each is new. A repeat is overdue after a while."""
    play.settings = ServiceSettings(repeat_seconds=30.0)
    stream = [Job(f"stream {number:03}", 1.0 * number, f"who {number}", repeats=2) for number in range(150)]
    answers = play.play([Job("old", 0.0, "old"), *stream], until=150)
    assert len(answers["old"]) == REPEATS
