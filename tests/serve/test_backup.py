"""`samehere dump` and `samehere restore` on real servers: the same rows and pages, and clear refusals."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest
from migrated import is_current
from psycopg import sql
from running_web import serve
from sqlalchemy import select
from stage import Stage

from app.embedded.postgres import EmbeddedPostgres, programs_folder
from app.errors import InputError, SetupError, UnavailableError
from app.runs.exchange.replay import replay
from app.serve import backup
from app.serve.demo import HISTORY
from app.serve.postgres_programs import NAMES, programs_for_server
from app.settings import ServiceSettings
from app.storage.models import ReportRow
from app.storage.models.base import Base

RUNS = 6


def rows(url: str) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, without the order of events over all runs: `restore` makes it anew."""
    found = {}
    with psycopg.connect(url) as connection:
        for name, table in Base.metadata.tables.items():
            columns = [
                sql.Identifier(column.name) for column in table.columns if column.name != "transaction"
            ]
            statement = sql.SQL("SELECT ROW({})::text FROM {} ORDER BY 1").format(
                sql.SQL(", ").join(columns), sql.Identifier(name)
            )
            found[name] = connection.execute(statement).fetchall()
    return found


def is_empty(url: str) -> bool:
    with psycopg.connect(url) as connection:
        statement = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        return connection.execute(statement).fetchone() == (0,)


@pytest.fixture
def history(stage: Stage, tmp_path: Path) -> Stage:
    """A database with recorded runs."""
    folder = tmp_path / "history" / "lab-cpu"
    folder.mkdir(parents=True)
    for path in sorted((HISTORY / "lab-cpu").iterdir())[:RUNS]:
        shutil.copy(path, folder)
    with stage.session() as session:
        replay(session, folder.parent)
    return stage


@pytest.fixture
def file(history: Stage, tmp_path: Path) -> Path:
    """Its dump."""
    path = tmp_path / "samehere.dump"
    backup.dump(str(history.settings.reveal_database_url()), path)
    return path


def page(settings: ServiceSettings, address: str) -> str:
    with serve(settings) as url:
        answer = httpx2.get(f"{url}{address}", timeout=20)
    assert answer.status_code == 200
    return str(answer.text).replace(url, "")


def test_a_restored_database_has_the_same_rows_and_pages(
    history: Stage, empty_database: str, tmp_path: Path
) -> None:
    file = tmp_path / "samehere.dump"
    url = str(history.settings.reveal_database_url())
    dumped = backup.dump(url, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.glob("*.part")) == []
    restored = backup.restore(empty_database, file)
    assert restored.rows == dumped.rows
    assert dumped.rows["run"] == RUNS
    assert dumped.rows["attempt"] > RUNS
    assert rows(empty_database) == rows(url)
    assert is_current(empty_database)
    with history.session() as session:
        report = session.scalars(select(ReportRow.id).order_by(ReportRow.id)).first()
    elsewhere = history.settings.with_database(empty_database)
    for address in (f"/reports/{report}", f"/api/v1/reports/{report}/matrix"):
        assert page(elsewhere, address) == page(history.settings, address)


def test_a_database_with_anything_in_it_is_left_alone(file: Path, other_database: str) -> None:
    before = rows(other_database)
    with pytest.raises(SetupError, match="not empty"):
        backup.restore(other_database, file)
    assert rows(other_database) == before


def test_a_damaged_file_changes_nothing(file: Path, empty_database: str) -> None:
    """pg_restore alone takes a file that was cut off for a whole one, and ends with status 0."""
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) * 3 // 4] ^= 1
    end = whole[whole.rindex(b"\nsamehere dump") :]
    for damaged in (whole[: len(whole) * 3 // 4], whole[:-1], bytes(flipped), whole[: len(whole) // 2] + end):
        file.write_bytes(damaged)
        with pytest.raises(InputError, match="damaged"):
            backup.restore(empty_database, file)
    assert is_empty(empty_database)
    file.write_bytes(whole)
    backup.restore(empty_database, file)


def test_a_restore_that_fails_on_its_way_changes_nothing(file: Path, empty_database: str) -> None:
    """Also when pg_restore dies: psql must not take the end of its input for the end of the script."""
    script = file.with_name("pg_restore")
    folder = programs_folder()
    assert folder is not None
    for name in NAMES:
        file.with_name(name).symlink_to(folder / name)
    script.unlink()
    script.write_text(f'#!/bin/sh\n{folder / "pg_restore"} "$@" | head -c 20000\necho gone >&2\nexit 1\n')
    script.chmod(0o755)
    with pytest.raises(SetupError, match="nothing was changed: gone"):
        backup.restore(empty_database, file, programs=file.parent)
    assert is_empty(empty_database)


def with_command(file: Path, command: str) -> None:
    """Put a command of psql in the place of a table's definition, as a stranger may, with a right digest."""
    archive, _, last = file.read_bytes().rpartition(backup.LAST_LINE)
    found = re.search(rb"CREATE TABLE public\.run \(.*?\n\);", archive, flags=re.DOTALL)
    assert found is not None
    archive = archive.replace(found[0], command.encode().ljust(len(found[0])))
    facts = {**json.loads(last), "sha256": hashlib.sha256(archive).hexdigest()}
    file.write_bytes(archive + backup.LAST_LINE + json.dumps(facts).encode() + b"\n")


def test_a_file_of_a_stranger_runs_no_program(file: Path, empty_database: str) -> None:
    """psql runs a program for each line that begins with backslash and exclamation mark."""
    touched = file.with_name("touched")
    with_command(file, f"\n\\! touch {touched}\n")
    with pytest.raises(SetupError, match=r"nothing was changed: .*restricted"):
        backup.restore(empty_database, file)
    assert not touched.exists()
    assert is_empty(empty_database)


def test_programs_that_obey_a_file_are_refused(file: Path, empty_database: str) -> None:
    """Before August 2025, pg_restore did not tell psql to run no program."""
    folder = programs_folder()
    assert folder is not None
    for name in NAMES:
        file.with_name(name).symlink_to(folder / name)
    old = file.with_name("pg_restore")
    old.unlink()
    old.write_text(f"#!/bin/sh\n{folder / 'pg_restore'} \"$@\" | sed '/^.restrict/d; /^.unrestrict/d'\n")
    old.chmod(0o755)
    touched = file.with_name("touched")
    with_command(file, f"\n\\! touch {touched}\n")
    with pytest.raises(SetupError, match=rf"of {file.parent} are too old.*SAMEHERE_POSTGRES_PROGRAMS"):
        backup.restore(empty_database, file, programs=file.parent)
    assert not touched.exists()
    assert is_empty(empty_database)


def test_a_file_of_a_newer_schema_is_refused(history: Stage, empty_database: str, tmp_path: Path) -> None:
    url = str(history.settings.reveal_database_url())
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'from_the_future'")
    backup.dump(url, tmp_path / "newer.dump")
    with pytest.raises(SetupError, match="update samehere first"):
        backup.restore(empty_database, tmp_path / "newer.dump")


def test_a_file_of_an_older_schema_is_migrated(
    empty_database: str, other_database: str, tmp_path: Path
) -> None:
    from app.storage.migrate import downgrade

    downgrade(other_database, "-1")
    backup.dump(other_database, tmp_path / "older.dump")
    backup.restore(empty_database, tmp_path / "older.dump")
    assert is_current(empty_database)


def test_what_is_no_dump_of_ours_is_refused(empty_database: str, tmp_path: Path) -> None:
    text = tmp_path / "text.dump"
    text.write_text("DROP TABLE run;\n")
    with pytest.raises(InputError, match="no file of `samehere dump`, or it is damaged"):
        backup.restore(empty_database, text)
    with pytest.raises(InputError, match="There is no file"):
        backup.restore(empty_database, tmp_path / "missing.dump")
    with pytest.raises(SetupError, match="nothing to dump"):
        backup.dump(empty_database, tmp_path / "empty.dump")


def test_a_file_is_never_overwritten(file: Path, database: str) -> None:
    before = file.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        backup.dump(database, file)
    assert file.read_bytes() == before
    with pytest.raises(SetupError, match="can't write"):
        backup.dump(database, file / "below")


def test_programs_that_are_too_old_are_named(tmp_path: Path, database: str) -> None:
    for name in NAMES:
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 15.3 (Debian 15.3-1)'\n")
        program.chmod(0o755)
    with pytest.raises(SetupError, match=rf"Postgres 18.* here: 15 in {tmp_path}.*samehere\[embedded\]"):
        backup.dump(database, tmp_path / "file", programs=tmp_path)
    with pytest.raises(SetupError, match="here: none"):
        backup.dump(database, tmp_path / "file", programs=tmp_path / "nothing")
    assert programs_for_server(14, named=tmp_path).major == 15


def test_a_server_that_is_away_or_refuses_is_named(tmp_path: Path, database: str) -> None:
    with pytest.raises(UnavailableError, match="can't reach the database"):
        backup.dump("postgresql://nobody@127.0.0.1:1/x", tmp_path / "file")
    before, _, after = database.partition("@")
    with pytest.raises(UnavailableError, match="password authentication failed"):
        backup.dump(f"{before[:-3]}abc@{after}", tmp_path / "file")
    with pytest.raises(SetupError, match="no address"):
        backup.dump("mysql://x", tmp_path / "file")


def test_no_program_shows_the_password(
    database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    password = database.split(":")[2].split("@", maxsplit=1)[0]
    seen: list[list[str]] = []
    real = subprocess.Popen

    def watched(argv: list[str], **options: object) -> subprocess.Popen[bytes]:
        seen.append(argv)
        return real(argv, **options)  # type: ignore[call-overload,no-any-return]  # passed on as they are

    monkeypatch.setattr(subprocess, "Popen", watched)
    backup.dump(database, tmp_path / "file")
    assert any("pg_dump" in argv[0] for argv in seen)
    assert password not in str(seen)


def test_the_setting_that_older_servers_refuse_is_left_out() -> None:
    script = b"SET lock_timeout = 0;\nSET transaction_timeout = 0;\nSET x = 1;\nCOPY t FROM stdin;\n"
    data = b"SET transaction_timeout = 7\n" * 100
    target = io.BytesIO()
    backup._copy_script(io.BytesIO(script + data), target)
    assert target.getvalue() == script.replace(b"SET transaction_timeout = 0;\n", b"") + data


@pytest.fixture
def embedded(home: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(home)
    yield server
    server.stop()


def command(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "app.cli", *words],
        env={**os.environ, "SAMEHERE_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_commands_move_a_home(home: Path, file: Path, tmp_path: Path) -> None:
    """Into a new home, and out of it again; the server runs only for as long as a command takes."""
    refused = command(home, "dump", str(tmp_path / "x.dump"))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "has no database" in refused.stderr
    restored = command(home, "restore", str(file))
    assert restored.returncode == 0, restored.stderr
    assert f"{RUNS} runs" in restored.stdout
    dumped = command(home, "dump", str(tmp_path / "again.dump"), "--json")
    assert dumped.returncode == 0, dumped.stderr
    assert f'"run": {RUNS}' in dumped.stdout
    again = command(home, "restore", str(file))
    assert again.returncode == 2
    assert "not empty" in again.stderr
    assert "Traceback" not in again.stderr
