"""`/metrics`: the conventions of Prometheus, counters that never fall, and zeros before anything happens."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import httpx2
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from running_web import Web
from stage import Stage, result

from app.runs.maintenance.quarantine import quarantine
from app.runs.maintenance.withdraw import withdraw
from app.storage.tallies import Tally, count, read_tallies, sum_tallies
from worker.contract import CardState, Gpu, Hello, Level, Outcome

OPS = Path(__file__).parents[2] / "ops"
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(client: httpx2.Client) -> tuple[Samples, dict[str, str]]:
    """The samples by name and labels, and the types of the families."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    samples: Samples = {}
    types = {}
    for family in text_string_to_metric_families(answer.text):
        assert family.name not in types, "a family is there once"
        assert family.documentation
        types[family.name] = family.type
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in samples
            samples[key] = sample.value
    return samples, types


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"samehere_{name}", frozenset(labels.items())]


def counters(samples: Samples) -> Samples:
    """The samples that may never fall."""
    ends = ("_total", "_bucket", "_count", "_sum")
    return {key: number for key, number in samples.items() if key[0].endswith(ends)}


def finish(stage: Stage, run_id: str) -> None:
    for _ in range(20):
        for attempt in stage.dispatch():
            stage.start(attempt, node="n")
            stage.say(result(attempt, node="n"))
        if stage.run(run_id).state == "finished":
            return
    pytest.fail("the run did not end")


def test_nothing_happened_yet_is_zero(web: Web) -> None:
    samples, types = scrape(web.client)
    for state in ("queued", "leased", "running", "recorded", "lost", "cancelled"):
        assert value(samples, "attempts", state=state) == 0
    for outcome in Outcome:
        assert value(samples, "attempts_recorded_total", outcome=outcome) == 0
    for name in ("attempts_enqueued", "attempts_claimed", "attempts_finished", "attempts_lost"):
        assert types[f"samehere_{name}"] == "counter"
        assert value(samples, f"{name}_total") == 0
    for name in ("queue_seconds", "run_seconds", "judging_seconds"):
        assert types[f"samehere_{name}"] == "histogram"
        assert value(samples, f"{name}_bucket", le="+Inf") == value(samples, f"{name}_count") == 0
    assert value(samples, "verdicts_total", verdict="reproduced") == 0
    assert value(samples, "node_messages_refused_total", reason="malformed") == 0
    assert value(samples, "database_up") == value(samples, "broker_up") == 1
    assert value(samples, "recorder_backlog") == 0
    assert value(samples, "part_silence_seconds", part="beat") == math.inf
    assert samples["process_start_time_seconds", frozenset()] > 0
    (build,) = [key for key in samples if key[0] == "samehere_build_info"]
    assert {name for name, _ in build[1]} == {"version", "python"}


def test_what_happens_is_counted_and_no_counter_falls(web: Web) -> None:
    stage = web.stage
    stage.node("n", slots=2, previews=1)
    seen: list[Samples] = [scrape(web.client)[0]]
    first = stage.submit(repeats=3)
    seen.append(scrape(web.client)[0])
    finish(stage, first.document.id)
    seen.append(scrape(web.client)[0])
    stage.say({"type": "nonsense"})
    late = stage.submit(script="print(1)\n", claim="prints 2", repeats=3)
    held = [attempt for attempt in stage.dispatch() if attempt.run_id == late.document.id]
    assert held
    stage.die("n")
    stage.let_leases_end()
    stage.recover()
    stage.say(result(held[-1].model_copy(update={"attempt_id": "0"}), node="n"))
    seen.append(scrape(web.client)[0])
    for report in (first.document.report.id, late.document.report.id):
        with stage.session() as session:
            withdraw(session, report, reason="not public", who="Ada")
        seen.append(scrape(web.client)[0])
    with stage.session() as session:
        assert sum_tallies(session, rows_before=1)
    seen.append(scrape(web.client)[0])

    for before, after in pairwise(seen):
        fallen = {key for key, number in counters(before).items() if after.get(key, -1) < number}
        assert fallen == set()
    end = seen[-1]
    assert value(end, "attempts_recorded_total", outcome="raised") >= 3
    assert value(end, "attempts_finished_total") == value(end, "run_seconds_count") >= 3
    assert value(end, "attempts_claimed_total") == value(end, "queue_seconds_count") > 3
    assert value(end, "leases_run_out_total") >= 1
    assert value(end, "verdicts_total", verdict="reproduced") == 1
    assert value(end, "judging_seconds_count") >= 1
    assert value(end, "node_messages_refused_total", reason="malformed") == 1
    assert value(end, "node_messages_refused_total", reason="unknown_attempt") == 1
    assert value(end, "events_total", kind="run.created") == 2


def test_a_transaction_that_is_undone_counts_nothing(stage: Stage) -> None:
    with stage.session() as session:
        count(session, Tally.LOST)
        session.rollback()
    for number in (1, 2):
        with stage.session() as session:
            count(session, Tally.LOST, number=number)
    with stage.session() as session:
        assert not sum_tallies(session)
        assert read_tallies(session)[Tally.LOST, ""].number == 3
        assert sum_tallies(session, rows_before=2)
        assert read_tallies(session)[Tally.LOST, ""].number == 3
        assert not sum_tallies(session, rows_before=2)


def test_each_node_shows_slots_level_and_cards(web: Web) -> None:
    web.stage.node("n", slots=3)
    card = {"model": "H", "memory_bytes": 1, "capability": "9.0", "driver": "1"}
    web.stage.say(
        Hello(
            node="n",
            instance="one",
            slots=3,
            level=Level.NAMESPACES,
            gpus=[Gpu(index=0, state=CardState.SOUND, **card), Gpu(index=1, state=CardState.FAULTY, **card)],
        )
    )
    samples, _types = scrape(web.client)
    assert (value(samples, "node_up", node="n"), value(samples, "node_slots", node="n")) == (1, 3)
    assert value(samples, "node_busy", node="n") == 0
    assert {level: value(samples, "node_level", node="n", level=level) for level in Level} == {
        level: float(level is Level.NAMESPACES) for level in Level
    }
    assert value(samples, "node_card", node="n", card="1", state="faulty") == 1
    assert value(samples, "node_card", node="n", card="1", state="sound") == 0


def test_a_node_that_takes_no_work_is_not_ready(web: Web) -> None:
    web.stage.node("n")
    assert value(scrape(web.client)[0], "nodes_ready") == 1
    # Its owner paused it: only its heartbeat says so.
    web.stage.beat("n", draining=True)
    samples = scrape(web.client)[0]
    assert (value(samples, "nodes_ready"), value(samples, "node_up", node="n")) == (0, 1)
    web.stage.beat("n")
    with web.stage.session() as session:
        quarantine(session, "node", "n", reason="broken", who="ada", settings=web.stage.settings)
    samples = scrape(web.client)[0]
    assert (value(samples, "nodes_ready"), value(samples, "node_quarantined", node="n")) == (0, 1)


def test_a_fault_counts_from_zero(web: Web) -> None:
    """`increase` sees nothing in a series that begins at 1."""
    assert value(scrape(web.client)[0], "http_refusals_total", code="fault") == 0
    assert value(scrape(web.client)[0], "page_parts_failed_total") == 0


def test_requests_are_measured_by_template_and_status(web: Web) -> None:
    web.client.get("/withdraw/the-secret-of-somebody")
    web.client.get("/no/such/page")
    web.client.get("/api/v1/runs")
    answer = web.client.get("/metrics").text
    assert "the-secret-of-somebody" not in answer
    samples, _types = scrape(web.client)
    name = "http_request_seconds_count"
    assert value(samples, name, method="GET", route="/withdraw/{secret}", status="404") == 1
    assert value(samples, name, method="GET", route="none", status="404") == 1
    assert value(samples, name, method="GET", route="/api/v1/runs", status="200") == 1
    assert value(samples, "http_refusals_total", code="not_found") >= 1


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_answer_under_any_host_name(web: Web, path: str) -> None:
    for host in ("10.1.2.3:8000", "web", "evil.example"):
        assert web.client.get(path, headers={"Host": host}).status_code == 200
        assert web.client.head(path, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/nodes"),
        ("GET", "/api/v1/nodes"),
        ("GET", "/static/app.css"),
        ("GET", "/healthz/"),
        ("GET", "//metrics"),
        ("GET", "/api/v1/openapi.json"),
        ("POST", "/metrics"),
        ("DELETE", "/healthz"),
    ],
)
def test_nothing_else_does(web: Web, method: str, path: str) -> None:
    answer = web.client.request(method, path, headers={"Host": "evil.example"})
    assert answer.status_code == 403
    assert "host name" in answer.text


def metric_names(text: str) -> set[str]:
    return set(re.findall(r"\b(?:samehere|process)_[a-z_]+", text))


def expressions() -> list[tuple[str, str]]:
    """The expressions of the alert rules and of the dashboard, each with the name of its place."""
    rules = yaml.safe_load((OPS / "prometheus-alerts.yml").read_text())
    found = [(rule["alert"], rule["expr"]) for group in rules["groups"] for rule in group["rules"]]
    board = json.loads((OPS / "grafana-dashboard.json").read_text())
    return found + [
        (panel["title"], target["expr"]) for panel in board["panels"] for target in panel.get("targets", [])
    ]


def test_dashboard_and_alerts_use_metrics_that_exist(web: Web) -> None:
    web.stage.node("n")
    web.stage.say(
        Hello(
            node="n",
            instance="one",
            slots=1,
            level=Level.NAMESPACES,
            gpus=[Gpu(index=0, model="H", memory_bytes=1, capability="9.0", driver="1")],
        )
    )
    web.client.get("/no/such/page")
    samples, _types = scrape(web.client)
    labels: dict[str, set[str]] = {}
    for name, pairs in samples:
        labels.setdefault(name, set()).update(label for label, _ in pairs)
    assert len(expressions()) > 20
    for place, expression in expressions():
        names = metric_names(expression)
        assert names, place
        assert names <= set(labels), place
        grouped = {
            word
            for group in re.findall(r"\b(?:by|without) \(([^)]*)\)", expression)
            for word in re.split(r"[, ]+", group)
            if word
        }
        selected = set(re.findall(r"[{,]\s*([a-z_]+)\s*(?:=~|!~|!=|=)", expression))
        known = set().union(*(labels[name] for name in names)) | {"job", "instance"}
        assert (grouped | selected) <= known, place
        assert expression.count("(") == expression.count(")"), place


def test_alert_rules_have_the_form_of_prometheus() -> None:
    rules = yaml.safe_load((OPS / "prometheus-alerts.yml").read_text())
    assert set(rules) == {"groups"}
    names = []
    for group in rules["groups"]:
        assert {"name", "rules"} <= set(group) <= {"name", "rules", "interval"}
        for rule in group["rules"]:
            assert (
                {"alert", "expr", "labels", "annotations"}
                <= set(rule)
                <= {*("alert", "expr", "for", "labels", "annotations")}
            )
            assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))
            assert rule["labels"]["severity"] in {"page", "ticket"}
            assert set(rule["annotations"]) == {"summary", "description"}
            names.append(rule["alert"])
    assert len(names) == len(set(names))


def test_alert_rules_fire_in_their_scenes() -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool, of Prometheus, is not installed")
    done = subprocess.run(
        [program, "test", "rules", "alerts.promtool.yml"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
