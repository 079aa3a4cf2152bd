"""the transaction of an event, by which the events of all runs are ordered

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "5e0c2b7f91d3"
down_revision = "5f18c2ab90e7"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Old events get the number of this transaction, so they come before all later ones.
    op.add_column(
        "event",
        sa.Column(
            "transaction",
            sa.BigInteger(),
            server_default=sa.text("(pg_current_xact_id()::text)::bigint"),
            nullable=False,
        ),
    )


def downgrade() -> None:
    op.drop_column("event", "transaction")
