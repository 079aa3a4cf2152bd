"""Migrations: from an empty database, one step down, and equal to the models."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from migrated import is_current
from sqlalchemy import create_engine, inspect

from app.storage import migrate
from app.storage.models import Base


def tables(url: str) -> set[str]:
    engine = create_engine(url)
    try:
        return set(inspect(engine).get_table_names()) - {"alembic_version"}
    finally:
        engine.dispose()


def test_up_from_empty_down_and_up_again(empty_database: str) -> None:
    assert not is_current(empty_database)
    migrate.upgrade(empty_database)
    assert tables(empty_database) == set(Base.metadata.tables)
    assert is_current(empty_database)
    migrate.check(empty_database)
    migrate.downgrade(empty_database)
    assert not is_current(empty_database)
    migrate.upgrade(empty_database)
    migrate.check(empty_database)


def test_upgrading_twice_changes_nothing(database: str) -> None:
    before = tables(database)
    migrate.upgrade(database)
    assert tables(database) == before


def test_two_at_once_wait_for_each_other(empty_database: str) -> None:
    with ThreadPoolExecutor(2) as pool:
        # An interpreter has one alembic context, so two processes are needed.
        list(pool.map(_upgrade_in_a_process, [empty_database] * 2))
    assert is_current(empty_database)


def _upgrade_in_a_process(url: str) -> None:
    import subprocess
    import sys

    program = "import sys; from app.storage.migrate import upgrade; upgrade(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, url], check=True, timeout=60)
