"""signing_key: the public halves of keys that sign bundles

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "e7d2049ab6f1"
down_revision = "5be0c91f7d32"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
C = sa.Text(collation="C")


def upgrade() -> None:
    op.create_table(
        "signing_key",
        sa.Column("id", C, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("revoked_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_signing_key")),
        sa.UniqueConstraint("key_id", name=op.f("uq_signing_key_key_id")),
    )


def downgrade() -> None:
    op.drop_table("signing_key")
