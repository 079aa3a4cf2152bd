"""Each page and list asks the database as often with many rows as with few, and every question has an
index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from api.web_client import Web, serving
from sqlalchemy import event
from sqlalchemy.engine import Engine

from app.embedded.postgres import EmbeddedPostgres
from app.settings import ServiceSettings
from app.storage.queries.reports import attention

# Beyond these a page is asked for something by the row.
MOST = 14
BIG = (
    "attempt",
    "comparison",
    "environment",
    "event",
    "job",
    "report",
    "report_cell",
    "report_search",
    "run",
    "run_document",
    "script",
)
PATHS = (
    "/",
    "/attention/still_broken",
    "/changes",
    "/changes.atom",
    "/jobs/{job}",
    "/jobs/{job}/repeat.py",
    "/nodes",
    "/reports",
    "/reports?cursor={report}",
    "/reports/{report}",
    "/reports/{report}/text",
    "/reports/{report}/scripts/1",
    "/runs/{run}",
    "/runs/{run}/fragment",
    "/attempts/{attempt}",
    "/attempts/{attempt}/stdout",
    "/compare?baseline={attempt}&candidate={other}",
    "/metrics",
    "/api/v1/acts",
    "/api/v1/attempts/{attempt}",
    "/api/v1/changes",
    "/api/v1/comparisons/{attempt}-{other}",
    "/api/v1/nodes",
    "/api/v1/presets",
    "/api/v1/quarantines",
    "/api/v1/reports",
    "/api/v1/reports?source_url=https://example.org/1",
    "/api/v1/reports/{report}",
    "/api/v1/reports/{report}/matrix",
    "/api/v1/reports/{report}/bisections",
    "/api/v1/runs",
    "/api/v1/runs?cursor={run}",
    "/api/v1/runs/{run}",
    "/api/v1/runs/{run}/events",
    "/api/v1/runs/{run}/bundle",
    "/api/v1/toolchains",
)
SEARCH_STEPS = 2
SEARCHES = (
    "word7",
    "common",
    '"common word7"',
    "-word7",
    "verdict:reproduced",
    "-verdict:reproduced",
    "device:cuda",
    "device:cpu",
    "-device:cpu",
    "device:cuda verdict:flaky",
    "toolchain:torch>=2.11",
    "verdict:reproduced device:cuda toolchain:torch>=2.11 node:n7 common",
    "exception:error7",
    "outcome:raised setting:threads=1",
    "cause:unseeded",
    "attention:fixed",
    "changed:last-week changed:regressed",
    "submitted:2025-01-01..2025-01-31",
)
FILL = """
INSERT INTO report (id, title, form, text, reading, source_url, created_at, verified_at, verdict, attention)
  SELECT '00' || lpad(n::text, 24, '0'), 'report ' || n, 'report', repeat('some text ', 60), '{{"scripts": []}}',
  'https://example.org/' || n, now(), now(), (ARRAY['reproduced', 'flaky', 'not_reproduced'])[n % 3 + 1],
  (ARRAY['still_broken', 'fixed', NULL])[n % 3 + 1]
  FROM generate_series(1, {reports}) n
  ON CONFLICT DO NOTHING;
INSERT INTO report_search (report_id, rules, facets, words)
  SELECT id, 1, ARRAY['device:cpu', 'node:n' || n % 50, 'exception:error' || n % 500, 'verdict:' || verdict, 'toolchain:torch-2.' || n % 13]
  || CASE WHEN n % 20 = 0 THEN ARRAY['device:cuda', 'cause:unseeded', 'setting:threads=1'] ELSE '{{}}' END,
  ('common:1 word' || n % 900 || ':2')::tsvector FROM (SELECT *, right(id, 8)::int AS n FROM report WHERE id LIKE '00%') r
  ON CONFLICT DO NOTHING;
INSERT INTO report_cell (report_id, script, label, device, toolchain, settings, node, verdict, outcomes, exceptions, said)
  SELECT id, 's', 'l' || c, CASE WHEN n % 20 = c THEN 'cuda' ELSE 'cpu' END, 'torch-2.' || (n + c) % 13, '{{}}', 'n' || n % 50, 'flaky',
  '{{}}', '{{}}',
  'said so'
  FROM (SELECT *, right(id, 8)::int AS n FROM report WHERE id LIKE '00%') r, generate_series(0, 4) c
  ON CONFLICT DO NOTHING;
INSERT INTO run (id, report_id, state, repeats_at_most, repeats_exact, last_event, summary, created_at)
  SELECT '01' || lpad(n::text, 24, '0'), '00' || lpad((n / 2 + 1)::text, 24, '0'), 'finished', 1, false, 1, 'so', now()
  FROM generate_series(1, 2 * {reports} - 2) n
  ON CONFLICT DO NOTHING;
INSERT INTO job (id, run_id, position, script_digest, target, state, generation, verdict)
  SELECT '02' || lpad(n::text, 24, '0'), '01' || lpad((n / 2 + 1)::text, 24, '0'), n % 2, (SELECT digest FROM script LIMIT 1),
  jsonb_build_object('device', 'cpu', 'gpus', 0, 'toolchain', 'torch-2.' || n % 13, 'settings', '{{}}'::jsonb), 'judged', 1, 'flaky'
  FROM generate_series(1, 4 * {reports} - 8) n
  ON CONFLICT DO NOTHING;
INSERT INTO attempt (id, run_id, job_id, generation, kind, start, state, counted, lease_no, leases_spent, created_at, queued_at, outcome,
  result)
  SELECT '03' || lpad(n::text, 24, '0'), run_id, id, 1, 'repeat', 'cold', 'recorded', true, 1, 0, now(), now(), 'raised',
  '{{"some": "result"}}'
  FROM (SELECT *, 2 * right(id, 8)::int + c AS n FROM job, generate_series(0, 1) c WHERE id LIKE '02%') j
  ON CONFLICT DO NOTHING;
INSERT INTO event (run_id, number, kind, ids, created_at) SELECT id, n, 'attempt.started', '{{}}', now() FROM run, generate_series(2, 5) n
  WHERE id LIKE '0100%'
  ON CONFLICT DO NOTHING;
INSERT INTO comparison (baseline, candidate, rules, result, content, created_at)
  SELECT id, (SELECT max(id) FROM attempt), 1, 'different', '{{}}', now() FROM attempt WHERE id LIKE '03%' LIMIT 20000
  ON CONFLICT DO NOTHING;
INSERT INTO script (digest, text, shape_digest, sketch, created_at)
  SELECT 'd' || n, 'print()', 's' || n, decode(repeat(md5(n::text), 16), 'hex'), now() FROM generate_series(1, {reports}) n
  ON CONFLICT DO NOTHING;
INSERT INTO environment (digest, facts, created_at) SELECT 'e' || n, '{{}}', now() FROM generate_series(1, {reports}) n
  ON CONFLICT DO NOTHING;
INSERT INTO run_document (run_id, made_from, content) SELECT id, 'x', 'x' FROM run WHERE id LIKE '0100%'
  ON CONFLICT DO NOTHING;
INSERT INTO act (id, subject_kind, subject, what, reason, who, details, created_at)
  SELECT '04' || lpad(n::text, 24, '0'), 'run', '01' || lpad(n::text, 24, '0'), 'overruled', 'so', 'ada', '{{}}', now()
  FROM generate_series(1, {reports}) n
  ON CONFLICT DO NOTHING;
INSERT INTO bisection (id, report_id, axis, points, error, most_attempts, side_by_side, answer, created_at)
  SELECT '01' || lpad(n::text, 24, '0'), '00' || lpad(n::text, 24, '0'), 'torch', '[]', 0.01, 9, 1, '{{}}', now()
  FROM generate_series(1, {reports}) n
  ON CONFLICT DO NOTHING;
UPDATE report SET main_script = 'd' || right(id, 8)::int WHERE id LIKE '00%';
"""  # noqa: E501
# What the page of everything does: few nodes, and tables that hold what is open.
ALWAYS_SMALL = {"tally", "node", "change", "quarantine", "token"}


def paths() -> list[str]:
    return [
        *PATHS,
        *(f"/api/v1/reports?q={search.replace('&', '%26')}" for search in SEARCHES),
        f"/reports?q={SEARCHES[0]}",
    ]


@contextmanager
def asked() -> Iterator[list[tuple[str, Any]]]:
    """The statements that the database gets meanwhile."""
    found: list[tuple[str, Any]] = []

    def note(
        _connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: Any
    ) -> None:
        found.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@pytest.fixture
def filled(settings: ServiceSettings) -> Iterator[tuple[Web, dict[str, str]]]:
    """A run that is over, and its ids."""
    with serving(settings) as web:
        web.stage.node("n")
        run = web.finish(
            web.post(title="common word7", repeats=2, source_url="https://example.org/of-this")["id"]
        )
        attempts = [attempt["id"] for attempt in run["jobs"][0]["attempts"]]
        yield (
            web,
            {
                "run": run["id"],
                "report": run["report"]["id"],
                "job": run["jobs"][0]["id"],
                "attempt": attempts[-2],
                "other": attempts[-1],
            },
        )


def fill(postgres: EmbeddedPostgres, settings: ServiceSettings, *, reports: int) -> None:
    """So many reports with all that belongs to them, and none of the one that is asked for; references are
    not checked.
    """
    name = (settings.reveal_database_url() or "").partition("@/")[2].partition("?")[0]
    with psycopg.connect(
        postgres.admin_url.replace("/postgres?", f"/{name}?"), autocommit=True
    ) as connection:
        connection.execute("SET session_replication_role = replica")
        for statement in FILL.format(reports=reports).split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute("VACUUM ANALYZE")


def statements(web: Web, ids: dict[str, str]) -> dict[str, list[tuple[str, Any]]]:
    """By path, when it was asked before."""
    found = {}
    for path in paths():
        address = path.format(**ids)
        answer = web.client.get(address)
        assert answer.status_code in {200, 204}, f"{path}: {answer.text}"
        with asked() as told:
            web.client.get(address)
        found[path] = list(told)
    return found


def scans(plan: list[tuple[str]]) -> list[str]:
    """The tables that a plan reads from end to end."""
    return [table for (line,) in plan for table in re.findall(r"Seq Scan on (\w+)", line)]


def test_every_question_is_asked_once_and_has_an_index(
    filled: tuple[Web, dict[str, str]],
    postgres: EmbeddedPostgres,
    settings: ServiceSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Otherwise nothing would ask for the sizes of the groups when they were asked for a moment ago.
    monkeypatch.setattr(attention, "MANY_SECONDS", 0.0)
    web, ids = filled
    fill(postgres, settings, reports=80)
    few = {path: len(told) for path, told in statements(web, ids).items()}
    assert {path: count for path, count in few.items() if count > MOST} == {}
    fill(postgres, settings, reports=8_000)
    many = statements(web, ids)
    more = {path: (few[path], len(told)) for path, told in many.items() if len(told) != few[path]}
    # A search looks among the newest reports first, and has further steps if these do not fill the page.
    steps = {path for path, (before, now) in more.items() if "?q=" in path and now - before <= SEARCH_STEPS}
    assert {path: counts for path, counts in more.items() if path not in steps} == {}
    read = {}
    with psycopg.connect((settings.reveal_database_url() or ""), autocommit=True) as connection:
        for path, told in many.items():
            for statement, parameters in told:
                plan = connection.execute(f"EXPLAIN {statement}", parameters, prepare=False).fetchall()
                bad = set(scans(plan)) - ALWAYS_SMALL
                if bad:
                    read[path] = (bad, statement, plan)
    assert {path: bad for path, (bad, *_) in read.items()} == {}, read


def test_the_measure_sees_a_scan(database: str) -> None:
    with psycopg.connect(database) as connection:
        plan = connection.execute("EXPLAIN SELECT * FROM report WHERE text LIKE '%x%'").fetchall()
    assert scans(plan) == ["report"]
    assert set(BIG) & ALWAYS_SMALL == set()
