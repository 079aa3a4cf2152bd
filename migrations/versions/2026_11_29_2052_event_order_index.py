"""an index for the events of all runs in order

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

from alembic import op

revision = "b86d1f40ac27"
down_revision = "5e0c2b7f91d3"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute("SET statement_timeout = 0")
        op.create_index(
            "ix_event_order",
            "event",
            ["transaction", "run_id", "number"],
            unique=False,
            postgresql_concurrently=True,
            if_not_exists=True,
        )
        op.execute("SET statement_timeout = '5s'")


def downgrade() -> None:
    op.drop_index("ix_event_order", table_name="event")
