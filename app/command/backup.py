"""`samehere dump` and `samehere restore`: the database of a service as one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from app.command.service.configuration import load_settings
from app.command.terminal.consoles import print_json, print_line
from app.command.terminal.plain_text import visible
from app.errors import SetupError

if TYPE_CHECKING:
    from app.serve.backup import Backup


def dump(file: Path, *, as_json: bool) -> None:
    """Dump the database of this service into a new file. Raises SetupError, InputError, UnavailableError."""
    _require_service()
    from app.serve import backup
    from app.serve.database import database

    settings = load_settings()
    if settings.database_url is None and not (settings.home / "postgres").is_dir():
        raise SetupError(
            f"{settings.home} has no database: name another SAMEHERE_HOME, or a SAMEHERE_DATABASE_URL."
        )
    with database(settings, migrated=False) as url:
        _show("dumped into", file, backup.dump(url, file, programs=settings.postgres_programs), as_json)


def restore(file: Path, *, as_json: bool) -> None:
    """Restore a file into the empty database of this service.

    Raises SetupError, InputError, UnavailableError.
    """
    _require_service()
    from app.serve import backup
    from app.serve.database import database

    settings = load_settings()
    with database(settings, migrated=False) as url:
        _show("restored from", file, backup.restore(url, file, programs=settings.postgres_programs), as_json)


def _require_service() -> None:
    try:
        import alembic  # noqa: F401
        import psycopg  # noqa: F401
        import sqlalchemy  # noqa: F401
    except ImportError as error:
        raise SetupError(
            f"The service is not installed here ({error.name}): pip install 'samehere[service,embedded]'."
        ) from error


def _show(action: str, file: Path, content: Backup, as_json: bool) -> None:  # noqa: FBT001
    if as_json:
        print_json(
            {"file": str(file), "bytes": content.file_bytes, "rows": content.rows, "schema": content.revision}
        )
        return
    rows = ", ".join(f"{count} {name}s" for name, count in content.rows.items())
    print_line(f"{rows} {action} {visible(str(file))} ({content.file_bytes} bytes)")
