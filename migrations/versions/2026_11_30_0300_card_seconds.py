"""how long each attempt had its cards

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "2c7d90e4f1a8"
down_revision = "91c4d07be5a2"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempt", sa.Column("card_seconds", sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column("attempt", "card_seconds")
