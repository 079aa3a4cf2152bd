"""submitters: who started a run, and what gives the submitter the withdraw link again

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "5b1e0c9d7a42"
down_revision = "d3f7a0c51b62"
branch_labels = None
depends_on = None

C = sa.Text(collation="C")


def upgrade() -> None:
    op.add_column("run", sa.Column("submitter", C, nullable=True))
    op.add_column("idempotency_key", sa.Column("submitter", C, nullable=True))
    op.add_column("idempotency_key", sa.Column("salt", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("idempotency_key", "salt")
    op.drop_column("idempotency_key", "submitter")
    op.drop_column("run", "submitter")
