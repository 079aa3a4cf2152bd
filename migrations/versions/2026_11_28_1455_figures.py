"""an index for counting attempts

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

from alembic import op

revision = "e20c7a95d4f1"
down_revision = "d91f6b3a20e8"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.create_index(
            "ix_attempt_figures",
            "attempt",
            ["state", "outcome", "lease_no"],
            unique=False,
            postgresql_concurrently=True,
        )


def downgrade() -> None:
    with op.get_context().autocommit_block():
        op.drop_index("ix_attempt_figures", table_name="attempt", postgresql_concurrently=True)
