"""the cards that an attempt ran on

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "b41c9d7e5a20"
down_revision = "b7e2d94f10ac"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempt", sa.Column("cards", postgresql.ARRAY(sa.Text()), nullable=True))
    # The column is empty in all rows, so the index is created quickly.
    op.create_index("ix_attempt_cards", "attempt", ["cards"], unique=False, postgresql_using="gin")


def downgrade() -> None:
    op.drop_index("ix_attempt_cards", table_name="attempt", postgresql_using="gin")
    op.drop_column("attempt", "cards")
