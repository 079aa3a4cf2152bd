"""Reads and writes nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import DateTime, Text, bindparam, cast, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.storage.models import NodeRow

_ALL_NODES = select(NodeRow).order_by(NodeRow.name)
# Nodes that were seen since `seen_since` and are not draining, each with the JSON of its last hello.
PRESENT = select(NodeRow.name, cast(NodeRow.hello, Text).label("hello")).where(
    NodeRow.seen_at >= bindparam("seen_since", type_=DateTime(timezone=True)), NodeRow.draining.is_(False)
)


def all_nodes(session: Session) -> Sequence[NodeRow]:
    """All nodes, by name."""
    return session.scalars(_ALL_NODES).all()


def present_hellos(session: Session, *, seen_since: datetime) -> list[tuple[str, str]]:
    """The nodes that were seen lately and are not draining: each name with the JSON of the last hello."""
    return sorted((name, hello) for name, hello in session.execute(PRESENT, {"seen_since": seen_since}))


def lock_nodes(session: Session, names: Iterable[str]) -> Sequence[NodeRow]:
    """These nodes, locked in the order of their names. Nodes are locked before runs."""
    query = select(NodeRow).where(NodeRow.name.in_(list(names))).order_by(NodeRow.name).with_for_update()
    return session.scalars(query, execution_options={"populate_existing": True}).all()


def store_hello(
    session: Session, *, name: str, instance: str, hello: dict[str, Any], moment: datetime
) -> None:
    """Store the hello of a node. A new instance is no longer draining."""
    new = insert(NodeRow).values(
        name=name,
        instance=instance,
        draining=False,
        hello=hello,
        created_at=moment,
        hello_at=moment,
        seen_at=moment,
    )
    session.execute(
        new.on_conflict_do_update(
            index_elements=[NodeRow.name],
            set_={
                "instance": instance,
                "draining": NodeRow.draining & (NodeRow.instance == instance),
                "hello": new.excluded.hello,
                "hello_at": moment,
                "seen_at": moment,
            },
        )
    )


def set_draining(session: Session, *, name: str, instance: str) -> bool:
    """Mark a node as draining. False if another instance has taken its name."""
    statement = (
        update(NodeRow)
        .where(NodeRow.name == name, NodeRow.instance == instance)
        .values(draining=True)
        .returning(NodeRow.name)
    )
    return session.scalar(statement) is not None


def store_seen(session: Session, names: Iterable[str], *, moment: datetime) -> None:
    """Store that these nodes gave a sign of life. Locks them."""
    for row in lock_nodes(session, names):
        row.seen_at = moment
