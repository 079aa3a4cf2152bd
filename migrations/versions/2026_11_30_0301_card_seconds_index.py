"""an index for the latest attempts that had a card

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "7e51b3d8c04f"
down_revision = "2c7d90e4f1a8"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute("SET statement_timeout = 0")
        op.create_index(
            "ix_attempt_on_cards",
            "attempt",
            ["recorded_at"],
            unique=False,
            postgresql_where=sa.text("card_seconds > 0"),
            postgresql_concurrently=True,
            if_not_exists=True,
        )
        op.execute("SET statement_timeout = '5s'")


def downgrade() -> None:
    op.drop_index("ix_attempt_on_cards", table_name="attempt")
