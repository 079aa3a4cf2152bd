"""The log of a process: one JSON object a line, without secrets, texts and needless tracebacks."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import Any

import pytest
from pydantic import SecretStr

from app.settings import ServiceSettings
from worker.contract.log import without_password
from worker.machine.settings import NodeSettings

SECRET = "planted-secret"
START = """
import logging, sys, threading
import structlog
from worker.contract.log import log_to_stderr
from worker.contract.log_settings import LogSettings
log_to_stderr("test", LogSettings(log_form="json"))
log = structlog.get_logger("app.test")
"""


def lines(program: str) -> list[dict[str, Any]]:
    """The events that a process writes."""
    done = subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(program)], capture_output=True, text=True, check=False
    )
    assert SECRET not in done.stderr
    return [json.loads(line) for line in done.stderr.splitlines()]


def test_a_line_has_the_time_in_utc_and_the_bound_ids() -> None:
    (line,) = lines(
        """
        structlog.contextvars.bind_contextvars(request_id="r1")
        log.info("something", run_id="x")
        """
    )
    assert line.pop("time").endswith("Z")
    assert line == {
        "event": "something",
        "run_id": "x",
        "request_id": "r1",
        "level": "info",
        "process": "test",
    }


def test_a_traceback_has_places_and_neither_values_nor_messages() -> None:
    (line,) = lines(
        f"""
        def inner(secret):
            raise ValueError(f"bad value {{secret}}")
        try:
            try:
                inner("{SECRET}")
            except ValueError as error:
                raise RuntimeError("{SECRET}") from error
        except RuntimeError:
            log.exception("failed")
        """
    )
    assert line["error"] == "RuntimeError"
    assert line["traceback"][0] == "RuntimeError"
    assert [part for part in line["traceback"] if part.endswith(" inner")]


def test_what_nobody_caught_is_one_line_too() -> None:
    (line,) = lines(f'raise KeyError("{SECRET}")')
    assert (line["event"], line["error"], line["level"]) == ("uncaught", "KeyError", "error")
    (line,) = lines(f'threading.Thread(target=lambda: int("{SECRET}")).start()')
    assert (line["event"], line["error"]) == ("uncaught", "ValueError")


def test_texts_of_other_libraries_stay_out_of_the_log() -> None:
    found = lines(
        f"""
        other = logging.getLogger("celery.worker")
        other.error("Received %r after %d tries:\\n%s", "{SECRET}", 3, "{SECRET}")
        other.warning("Task %(name)s failed", {{"name": "{SECRET}"}})
        other.error("broken %d", "{SECRET}")
        other.info("not written")
        import warnings
        warnings.warn("old", stacklevel=1)
        """
    )
    assert [line["event"] for line in found][:3] == [
        "Received '…' after 3 tries:",
        "Task … failed",
        "broken %d",
    ]
    assert "old" in found[3]["event"]


def test_expected_trouble_has_no_traceback() -> None:
    found = lines(
        """
        import redis, celery.exceptions, kombu.exceptions, sqlalchemy.exc, psycopg
        from app.errors import UnavailableError
        for error in (
            ConnectionResetError(), redis.ConnectionError("x"), redis.exceptions.BusyLoadingError("x"),
            celery.exceptions.Reject("x"), kombu.exceptions.OperationalError("x"), UnavailableError("x"),
            sqlalchemy.exc.OperationalError("SELECT 1", {}, psycopg.errors.AdminShutdown("x")),
        ):
            log.error("away", exc_info=error)
        log.error("away", exc_info=PermissionError("x"))
        """
    )
    assert [line["error"] for line in found if "traceback" in line] == ["PermissionError"]
    assert [line["sqlstate"] for line in found if "sqlstate" in line] == ["57P01"]


def test_repeated_trouble_is_summed() -> None:
    found = lines(
        """
        for number in range(500):
            log.warning("away", attempt_id=number)
            log.error("failed", code="busy")
            log.info("fine")
            logging.getLogger("celery").warning("Cannot connect to %s", number)
        """
    )
    for event, kind in (("away", ""), ("failed", "busy"), ("Cannot connect to %s", "")):
        assert len([line for line in found if line["event"] == event or "connect" in line["event"]]) >= 5
        (total,) = [line for line in found if line.get("of") == event]
        assert total["not_written"] == 495
        assert total["details"] == ([kind] if kind else [])
    assert len([line for line in found if line["event"] == "fine"]) == 500
    assert len(found) == 500 + 3 * 6


@pytest.mark.parametrize(
    "address",
    [
        f"redis://:{SECRET}@127.0.0.1:6379/0",
        f"rediss://user:{SECRET}@h",
        f"redis://:a/b@c:{SECRET}@h/0",
        f"postgresql+psycopg://samehere:{SECRET}@/samehere?host=/run",
    ],
)
def test_an_address_loses_its_password(address: str) -> None:
    assert SECRET not in without_password(f"a command {address} and more")
    assert without_password(address).startswith(address.partition(SECRET)[0].partition("a/b")[0])
    (line,) = lines(f"log.info('x', command='use ' + {address!r})")
    assert "***@" in line["command"]


def test_settings_show_no_secret() -> None:
    url = f"redis://:{SECRET}@h"
    service = ServiceSettings(database_url=f"postgresql://u:{SECRET}@h/d", broker_url=url)
    node = NodeSettings(broker_url=url)
    for text in (repr(service), str(service), service.model_dump_json(), repr(node), node.model_dump_json()):
        assert SECRET not in text
    assert service.reveal_broker_url() == node.reveal_broker_url() == url
    assert service.with_database("postgresql://other/x").database_url == SecretStr("postgresql://other/x")
