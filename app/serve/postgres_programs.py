"""The programs `pg_dump`, `pg_restore` and `psql`: which of those on this machine fit a server or a file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.embedded.postgres import programs_folder
from app.errors import SetupError
from worker.contract.own_process import WORKING_FOLDER, own_environment

# Debian and its relatives install each major version into a folder of its own.
VERSIONED = Path("/usr/lib/postgresql")
NAMES = ("pg_dump", "pg_restore", "psql")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresPrograms:
    """The client programs of one version of Postgres, in one folder."""

    folder: Path
    major: int

    def path(self, name: str) -> str:
        """The path of one program."""
        return str(self.folder.absolute() / name)


def programs_for_server(major: int, *, named: Path | None = None) -> PostgresPrograms:
    """The client programs of a server's major version, else those of the next newer version.

    `named` is the folder that the operator chose; then only its programs count. Raises SetupError if no
    program is new enough.
    """
    candidates = list(_programs(named))
    fitting = [programs for programs in candidates if programs.major >= major]
    if not fitting:
        present = ", ".join(f"{programs.major} in {programs.folder}" for programs in candidates)
        raise SetupError(
            f"the server is Postgres {major}, and only a pg_dump of version {major} or newer can read it; "
            f"here: {present or 'none'}. {_remedy()}"
        )
    return min(fitting, key=lambda programs: programs.major)


def newest_programs(*, named: Path | None = None) -> PostgresPrograms:
    """The newest client programs: they read the files of all older ones. Raises SetupError."""
    candidates = list(_programs(named))
    if not candidates:
        place = named or "this machine"
        raise SetupError(f"no pg_restore and psql that can run are in {place}. {_remedy()}")
    return max(candidates, key=lambda programs: programs.major)


def _remedy() -> str:
    return (
        "Run pip install 'samehere[embedded]', or install the Postgres client of your distribution, "
        "or name the folder of newer programs in SAMEHERE_POSTGRES_PROGRAMS"
    )


def _programs(named: Path | None) -> Iterator[PostgresPrograms]:
    in_path = shutil.which("pg_restore")
    folders = (
        [programs_folder(), *sorted(VERSIONED.glob("*/bin")), Path(in_path).parent if in_path else None]
        if named is None
        else [named]
    )
    for folder in folders:
        programs = _in_folder(folder) if folder is not None else None
        if programs is not None:
            yield programs


def _in_folder(folder: Path) -> PostgresPrograms | None:
    """The programs of a folder, or None if one is missing or does not run."""
    if not all(os.access(folder / name, os.X_OK) for name in NAMES):
        return None
    try:
        done = subprocess.run(
            [str(folder.absolute() / "pg_dump"), "--version"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            env=own_environment(),
            cwd=WORKING_FOLDER,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"\) (\d+)", done.stdout)
    return PostgresPrograms(folder=folder, major=int(match[1])) if done.returncode == 0 and match else None
