"""`samehere dump` and `samehere restore` of a database with many attempts: time, file size, and equal counts.

    .venv/bin/python bench/dump.py [--attempts 1000000] [--out bench/results/dump.json]

The database is that of `bench/scale_data.py`. It needs disk for two databases and the file.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from main_path import keep, machine
from scale_data import fill

from app.embedded.postgres import EmbeddedPostgres
from app.serve.backup import dump, restore

TABLES = ("report", "run", "job", "attempt", "comparison", "change", "event")


def state(url: str) -> tuple[dict[str, int], int]:
    """Rows by table, and the size of the database in bytes."""
    with psycopg.connect(url) as connection:
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608  # our own names
            for table in TABLES
        }
        size = connection.execute("SELECT pg_database_size(current_database())").fetchone()[0]
    return counts, size


def measure(folder: Path, attempts: int) -> dict[str, Any]:
    """Fill a home, dump it, and restore it into another one."""
    folder.chmod(0o711)
    file = folder / "bench.dump"
    fill(folder / "from", attempts)
    server = EmbeddedPostgres(folder / "from")
    try:
        url = server.start()
        before, size = state(url)
        began = time.monotonic()
        content = dump(url, file)
        dumped = time.monotonic() - began
    finally:
        server.stop()
    server = EmbeddedPostgres(folder / "to")
    try:
        url = server.start()
        began = time.monotonic()
        restore(url, file)
        restored = time.monotonic() - began
        after, size_after = state(url)
    finally:
        server.stop()
    if before != after:
        raise SystemExit(f"the counts differ: {before} and {after}")
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "rows": before,
        "database_bytes": size,
        "restored_database_bytes": size_after,
        "database_bytes_an_attempt": round(size / before["attempt"]),
        "file_bytes": content.file_bytes,
        "dump_seconds": round(dumped, 1),
        "restore_seconds": round(restored, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("bench/results/dump.json"))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="samehere-bench-") as folder:
        result = measure(Path(folder), chosen.attempts)
    print(result)
    keep(result, chosen.out)


if __name__ == "__main__":
    main()
