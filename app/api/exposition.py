"""The metrics of the whole service in the form of Prometheus."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from app.judging.judgement import Verdict
from app.runs.lookup.metrics import Snapshot
from app.runs.rows.events import EVENT_KINDS
from app.storage.tallies import BUCKETS, Tally
from worker.contract import CardState, Level, Outcome

PARTS = ("recorder", "beat")
PREFIX = "samehere_"
REFUSALS = (
    "too_large",
    "malformed",
    "of_another_node",
    "start_without_lease",
    "unknown_attempt",
    "result_without_lease",
)
_PLAIN_COUNTERS = {
    Tally.ENQUEUED: "Attempts queued.",
    Tally.CLAIMED: "Leases of attempts given to nodes.",
    Tally.FINISHED: "Attempts with a stored result.",
    Tally.LOST: "Attempts given up after too many leases.",
    Tally.LEASES_RUN_OUT: "Leases that ran out because their node was silent.",
}
_LABELLED_COUNTERS: dict[Tally, tuple[str, str, Sequence[str]]] = {
    Tally.OUTCOMES: ("Stored results, by outcome.", "outcome", tuple(Outcome)),
    Tally.REFUSALS: ("Messages of nodes that were refused, by reason.", "reason", REFUSALS),
    Tally.EVENTS: ("Events of runs, by kind.", "kind", EVENT_KINDS),
    Tally.VERDICTS: ("Verdicts of runs that ended, by verdict.", "verdict", (*Verdict, "none")),
}
_TIMES = {
    Tally.QUEUE_TIME: "Time of an attempt in the queue, until a node had its lease.",
    Tally.RUN_TIME: "Time from the start of an attempt until its result was stored.",
    Tally.JUDGING_TIME: "Time to judge a run at its end.",
}


class _Service(Collector):
    """One scrape. Without a snapshot the database did not answer."""

    def __init__(self, figures: Snapshot | None, *, canary_passed: bool) -> None:
        self._figures = figures
        self._canary_passed = canary_passed

    def collect(self) -> Iterator[Metric]:
        figures = self._figures
        yield _gauge("database_up", "1 if the database answers.", figures is not None)
        if figures is None:
            return
        yield _gauge("broker_up", "1 if the broker answers.", figures.backlog is not None)
        if figures.backlog is not None:
            yield _gauge("recorder_backlog", "Messages of nodes that are not recorded yet.", figures.backlog)
            silence = GaugeMetricFamily(
                PREFIX + "part_silence_seconds", "Time since the last sign of life.", labels=["part"]
            )
            for part in PARTS:
                silence.add_metric([part], figures.silences.get(part, math.inf))
            yield silence
        yield _gauge("canary_passed", "0 if the last canary failed or is late.", self._canary_passed)
        yield from _counters(figures)
        yield from _histograms(figures)
        yield from _states(figures)
        yield from _nodes(figures)
        yield from _cards(figures)


def _gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(PREFIX + name, words, value=float(value))


def _counters(figures: Snapshot) -> Iterator[Metric]:
    for name, words in _PLAIN_COUNTERS.items():
        yield CounterMetricFamily(PREFIX + name, words, value=figures.total(name))
    for name, (words, label, values) in _LABELLED_COUNTERS.items():
        family = CounterMetricFamily(PREFIX + name, words, labels=[label])
        for value in values:
            family.add_metric([value], figures.total(name, value))
        yield family


def _histograms(figures: Snapshot) -> Iterator[Metric]:
    for name, words in _TIMES.items():
        total, buckets = 0, []
        for bound in (*(f"{bound:g}" for bound in BUCKETS), "+Inf"):
            total += figures.total(name, bound)
            buckets.append((bound, float(total)))
        seconds = sum(part.seconds for (other, _label), part in figures.tallies.items() if other == name)
        family = HistogramMetricFamily(PREFIX + name, words)
        family.add_metric([], buckets=buckets, sum_value=seconds)
        yield family


def _states(figures: Snapshot) -> Iterator[Metric]:
    for name, words, counts in (
        ("attempts", "Attempts, by state.", figures.attempts_by_state),
        ("runs", "Runs, by state.", figures.runs_by_state),
    ):
        family = GaugeMetricFamily(PREFIX + name, words, labels=["state"])
        for state, number in counts.items():
            family.add_metric([state], number)
        yield family
    yield _gauge("queue_length", "Attempts that wait for a node.", figures.attempts_by_state["queued"])
    yield _gauge(
        "oldest_queued_seconds", "How long the oldest of them has waited.", figures.oldest_queued_seconds
    )
    if figures.nodes_ready is not None:
        words = "Nodes with a sign of life that get work: not draining, paused or quarantined."
        yield _gauge("nodes_ready", words, figures.nodes_ready)
    yield _gauge("nodes_known", "Nodes ever seen.", len(figures.nodes))


def _nodes(figures: Snapshot) -> Iterator[Metric]:
    up = GaugeMetricFamily(PREFIX + "node_up", "1 if the node is ready or draining.", labels=["node"])
    draining = GaugeMetricFamily(
        PREFIX + "node_draining", "1 if the node is draining or paused.", labels=["node"]
    )
    quarantined = GaugeMetricFamily(PREFIX + "node_quarantined", "1 if it is quarantined.", labels=["node"])
    slots = GaugeMetricFamily(PREFIX + "node_slots", "Attempts that it runs at a time.", labels=["node"])
    busy = GaugeMetricFamily(PREFIX + "node_busy", "Attempts that it has leases for.", labels=["node"])
    level = GaugeMetricFamily(PREFIX + "node_level", "1 for its isolation level.", labels=["node", "level"])
    cards = GaugeMetricFamily(
        PREFIX + "node_card", "1 for the state of a card.", labels=["node", "card", "state"]
    )
    for node in figures.nodes:
        if node.state != "unknown":
            up.add_metric([node.name], node.state in {"ready", "draining"})
            draining.add_metric([node.name], node.state == "draining")
        quarantined.add_metric([node.name], node.quarantined)
        slots.add_metric([node.name], node.slots)
        busy.add_metric([node.name], node.busy + node.waiting)
        for one in Level:
            level.add_metric([node.name, one], node.level is one)
        for card in node.gpus:
            for state in CardState:
                cards.add_metric([node.name, str(card.index), state], card.state is state)
    yield from (up, draining, quarantined, slots, busy, level, cards)


def _cards(figures: Snapshot) -> Iterator[Metric]:
    """The work of the cards in the last hour and day. A figure that rests on nothing is left out."""
    labels = ["node", "window"]
    rate = GaugeMetricFamily(
        PREFIX + "card_attempts_per_minute", "Attempts a minute and card.", labels=labels
    )
    first = GaugeMetricFamily(
        PREFIX + "card_first_answer_seconds",
        "Median time from the submission of a run to its first counted attempt on a card.",
        labels=labels,
    )
    price = GaugeMetricFamily(
        PREFIX + "card_seconds_per_verdict", "Time of cards for one verdict of a cell.", labels=labels
    )
    taken = GaugeMetricFamily(
        PREFIX + "card_taken_ratio",
        "Share of the time in which an attempt had the card.",
        labels=["node", "card", "window"],
    )
    for node in figures.nodes:
        for window in node.card_figures:
            rate.add_metric([node.name, window.window], window.attempts_per_minute_and_card)
            if window.first_answer_seconds is not None:
                first.add_metric([node.name, window.window], window.first_answer_seconds)
            if window.card_seconds_per_verdict is not None:
                price.add_metric([node.name, window.window], window.card_seconds_per_verdict)
            for card in window.cards:
                taken.add_metric([node.name, str(card.index), window.window], card.taken_share)
    yield from (rate, first, price, taken)


def service_metrics(figures: Snapshot | None, *, canary_passed: bool) -> bytes:
    """The text for one scrape. Without figures the database did not answer."""
    registry = CollectorRegistry()
    registry.register(_Service(figures, canary_passed=canary_passed))
    return generate_latest(registry)
