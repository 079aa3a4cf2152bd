"""The base of all models: constraint names, column types by annotation, enum columns as checked text."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, get_args

from sqlalchemy import DateTime, Enum, MetaData, Text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import DeclarativeBase

# Ids sort by time. The collation "C" compares bytes, whatever the locale of the database is.
Id = Annotated[str, "id"]

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


def _values(members: type[StrEnum]) -> list[str]:
    return [member.value for member in members]


def choice(name: str, values: Any) -> Enum:
    """The column type of a `Literal` or a StrEnum: text with a CHECK."""
    if isinstance(values, type) and issubclass(values, StrEnum):
        return Enum(
            values, name=name, native_enum=False, create_constraint=True, length=32, values_callable=_values
        )
    return Enum(*get_args(values), name=name, native_enum=False, create_constraint=True, length=32)


class Base(DeclarativeBase):
    """The base class of all models. They have no relationships: each query names what it loads."""

    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        Id: Text(collation="C"),
        str: Text(),
        datetime: DateTime(timezone=True),
        dict[str, Any]: JSONB(none_as_null=True),
        dict[str, str]: JSONB(none_as_null=True),
        list[str]: ARRAY(Text()),
    }
