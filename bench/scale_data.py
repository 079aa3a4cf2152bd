"""Fills a database of samehere with any number of attempts, by COPY, from recordings of real hardware.

    .venv/bin/python bench/scale_data.py HOME --attempts 1000000

The recordings are repeated under new ids. HOME gets an embedded Postgres that is filled and stopped;
`bench/pages_at_scale.py` does that for both of its sizes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from scale_kept import KEPT, Kept, escaped, kept_document, kept_of_report
from scale_shapes import ATTEMPT, BASELINE, CANDIDATE, DIGEST, NODE, Cell, Shape, prose, shapes
from scale_sizes import DAYS, FEW, REPEATS, has_change, sizes_until

from app.embedded.postgres import EmbeddedPostgres
from app.ids import ALPHABET
from app.judging.comparison.environments import environment_digest
from app.judging.versions import COMPARISON_RULES
from app.serve.database import migrate
from app.storage.models import ReportRow
from worker.contract import Hello

NODES = tuple(f"lab-{name}{number}" for name in ("a100", "h100", "h200", "cpu") for number in range(1, 4))
VERSIONS = (
    "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1",
    "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.0", "2.13.0",
)  # fmt: skip
BUILDS = ("cpu", "cu126")
TOOLCHAINS = tuple(
    (f"torch-{name.rpartition('.')[0]}-{build}", name) for name in VERSIONS for build in BUILDS
)
BEGAN = datetime(2024, 12, 1, tzinfo=UTC)
TABLES = {
    "environment": "digest, facts, created_at",
    "script": "digest, text, shape_digest, sketch, created_at",
    "report": "id, title, source_url, form, text, claim_text, reading, main_script, verdict, attention,"
    " verified_at, created_at",
    "run": "id, report_id, state, preset, repeats_at_most, repeats_exact, last_event, verdict, summary,"
    " created_at, finished_at",
    "job": "id, run_id, position, script_digest, target, state, generation, node, environment_digest,"
    " verdict",
    "attempt": "id, run_id, job_id, generation, kind, start, state, counted, lease_no, leases_spent, node,"
    " instance, created_at, queued_at, leased_at, started_at, recorded_at, outcome, environment_digest,"
    " result",
    "event": "run_id, number, kind, ids, created_at",
    "comparison": "baseline, candidate, rules, result, content, created_at",
    "change": "id, report_id, run_id, job_id, before_job_id, kind, script_digest, target, before_target,"
    " toolchain, before_toolchain, before, after, axis, older, newer, differs, missing, created_at",
    **KEPT,
}
ATTENTION = dict.fromkeys(("reproduced", "flaky"), "still_broken")
ATTENTION |= {"different": "needs_human", "not_reproduced": "fixed"}


@dataclass(slots=True)
class Maker:
    """A buffer of rows, as lines of COPY by table."""

    rng: random.Random
    lines: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in TABLES})
    attempts: int = 0
    made: int = 0
    environments: dict[tuple[int, str, str], str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)

    def add(self, table: str, *values: str) -> None:
        self.lines[table].append("\t".join(values) + "\n")

    def identity(self, moment: datetime) -> str:
        """An id for a moment; later ids sort after earlier ones."""
        self.made += 1
        number = int(moment.timestamp() * 1000)
        front = "".join(ALPHABET[number >> shift & 31] for shift in range(45, -5, -5))
        return front + "e" + "".join(ALPHABET[self.made >> shift & 31] for shift in range(70, -5, -5))

    def environment(self, cell: Cell, node: str, toolchain: str, version: str) -> str:
        key = (id(cell), node, toolchain)
        if key not in self.environments:
            facts = {
                **cell.environment,
                "torch.version": f"{version}+{toolchain.rpartition('-')[2]}",
                "cpu.model": f"Xeon of {node}",
            }
            self.environments[key] = environment_digest(facts)
            if self.environments[key] not in self.kept:
                self.kept.add(self.environments[key])
                self.add("environment", self.environments[key], escaped(json.dumps(facts)), str(BEGAN))
        return self.environments[key]


def report(maker: Maker, number: int, moment: datetime) -> tuple[ReportRow, Shape]:
    """A report with its script."""
    rng, shape = maker.rng, shapes()[number % len(shapes())]
    script = f"{shape.script}\n# As in report {number}.\n"
    digest = "sha256:" + hashlib.sha256(script.encode()).hexdigest()
    # Two reports at a time have the same script. All others of one kind share a quarter of their sketch,
    # at any place.
    own, shared = random.Random(number // 2), random.Random(shape.name)
    values = [shared.randbytes(4) for _ in range(64)]
    sketch = b"".join(value if own.random() < 0.25 else own.randbytes(4) for value in values)
    maker.add(
        "script",
        digest,
        escaped(script),
        hashlib.sha256(b"%d" % (number // 2)).hexdigest(),
        f"\\\\x{sketch.hex()}",
        str(moment),
    )
    identity = maker.identity(moment)
    words = rng.choice(
        ("wrong", "crashes", "differs from numpy", "is slow", "raises", "hangs", "is not deterministic")
    )
    body = "\n\n".join(
        (rng.choice(prose()), shape.claim or "", f"```python\n{script}```", rng.choice(prose()))
    )
    area = rng.choice(("inductor", "MPS", "CUDA", "autograd", "nn", "sparse"))
    title = f"[{area}] {shape.title} {words} ({number})"
    url = f"https://github.com/pytorch/pytorch/issues/{100_000 + number}"
    reading = shape.reading.replace(DIGEST, digest)
    verdict = str(shape.document.verdict)
    stands = (verdict, ATTENTION.get(verdict, "\\N"), str(moment))
    maker.add(
        "report",
        identity,
        escaped(title),
        url,
        "report",
        escaped(body),
        "\\N",
        escaped(reading),
        digest,
        *stands,
        str(moment),
    )
    row = ReportRow(
        id=identity,
        title=title,
        source_url=url,
        form="report",
        text=body,
        main_script=digest,
        created_at=moment,
    )
    return row, shape


def add_comparisons(maker: Maker, shape: Shape, jobs: list[Kept], ended: datetime) -> None:
    """Write the comparisons of the first job with the next ones."""
    baseline = jobs[0].attempts[0]
    for other in jobs[1:60]:
        content = escaped(shape.comparison.replace(BASELINE, baseline).replace(CANDIDATE, other.attempts[0]))
        maker.add(
            "comparison",
            baseline,
            other.attempts[0],
            str(COMPARISON_RULES),
            shape.result,
            content,
            str(ended),
        )


def run(maker: Maker, row: ReportRow, shape: Shape, cells: int, moment: datetime) -> list[Kept]:
    """Write an ended run with all its rows; its jobs."""
    identity, ended, digest = maker.identity(moment), moment + timedelta(minutes=3), str(row.main_script)
    toolchains = maker.rng.sample(TOOLCHAINS, k=min(len(TOOLCHAINS), -(-cells // len(shape.cells))))
    jobs, events = list[Kept](), ["run.created"]
    for position in range(cells):
        cell = shape.cells[position % len(shape.cells)]
        toolchain, version = toolchains[position // len(shape.cells) % len(toolchains)]
        node = maker.rng.choice(NODES)
        found = maker.environment(cell, node, toolchain, version)
        job = maker.identity(moment)
        settings = {
            **cell.target["settings"],
            **({"seed": str(position)} if cells > len(TOOLCHAINS) * len(shape.cells) else {}),
        }
        target = {**cell.target, "toolchain": toolchain, "settings": settings}
        maker.add(
            "job",
            job,
            identity,
            str(position),
            digest,
            escaped(json.dumps(target)),
            "judged",
            "1",
            node,
            found,
            cell.verdict,
        )
        attempts = [
            attempt(maker, (identity, job, node, found), cell, repeat, moment) for repeat in range(REPEATS)
        ]
        jobs.append(
            Kept(
                id=job,
                run=identity,
                cell=cell,
                target=target,
                node=node,
                environment=found,
                attempts=attempts,
            )
        )
        events += [*(["attempt.leased", "attempt.started", "attempt.recorded"] * REPEATS), "job.judged"]
    events.append("run.finished")
    for event, kind in enumerate(events, start=1):
        maker.add("event", identity, str(event), kind, f'{{"run": "{identity}"}}', str(ended))
    add_comparisons(maker, shape, jobs, ended)
    document = shape.document
    words = (str(document.verdict), escaped(document.summary))
    values = (identity, row.id, "finished", "versions", "5", "f", str(len(events)), *words)
    maker.add("run", *values, str(moment), str(ended))
    maker.add(
        "run_document", *kept_document(row, shape, jobs, events=len(events), moment=moment, ended=ended)
    )
    return jobs


def change(row: ReportRow, before: Kept, after: Kept, moment: datetime) -> tuple[str, ...]:
    """A change between two jobs, without its id."""
    targets = (after.label, before.label, str(after.target["toolchain"]), str(before.target["toolchain"]))
    kind = ("regressed", "fixed", "other")[int(after.id[-1], 36) % 3]
    words = ("reproduced", "not_reproduced", "torch", "2.12.0", "2.13.0", "{}", "", str(moment))
    return (row.id, after.run, after.id, before.id, kind, str(row.main_script), *targets, *words)


def attempt(maker: Maker, place: tuple[str, str, str, str], cell: Cell, repeat: int, moment: datetime) -> str:
    """An attempt that was recorded."""
    run_id, job, node, found = place
    identity, at = maker.identity(moment), str(moment)
    result = escaped(cell.results[repeat].replace(ATTEMPT, identity).replace(NODE, node))
    where = (identity, run_id, job, "1", "repeat", "cold", "recorded", "t", "1", "0", node, "one")
    maker.add("attempt", *where, at, at, at, at, at, cell.outcomes[repeat], found, result)
    maker.attempts += 1
    return identity


def nodes(database: psycopg.Connection[Any]) -> None:
    """The machines on which everything ran, by their hello."""
    facts = [
        {
            "name": name,
            "state": "ready",
            "packages": {"torch": version, "numpy": "2.4.6"},
            "torch": version,
            "mkl": True,
        }
        for name, version in TOOLCHAINS
    ]
    for name in NODES:
        card = {
            "index": 0,
            "model": f"NVIDIA {name}",
            "memory_bytes": 2**36,
            "capability": "9.0",
            "driver": "580.159.04",
        }
        hello = Hello.model_validate(
            {
                "node": name,
                "instance": "one",
                "slots": 8,
                "level": "ns+seccomp+cgroup",
                "gpus": [card],
                "toolchains": facts,
                "cores": 64,
            }
        )
        database.execute(
            "INSERT INTO node (name, instance, draining, hello, created_at, hello_at, seen_at)"
            " VALUES (%s, 'one', false, %s, now(), now(), now())",
            (name, hello.model_dump_json()),
        )


def made(attempts: int) -> Iterator[Maker]:
    """Write the rows of so many attempts, report by report; the newest last."""
    maker, sizes = Maker(rng=random.Random(0)), sizes_until(attempts)
    for number, (runs, cells) in enumerate(sizes):
        moment = BEGAN + timedelta(days=DAYS * number / len(sizes))
        row, shape = report(maker, number, moment)
        jobs = [run(maker, row, shape, cells, moment + timedelta(hours=launch)) for launch in range(runs)]
        for table, line in kept_of_report(row, shape, [job for some in jobs for job in some]):
            maker.add(table, *line)
        if has_change(number, is_small=attempts < FEW):
            maker.add(
                "change",
                maker.identity(moment + timedelta(hours=runs)),
                *change(row, jobs[-2][0], jobs[-1][0], moment),
            )
        yield maker


@contextmanager
def without_indexes(database: psycopg.Connection[Any]) -> Iterator[None]:
    """Insert rows without checks, and create the indexes without a constraint afterwards."""
    found = database.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
        " AND indexname NOT IN (SELECT conname FROM pg_constraint)"
    ).fetchall()
    database.execute("SET session_replication_role = replica")
    database.execute("SET synchronous_commit = off")
    database.execute("SET maintenance_work_mem = '512MB'")
    for name, _ in found:
        database.execute(f'DROP INDEX "{name}"')
    yield
    for _, definition in found:
        database.execute(definition)


def copy(database: psycopg.Connection[Any], maker: Maker) -> None:
    """Write the buffered rows into the tables."""
    for table, columns in TABLES.items():
        lines, maker.lines[table] = maker.lines[table], []
        with database.cursor().copy(f"COPY {table} ({columns}) FROM STDIN") as out:
            out.write("".join(lines))


def fill(home: Path, attempts: int) -> dict[str, Any]:
    """Fill an embedded Postgres in this home and stop it; the counts of its rows."""
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o755)
    server = EmbeddedPostgres(home)
    server.start()
    began = time.perf_counter()
    try:
        migrate(server.url)
        with psycopg.connect(
            server.admin_url.replace("/postgres?", "/samehere?"), autocommit=True
        ) as database:
            database.execute("ALTER SYSTEM SET max_wal_size = '4GB'")
            database.execute("SELECT pg_reload_conf()")
            nodes(database)
            with without_indexes(database):
                for number, maker in enumerate(made(attempts)):
                    if number % 200 == 0:
                        copy(database, maker)
                copy(database, maker)
            database.execute("VACUUM ANALYZE")
            database.execute("ALTER SYSTEM RESET max_wal_size")
            counts = {
                table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608  # our own
                for table in TABLES
            }
            size = database.execute("SELECT pg_database_size('samehere')").fetchone()[0]
    finally:
        server.stop()
    return {**counts, "gigabytes": round(size / 1e9, 2), "seconds": round(time.perf_counter() - began, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--attempts", type=int, default=1_000_000)
    arguments = parser.parse_args()
    print(json.dumps(fill(arguments.home, arguments.attempts), indent=1))


if __name__ == "__main__":
    main()
