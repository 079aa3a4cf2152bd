"""Reading and judging within limits: no text of a stranger holds a process, even if a pattern was missed."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed

import httpx2
import pytest
from running_web import Web, web_of
from stage import Stage, result

from app.bounded import calls
from app.bounded.callers import Places
from app.bounded.calls import OverLimitError, call_within_limits
from app.bounded.frames import Answer, CallLimits
from app.errors import InputError, UnavailableError
from app.intake.read import read
from app.limits import ReadLimits
from app.runs.exchange import read_bundle
from app.runs.rows import judging_limits
from app.runs.submission import report_intake
from worker.contract import MIB

LIMITS = CallLimits(seconds=1.0, memory_bytes=256 * MIB)
READ_LIMITS = ReadLimits(script_bytes=MIB, report_bytes=MIB)
# Two to the power of sixty steps.
ENDLESS = ("(a|a)*b", "a" * 60)
SCRIPT = "```python\nimport torch\nprint(1)\n```\n"


class Endless:
    """A function that travels to the fork and never ends there, as a pattern that was missed."""

    def __call__(self, *_arguments: object, **_keywords: object) -> object:
        raise AssertionError("this ran in the process itself")

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return eval, (f"lambda *arguments, **keywords: __import__('re').match{ENDLESS}",)


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Calls of this process have small limits, and nothing of them stays."""
    monkeypatch.setattr(calls, "_forker", None)
    calls.set_limits(LIMITS, at_once=2)
    yield
    calls.end()


def test_a_call_gives_its_value_and_its_error() -> None:
    reading = call_within_limits(read, SCRIPT, limits=READ_LIMITS, form="report")
    assert reading == read(SCRIPT, limits=READ_LIMITS, form="report")
    with pytest.raises(InputError) as error:
        call_within_limits(read, " ", limits=READ_LIMITS)
    assert (error.value.code, error.value.field) == ("empty_script", "script")


def test_a_call_that_does_not_end_is_ended_and_holds_nobody() -> None:
    turns = 0
    failures: list[OverLimitError] = []

    def call() -> None:
        try:
            call_within_limits(re.match, *ENDLESS)
        except OverLimitError as error:
            failures.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while thread.is_alive():
        time.sleep(0.01)
        turns += 1
    # The interpreter is free meanwhile. Matching in a thread of this process would stop this loop.
    assert turns > 20
    assert "1 seconds" in failures[0].message
    assert call_within_limits(len, "abc") == 3


def test_the_same_call_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a" * 61
    with pytest.raises(OverLimitError):
        call_within_limits(re.match, "(a|a)*b", text)
    monkeypatch.setattr(calls, "_ask", None)
    with pytest.raises(OverLimitError):
        call_within_limits(re.match, "(a|a)*b", text)


def test_memory_has_a_limit() -> None:
    with pytest.raises(OverLimitError, match="bytes of memory"):
        call_within_limits(bytes, 1024 * MIB)
    assert call_within_limits(len, call_within_limits(bytes, MIB)) == MIB


def test_a_forker_that_was_killed_is_started_again() -> None:
    assert call_within_limits(len, "a") == 1
    forker = calls._forker
    assert forker is not None
    assert forker.process is not None
    forker.process.kill()
    forker.process.wait()
    while forker.idle:
        forker.idle.pop().close()
    assert call_within_limits(len, "ab") == 2


def test_without_limits_it_is_a_plain_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_forker", None)
    assert call_within_limits(len, "abc") == 3


@pytest.fixture
def web(stage: Stage) -> Iterator[Web]:
    with web_of(stage, reading_seconds=LIMITS.seconds) as web:
        yield web


def test_no_way_in_reads_for_longer_than_the_limit(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"report": SCRIPT}
    assert web.client.post("/api/v1/reports:read", json=body).status_code == 200
    with monkeypatch.context() as patch:
        patch.setattr(report_intake, "read", Endless())
        for path in ("/api/v1/reports:read", "/api/v1/runs"):
            answer = web.client.post(path, json=body, timeout=60)
            assert (answer.status_code, answer.json()["code"]) == (422, "reading_limit")
            assert "Send a shorter text" in answer.json()["detail"]
        form = web.client.post("/", data={"text": SCRIPT, "form": "report"}, timeout=60)
        assert form.status_code == 422
        assert "Send a shorter text" in form.text
    assert web.client.post("/api/v1/reports:read", json=body).status_code == 200


def test_a_run_that_can_not_be_judged_ends_and_says_why(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.node("n")
    run_id = stage.submit(repeats=2).document.id
    monkeypatch.setattr(
        judging_limits,
        "call_within_limits",
        lambda _function, *arguments, **_keywords: call_within_limits(Endless(), len(arguments)),
    )
    for attempt in stage.dispatch():
        stage.start(attempt, node="n")
        stage.say(result(attempt, node="n"))
    run = stage.run(run_id)
    assert (run.state, run.verdict) == ("finished", "cannot_show")
    assert [job.reason.code for job in run.jobs if job.reason] == ["judging_limit"]
    assert "Judging was stopped" in run.jobs[0].reason.detail  # type: ignore[union-attr]


def test_a_bundle_is_read_within_the_limits(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_bundle, "_evidence", Endless())
    answer = web.client.post("/api/v1/bundles", json={}, timeout=60)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (
        422,
        "reading_limit",
        "bundle",
    )


def test_readings_of_strangers_hold_no_submission(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    ask, done = calls._ask, threading.Event()

    def ask_later(forker: calls.Forker, call: bytes) -> Answer:
        if b"of_a_stranger" in call:
            assert done.wait(60)
        return ask(forker, call)

    def read_as_stranger(number: int) -> httpx2.Response:
        return web.client.post(
            "/api/v1/reports:read", json={"script": f"of_a_stranger = {number}"}, timeout=60
        )

    monkeypatch.setattr(calls, "_ask", ask_later)
    with ThreadPoolExecutor(12) as strangers:
        try:
            first, *others = [strangers.submit(read_as_stranger, number) for number in range(12)]
            # One was refused, so all places of strangers are taken.
            refused = next(as_completed([first, *others], timeout=60)).result()
            submission = web.client.post("/api/v1/runs", json={"script": "print(1)"}, timeout=60)
        finally:
            done.set()
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")
    assert refused.headers["Retry-After"]
    assert submission.status_code == 202, submission.text


def test_one_address_has_half_of_the_places_of_strangers() -> None:
    places = Places(2, by_address=True)
    # More than one of an address wait in threads; here they only count.
    places.taken.update({"2001:db8::/64": 4, "192.0.2.1": 1})
    with pytest.raises(UnavailableError), places.take("2001:db8::5"):
        pass
    with places.take("192.0.2.1"), places.take("192.0.2.2"):
        assert places.taken["192.0.2.1"] == 2
    assert places.taken == {"2001:db8::/64": 4, "192.0.2.1": 1}
