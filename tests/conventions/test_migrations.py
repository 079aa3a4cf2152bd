"""The schema comes from migrations alone, from the first table on."""

from __future__ import annotations

from sqlalchemy import NullPool, create_engine, inspect

from app.storage import migrate


def tables(url: str) -> set[str]:
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        return set(inspect(connection).get_table_names())


def test_models_and_migrations_agree(empty_database: str) -> None:
    assert not migrate.is_current(empty_database)
    migrate.upgrade(empty_database)
    assert migrate.is_current(empty_database)
    migrate.check(empty_database)


def test_one_step_down_and_up_again(empty_database: str) -> None:
    migrate.upgrade(empty_database)
    before = tables(empty_database)
    migrate.downgrade(empty_database, "-1")
    assert not migrate.is_current(empty_database)
    migrate.upgrade(empty_database)
    assert tables(empty_database) == before
    migrate.check(empty_database)


def test_upgrading_twice_changes_nothing(database: str) -> None:
    before = tables(database)
    migrate.upgrade(database)
    assert tables(database) == before
