"""Dump the database of the service into one file, and restore that file into an empty database.

The file is an archive of `pg_dump` in its custom format, and one more line. `pg_restore` alone can read it as
well, but it takes an archive that was cut off for a whole one. Therefore the line holds a digest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from app.errors import InputError, SetupError, UnavailableError
from app.serve.database import migrate
from app.serve.postgres_programs import PostgresPrograms, newest_programs, programs_for_server
from app.storage.migrate import is_known
from worker.contract.own_process import WORKING_FOLDER

COUNTED = ("report", "run", "attempt")
CONNECT_SECONDS = 10
CHUNK_BYTES = 1024 * 1024
# A script of pg_restore begins with settings. Servers older than 17 do not know this one.
HEADER_LINES = 60
TRANSACTION_TIMEOUT = b"SET transaction_timeout"
# The lines of a script before the first one that holds anything of the archive, and the command among them
# that lets psql run no program. pg_restore writes it since August 2025 (CVE-2025-8714).
TITLE_LINES = (b"--\n", b"-- PostgreSQL database dump\n", b"\n")
RESTRICT = b"\\restrict "
LAST_LINE = b"\nsamehere dump "
LAST_LINE_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """The content of a file: rows by table, the revision of the schema, and the size in bytes."""

    rows: Mapping[str, int]
    revision: str
    file_bytes: int


def dump(url: str, file: Path, *, programs: Path | None = None) -> Backup:
    """Write a database into a new file that only its owner can read. The service may run meanwhile.

    `programs` is the folder of the programs of Postgres, or None for those found. Raises SetupError,
    InputError if the file exists, UnavailableError if the database can't be reached.
    """
    if file.exists():
        raise InputError(f"{file} exists already: choose another name.", code="file_exists", field="file")
    with _connect(url) as connection:
        # The counts and the dump are of the same moment, although the service may go on writing.
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        if not _has_table(connection, "alembic_version"):
            raise SetupError("the database has no tables of samehere, so there is nothing to dump")
        chosen = programs_for_server(connection.info.server_version // 10_000, named=programs)
        snapshot = _value(connection, "SELECT pg_export_snapshot()")
        revision = str(_value(connection, "SELECT version_num FROM alembic_version"))
        rows = _counts(connection)
        _write(chosen, url, file, snapshot=str(snapshot), rows=rows, revision=revision)
    return Backup(rows=rows, revision=revision, file_bytes=file.stat().st_size)


def restore(url: str, file: Path, *, programs: Path | None = None) -> Backup:
    """Read a file of `dump` into an empty database, all or nothing, and migrate it to today's schema.

    Raises SetupError, InputError for a file that can't be used, UnavailableError.
    """
    if not file.is_file():
        raise InputError(f"There is no file {file}.", code="no_file", field="file")
    content = _whole_content(file)
    if not is_known(content.revision):
        raise SetupError(
            f"{file} has a schema that this version does not know ({content.revision}): "
            "a newer samehere wrote it, so update samehere first"
        )
    chosen = newest_programs(named=programs)
    with _connect(url) as connection:
        _require_empty(connection)
    _load(chosen, url, file)
    migrate(url)
    with _connect(url) as connection:
        # Transactions of the old database have other numbers than those of this one.
        connection.execute("UPDATE event SET transaction = 0")
        connection.execute("ANALYZE")
        rows = _counts(connection)
    if rows != content.rows:
        raise SetupError(f"the file has {dict(content.rows)} rows, and the database now has {rows}")
    return content


def _write(
    chosen: PostgresPrograms, url: str, file: Path, *, snapshot: str, rows: Mapping[str, int], revision: str
) -> None:
    """Write the file under another name first, so that a file of this name is always whole."""
    draft = file.with_name(f"{file.name}.part")
    argv = [
        *(chosen.path("pg_dump"), "--format=custom", "--no-owner", "--no-privileges"),
        *(f"--snapshot={snapshot}", f"--dbname={_without_password(url)}"),
    ]
    try:
        with os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b") as output:
            with subprocess.Popen(
                argv, stdout=output, stderr=subprocess.PIPE, env=_environment(url), cwd=WORKING_FOLDER
            ) as program:
                problem = _last_line(program.communicate()[1])
            if program.returncode != 0:
                raise SetupError(f"pg_dump failed: {problem}")
            size = output.seek(0, os.SEEK_END)
            facts = {"sha256": _digest(output, size), "rows": rows, "schema": revision}
            output.seek(size)
            output.write(LAST_LINE + json.dumps(facts).encode() + b"\n")
            output.flush()
            os.fsync(output.fileno())
        draft.rename(file)
    except OSError as error:
        raise SetupError(f"can't write {file}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _whole_content(file: Path) -> Backup:
    """The content of a file by its last line. Raises InputError if the file is not whole."""
    try:
        with file.open("rb") as source:
            size = source.seek(0, os.SEEK_END)
            source.seek(max(0, size - LAST_LINE_BYTES))
            end = source.read()
            start = end.rindex(LAST_LINE)
            facts = json.loads(end[start + len(LAST_LINE) :]) if end.endswith(b"\n") else {}
            is_whole = facts["sha256"] == _digest(source, size - len(end) + start)
            content = Backup(rows=dict(facts["rows"]), revision=str(facts["schema"]), file_bytes=size)
    except OSError as error:
        raise InputError(
            f"can't read {file}: {error.strerror or error}", code="no_file", field="file"
        ) from error
    except (ValueError, KeyError, TypeError):
        is_whole = False
    if not is_whole:
        raise InputError(
            f"{file} is no file of `samehere dump`, or it is damaged.", code="bad_dump", field="file"
        )
    return content


def _digest(source: IO[bytes], size: int) -> str:
    """The digest of the first `size` bytes."""
    source.seek(0)
    digest = hashlib.sha256()
    while size > 0 and (chunk := source.read(min(size, CHUNK_BYTES))):
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest()


def _load(chosen: PostgresPrograms, url: str, file: Path) -> None:
    """Let pg_restore write a script and psql run it, in one transaction.

    If pg_restore fails, psql is killed before it sees the end of the script, and nothing is committed.
    """
    reader_argv = [
        chosen.path("pg_restore"),
        "--no-owner",
        "--no-privileges",
        "--file=-",
        str(file.absolute()),
    ]
    writer_argv = [
        *(chosen.path("psql"), "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1"),
        *("--output=/dev/null", "--file=-", f"--dbname={_without_password(url)}"),
    ]
    with TemporaryFile() as problems, TemporaryFile() as database_problems:
        reader = subprocess.Popen(
            reader_argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=problems,
            env=_environment(),
            cwd=WORKING_FOLDER,
        )
        writer = subprocess.Popen(
            writer_argv,
            stdin=subprocess.PIPE,
            stderr=database_problems,
            env=_environment(url),
            cwd=WORKING_FOLDER,
        )
        try:
            with suppress(BrokenPipeError):
                _copy_title(_pipe(reader.stdout), _pipe(writer.stdin), chosen)
                _copy_script(_pipe(reader.stdout), _pipe(writer.stdin))
                if reader.wait() == 0:
                    _pipe(writer.stdin).close()
                    writer.wait()
        finally:
            for process in (writer, reader):
                process.kill()
                process.wait()
            with suppress(BrokenPipeError):
                _pipe(writer.stdin).close()
            _pipe(reader.stdout).close()
        if writer.returncode == 0:
            return
        words = _last_line(_content(database_problems)) or _last_line(_content(problems))
    raise SetupError(f"the restore failed, and nothing was changed: {words}")


def _copy_title(source: IO[bytes], target: IO[bytes], chosen: PostgresPrograms) -> None:
    """Copy the beginning of a script. Raises SetupError if the rest could let psql run programs."""
    title = [source.readline()]
    while title[-1] in TITLE_LINES:
        title.append(source.readline())
    # Without any script, pg_restore itself says why.
    if title[-1] and not title[-1].startswith(RESTRICT):
        raise SetupError(
            f"the programs of Postgres {chosen.major} of {chosen.folder} are too old: with them, a file can "
            "run commands on this machine (CVE-2025-8714). Update them, or name the folder of others in "
            "SAMEHERE_POSTGRES_PROGRAMS"
        )
    target.write(b"".join(title))


def _copy_script(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy a script of pg_restore without the setting that older servers refuse."""
    for _ in range(HEADER_LINES):
        line = source.readline()
        if line.startswith(TRANSACTION_TIMEOUT):
            break
        target.write(line)
    shutil.copyfileobj(source, target, CHUNK_BYTES)
    target.flush()


def _require_empty(connection: psycopg.Connection[Any]) -> None:
    encoding = _value(connection, "SHOW server_encoding")
    if encoding != "UTF8":
        raise SetupError(f"the database has the encoding {encoding}: create one with UTF8")
    statement = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    if _value(connection, statement):
        raise SetupError(
            "the database is not empty, so nothing was restored: name an empty one in SAMEHERE_DATABASE_URL, "
            "or choose another SAMEHERE_HOME"
        )


def _counts(connection: psycopg.Connection[Any]) -> dict[str, int]:
    statement = sql.SQL("SELECT count(*) FROM {}")
    return {name: int(_value(connection, statement.format(sql.Identifier(name)))) for name in COUNTED}


def _has_table(connection: psycopg.Connection[Any], name: str) -> bool:
    return _value(connection, sql.SQL("SELECT to_regclass({})").format(name)) is not None


def _value(connection: psycopg.Connection[Any], statement: str | sql.Composed) -> Any:
    row = connection.execute(
        statement if isinstance(statement, sql.Composed) else statement.encode()
    ).fetchone()
    return None if row is None else row[0]


def _connect(url: str) -> psycopg.Connection[Any]:
    try:
        return psycopg.connect(url, connect_timeout=CONNECT_SECONDS, application_name="samehere")
    except psycopg.OperationalError as error:
        raise UnavailableError(f"can't reach the database: {_last_line(str(error).encode())}") from error
    except psycopg.ProgrammingError as error:
        raise SetupError("SAMEHERE_DATABASE_URL is no address as postgresql://…") from error


def _without_password(url: str) -> str:
    """The address for a command line, which everyone on the machine can read."""
    return make_conninfo("", **{**conninfo_to_dict(url), "password": None})


def _environment(url: str | None = None) -> dict[str, str]:
    """The variables of a program: those of libpq for certificates and the like, and the password."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("PG") or name in {"HOME", "PATH", "TMPDIR"}
    }
    password = conninfo_to_dict(url).get("password") if url is not None else None
    own = {"LC_ALL": "C", **({"PGPASSWORD": str(password)} if password else {})}
    return {**inherited, **own}


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise AssertionError("the program has no pipe")
    return pipe


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read(CHUNK_BYTES)


def _last_line(output: bytes) -> str:
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""
