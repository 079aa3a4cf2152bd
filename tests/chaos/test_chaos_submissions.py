"""Submissions while the database or the broker is down are stored whole or refused with Retry-After, never
twice.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from chaos_service import CLAIM, SCRIPT, TOOLCHAIN, Whole, assert_thirty, eventually, thirty_jobs

pytestmark = [pytest.mark.service, pytest.mark.sandbox]


def tiny(title: str) -> dict[str, Any]:
    return {
        "script": SCRIPT,
        "claim": CLAIM,
        "targets": [{"device": "cpu", "toolchain": TOOLCHAIN}],
        "repeats": 1,
        "title": title,
    }


def _post(whole: Whole, title: str) -> httpx2.Response:
    return whole.request("POST", "/api/v1/runs", json=tiny(title), headers={"Idempotency-Key": title})


def _keep_down(whole: Whole, words: str, until: threading.Event) -> None:
    while not until.wait(0.02):
        for pid in whole.pids(words):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _while_down(whole: Whole, words: str, act: Callable[[], list[httpx2.Response]]) -> list[httpx2.Response]:
    enough = threading.Event()
    killer = threading.Thread(target=_keep_down, args=(whole, words, enough))
    killer.start()
    try:
        assert eventually(lambda: whole.request("GET", "/readyz").status_code == 503, seconds=60)
        return act()
    finally:
        enough.set()
        killer.join()


def _reports(whole: Whole, words: str) -> list[str]:
    items = whole.request("GET", "/api/v1/reports", params={"q": words, "limit": 100}).json()["items"]
    return sorted(item["title"] for item in items)


def test_the_database_is_down(whole: Whole) -> None:
    mark = f"database{time.monotonic_ns()}"
    titles = [f"{mark} {number}" for number in range(6)]
    answers = _while_down(whole, "bin/postgres", lambda: [_post(whole, title) for title in titles])
    assert {answer.status_code for answer in answers} <= {202, 503}
    refused = [answer for answer in answers if answer.status_code == 503]
    assert refused
    for answer in refused:
        assert int(answer.headers["Retry-After"]) > 0
        assert answer.headers["Content-Type"] == "application/problem+json"
    assert eventually(lambda: whole.request("GET", "/readyz").status_code == 200, seconds=60)
    again = [_post(whole, title) for title in titles]
    assert [answer.status_code for answer in again] == [202] * 6
    assert _reports(whole, mark) == sorted(titles)
    for before, after in zip(answers, again, strict=True):
        assert before.status_code == 503 or before.json()["id"] == after.json()["id"]
        assert whole.finished(after.json()["id"])["verdict"] == "reproduced"


def test_the_broker_is_down(whole: Whole) -> None:
    """A submission is stored and runs when the broker is back. Nobody has to send it again."""
    mark = f"broker{time.monotonic_ns()}"
    titles = [f"{mark} {number}" for number in range(6)]
    answers = _while_down(whole, "valkey-server", lambda: [_post(whole, title) for title in titles])
    assert [answer.status_code for answer in answers] == [202] * 6
    assert _reports(whole, mark) == sorted(titles)
    for answer in answers:
        assert whole.finished(answer.json()["id"])["verdict"] == "reproduced"


def test_the_broker_hangs(whole: Whole) -> None:
    """A broker that accepts connections and never answers is treated like one that is down."""
    run_id = whole.submit(thirty_jobs())
    whole.until_recorded(run_id, 3)
    (pid,) = whole.pids("valkey-server")
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        answer = _post(whole, f"hangs{time.monotonic_ns()}")
        took = time.monotonic() - began
    finally:
        os.kill(pid, signal.SIGCONT)
    assert answer.status_code == 202
    assert took < 15
    assert whole.finished(answer.json()["id"])["verdict"] == "reproduced"
    assert_thirty(whole, run_id)


def test_ten_clients_with_one_key_make_one_run(whole: Whole) -> None:
    key = f"key{time.monotonic_ns()}"
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _number: _post(whole, key), range(10)))
    assert [answer.status_code for answer in answers] == [202] * 10
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert _reports(whole, key) == [key]
    run = whole.finished(answers[0].json()["id"])
    assert [len(job["attempts"]) for job in run["jobs"]] == [1]
    other = whole.request("POST", "/api/v1/runs", json=tiny("other"), headers={"Idempotency-Key": key})
    assert other.status_code == 422
