"""`samehere gate`: its words, its exit status, and the run before the answer."""

from __future__ import annotations

import json
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest
from numpy_versions import finish, say_hello, send
from running_web import Web
from sqlalchemy import text

from app.command.agents import gate as command
from app.command.agents.gate import ask_gate
from app.command.service.client import Client
from app.errors import InputError, SetupError
from app.storage.models import RunRow

BROKEN = {"1.26.4": True, "2.0.0": False}


@pytest.fixture
def report_id(web: Web) -> str:
    say_hello(web.stage, *BROKEN)
    made = send(web.stage, *BROKEN)
    finish(web.stage, BROKEN)
    return made


def ask(*issues: str, file: str | None = None, run: bool = False, server: str | None, as_json: bool) -> int:
    return ask_gate(issues, file=file, run=run, server=server, token=None, as_json=as_json)


def test_the_exit_status_lets_only_the_fixed_close(
    web: Web, report_id: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert ask(report_id, server=web.url, as_json=False) == 0
    assert (
        f"fixed         {report_id}\n  Fixed in numpy 2.0.0 (last seen with 1.26.4); run of today."
        f"  {web.url}/reports/{report_id}\n"
    ) in capsys.readouterr().out
    listed = tmp_path / "issues.txt"
    listed.write_text(f"\n{report_id}\nx/y#1\n")
    assert ask(file=str(listed), server=web.url, as_json=True) == 5
    out = capsys.readouterr().out
    items = json.loads(out[out.index("{\n") :])["items"]
    assert [item["answer"] for item in items] == ["fixed", "unknown"]
    still = send(web.stage, "2.0.0", script="import numpy\nraise RuntimeError('boom')\n# other\n")
    finish(web.stage, {"2.0.0": True})
    assert ask("x/y#1", report_id, still, server=web.url, as_json=False) == 4


def test_without_a_server_the_history_of_this_machine_answers(
    web: Web, report_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "service_database", lambda: nullcontext(web.stage.factory))
    assert ask(report_id, server=None, as_json=False) == 0
    assert f"fixed         {report_id}\n  Fixed in numpy 2.0.0" in capsys.readouterr().out


def test_what_was_not_run_today_is_run_before_the_answer(
    web: Web, report_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of today starts no other one; that of another day does, and is awaited."""
    started: list[str] = []

    def run_report(_: Client, report: str, body: object, *, idempotency_key: str) -> dict[str, str]:
        started.append(report)
        return {"id": ""}

    monkeypatch.setattr(Client, "run_report", run_report)
    monkeypatch.setattr(Client, "follow", lambda _self, _run: iter(()))
    assert ask(report_id, run=True, server=web.url, as_json=False) == 0
    assert started == []
    tomorrow = command.now().replace(year=2999)
    monkeypatch.setattr(command, "now", lambda: tomorrow)
    ask(report_id, "x/y#1", run=True, server=web.url, as_json=False)
    assert started == [report_id]


def test_a_report_of_another_day_runs_on_the_service_and_is_awaited(
    web: Web, report_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with web.stage.session() as session:
        session.execute(
            text(
                "UPDATE run SET created_at = created_at - interval '2 days',"
                " finished_at = finished_at - interval '2 days'"
            )
        )
    assert ask(report_id, server=web.url, as_json=True) == 0
    assert not ran_today(capsys)
    is_over = threading.Event()

    def play() -> None:
        """The node runs what it gets, until the command is over."""
        while not is_over.wait(0.1):
            web.stage.beat("n1")
            # It happens again, in the newest version too.
            finish(web.stage, dict.fromkeys(BROKEN, True))

    node = threading.Thread(target=play)
    node.start()
    try:
        # Without a new run the answer would still be "fixed", as above.
        assert ask(report_id, run=True, server=web.url, as_json=True) == 4
    finally:
        is_over.set()
        node.join()
    assert ran_today(capsys)
    assert web.stage.count(RunRow) == 2


def ran_today(capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether the only answer that was printed rests on a run of today."""
    out = capsys.readouterr().out
    # The log of what the node does afterwards may follow.
    answer, _ = json.JSONDecoder().raw_decode(out, out.index("{\n"))
    [item] = answer["items"]
    return str(item["ran_at"]).startswith(command.now().date().isoformat())


def test_bad_calls_are_refused() -> None:
    with pytest.raises(InputError, match="at least one issue"):
        ask(server="http://localhost:1", as_json=False)
    with pytest.raises(SetupError, match="--server"):
        ask("x/y#1", run=True, server=None, as_json=False)
