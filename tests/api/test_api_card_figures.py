"""The figures of cards: attempts a minute, first answers, the price of a verdict, and shares of the time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from api.web_client import Web
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import update
from stage import TOOLCHAIN, Stage, result

from app.runs.figures.cards import CardFigures, CardHistory, NodeCards, card_figures
from app.runs.submission.submit import Submission, submit
from app.storage.models import AttemptRow, NodeRow, RunRow
from app.storage.queries.figures import CardJobRow, CardUseRow, latest_card_jobs, latest_card_uses
from app.targets.target import Target
from app.web.views.grouped_rows import card_figures_words
from worker.contract import Attempt, CardReading, CardState, Device, Gpu, Hello, Level, ToolchainFacts

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
LONG_AGO = NOON - timedelta(days=9)


def use(minutes_ago: float, seconds: float, *cards: int, node: str = "lab") -> CardUseRow:
    return CardUseRow(
        node=node,
        cards=[f"{node}/{card}/7.5" for card in cards or (0,)],
        seconds=seconds,
        ended_at=NOON - timedelta(minutes=minutes_ago),
    )


def job(run: str, *, after: float | None = 8.0, **more: Any) -> CardJobRow:
    """A cell of a run that was submitted half an hour ago; its first answer came so many seconds later."""
    submitted_at = NOON - timedelta(minutes=30)
    facts = {
        "node": "lab",
        "run_id": run,
        "submitted_at": submitted_at,
        "is_submitted": True,
        "has_verdict": True,
        "first_at": None if after is None else submitted_at + timedelta(seconds=after),
        "card_seconds": 3.0,
        **more,
    }
    return CardJobRow(**facts)


def figures(
    uses: list[CardUseRow],
    jobs: list[CardJobRow] | None = None,
    *,
    cards: tuple[int, ...] = (0,),
    known_since: datetime = LONG_AGO,
    complete_since: datetime = LONG_AGO,
) -> tuple[CardFigures, CardFigures]:
    history = CardHistory(uses=uses, jobs=jobs or [], complete_since=complete_since)
    nodes = {"lab": NodeCards(indexes=cards, known_since=known_since)}
    hour, day = card_figures(nodes, history, moment=NOON)["lab"]
    return hour, day


def test_a_rate_is_by_minute_and_card_in_its_window() -> None:
    hour, day = figures([use(1, 2.0, node="other"), use(5, 2.0), use(50, 2.0, 1), use(90, 2.0)], cards=(0, 1))
    assert (hour.attempts, day.attempts) == (2, 3)
    assert hour.attempts_per_minute_and_card == pytest.approx(2 / 60 / 2, abs=0.01)
    assert [card.attempts for card in hour.cards] == [1, 1]


def test_a_share_counts_a_shared_second_once_and_ends_at_the_window() -> None:
    # Two attempts together had the card from minute 10 to 4; a third one since before the window.
    hour, _ = figures([use(4, 300.0), use(5, 300.0), use(58, 600.0)])
    assert hour.cards[0].taken_share == pytest.approx((360 + 120) / 3600, abs=0.0001)
    # The seconds of an attempt on two cards are those of both together.
    hour, _ = figures([use(4, 720.0, 0, 1)], cards=(0, 1))
    assert [card.taken_share for card in hour.cards] == [0.1, 0.1]


def test_a_window_begins_when_the_node_was_seen_or_reading_ended() -> None:
    recent = NOON - timedelta(minutes=10)
    for more in ({"known_since": recent}, {"complete_since": recent}):
        hour, day = figures([use(5, 60.0), use(20, 60.0)], **more)
        assert (hour.since, day.since) == (recent, recent)
        assert (hour.attempts, hour.attempts_per_minute_and_card, hour.cards[0].taken_share) == (1, 0.1, 0.1)
        assert card_figures_words(hour, moment=NOON).startswith(
            "Since 30 Nov, 11:50 UTC: 0.1 attempts a minute and card"
        )


def test_a_first_answer_is_one_of_a_run_and_a_price_one_of_a_verdict() -> None:
    jobs = [
        job("a", after=4.0),
        job("a", after=60.0, card_seconds=7.0),
        job("b", after=10.0, has_verdict=False),
        # Its first answer came from another node.
        job("c", after=20.0),
        job("c", after=2.0, node="other"),
        # Nobody waited for this one.
        job("d", after=900.0, is_submitted=False),
        job("e", after=None, has_verdict=False, node=None),
    ]
    hour, _ = figures([], jobs)
    assert (hour.first_answers, hour.first_answer_seconds) == (2, 7.0)
    assert (hour.verdicts, hour.card_seconds_per_verdict) == (4, 4.0)
    empty, _ = figures([])
    assert (empty.first_answer_seconds, empty.card_seconds_per_verdict) == (None, None)


def test_a_node_without_cards_has_none() -> None:
    nodes = {"lab": NodeCards(indexes=(), known_since=LONG_AGO)}
    assert card_figures(nodes, CardHistory(uses=[], jobs=[], complete_since=LONG_AGO), moment=NOON) == {}


def card_node(stage: Stage) -> None:
    card = Gpu(
        index=0, model="H", memory_bytes=1, capability="9.0", driver="1", state=CardState.SOUND, sound_at=1.0
    )
    chain = ToolchainFacts(
        name=TOOLCHAIN, state="ready", packages={"torch": "2.13.0"}, torch="2.13.0", cuda_build="13.0"
    )
    stage.say(
        Hello(
            node="lab",
            instance="one",
            slots=4,
            level=Level.NAMESPACES,
            gpus=[card],
            toolchains=[chain],
            cores=8,
        )
    )
    stage.beat("lab")


def give(stage: Stage, attempt: Attempt, *, card_seconds: float, node: str = "lab") -> None:
    stage.start(attempt, node=node)
    seen = result(attempt, node=node)
    cards = [CardReading(index=0, sound_at=1.0)] if card_seconds else []
    update = {"cards": cards, "card_seconds": card_seconds}
    stage.say(seen.model_copy(update={"observation": seen.observation.model_copy(update=update)}))


def test_they_are_on_the_page_in_rest_and_in_the_metrics(web: Web) -> None:
    stage = web.stage
    card_node(stage)
    assert "Since" in web.client.get("/nodes").text
    with stage.session() as session:
        target = Target(device=Device.CUDA, gpus=1, toolchain=TOOLCHAIN)
        script = "raise RuntimeError('boom')"
        run = submit(
            session,
            Submission(script=script, claim="RuntimeError: boom", repeats=2, targets=(target,)),
            settings=stage.settings,
        ).document.id
    for seconds in (12.0, 0.0):
        (attempt,) = stage.dispatch()
        give(stage, attempt, card_seconds=seconds)
    assert stage.run(run).state == "finished"
    with stage.session() as session:
        # The node has been there for two days, and the run came a minute before its first answer.
        session.execute(update(NodeRow).values(created_at=NodeRow.created_at - timedelta(days=2)))
        session.execute(update(RunRow).values(created_at=RunRow.created_at - timedelta(minutes=1)))
    node = next(each for each in web.client.get("/api/v1/nodes").json()["items"] if each["name"] == "lab")
    hour, day = node["card_figures"]
    assert (hour["window"], day["window"]) == ("hour", "day")
    assert (hour["attempts"], hour["attempts_per_minute_and_card"]) == (1, 0.02)
    assert (hour["verdicts"], hour["card_seconds_per_verdict"]) == (1, 12.0)
    assert hour["first_answers"] == 1
    assert 60 <= hour["first_answer_seconds"] < 90
    assert hour["cards"] == [{"index": 0, "attempts": 1, "taken_share": pytest.approx(12 / 3600, abs=1e-4)}]
    text = web.client.get("/nodes").text
    assert "Last hour: 0.02 attempts a minute and card; the first answer after" in text
    assert "12 s of a card for each verdict; attempts had card 0 0 % of the time." in text
    samples = {
        (sample.name, sample.labels.get("window")): sample.value
        for family in text_string_to_metric_families(web.client.get("/metrics").text)
        for sample in family.samples
        if sample.labels.get("node") == "lab"
    }
    assert samples["samehere_card_attempts_per_minute", "hour"] == 0.02
    assert samples["samehere_card_seconds_per_verdict", "day"] == 12.0
    assert samples["samehere_card_taken_ratio", "hour"] == hour["cards"][0]["taken_share"]
    assert samples["samehere_card_first_answer_seconds", "hour"] == hour["first_answer_seconds"]


def test_no_more_is_read_than_the_bounds(web: Web) -> None:
    stage = web.stage
    first, second = stage.submit(), stage.submit("print(1)\n")
    for attempt in stage.dispatch():
        give(stage, attempt, card_seconds=1.0, node="n")
    with stage.session() as session:
        since = datetime.now(UTC) - timedelta(days=1)
        assert len(latest_card_uses(session, since=since, most=4)) == 4
        session.execute(update(AttemptRow).values(recorded_at=since - timedelta(days=1)))
        assert latest_card_uses(session, since=since, most=4) == []
        assert latest_card_jobs(session, since=since, most=2)[1] is None
        _, cut_at = latest_card_jobs(session, since=since, most=1)
        created = {row.id: row.created_at for row in session.query(RunRow)}
    assert cut_at == created[second.document.id] > created[first.document.id]
