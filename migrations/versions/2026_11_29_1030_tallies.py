"""counters that never fall, and the id of the request that started a run

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "e1a40c77d2b8"
down_revision = "e4a91c07b5d8"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tally",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tally")),
    )
    op.add_column("run", sa.Column("request_id", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("run", "request_id")
    op.drop_table("tally")
