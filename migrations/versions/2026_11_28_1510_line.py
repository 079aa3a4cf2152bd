"""indexes for the durations of attempts: by script, and by time

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "d2f81b6a9c44"
down_revision = "c7a1f04e92d3"
branch_labels = None
depends_on = None

RECORDED = sa.text("recorded_at IS NOT NULL")


def upgrade() -> None:
    # Outside of the transaction, so that nobody waits for it: there may be many attempts.
    with op.get_context().autocommit_block():
        op.execute("SET statement_timeout = 0")
        op.create_index(
            "ix_job_script_digest_id",
            "job",
            ["script_digest", "id"],
            unique=False,
            postgresql_concurrently=True,
            if_not_exists=True,
        )
        op.create_index(
            "ix_attempt_recorded_at",
            "attempt",
            ["recorded_at"],
            unique=False,
            postgresql_where=RECORDED,
            postgresql_concurrently=True,
            if_not_exists=True,
        )
        op.execute("SET statement_timeout = '5s'")


def downgrade() -> None:
    op.drop_index("ix_attempt_recorded_at", table_name="attempt", postgresql_where=RECORDED)
    op.drop_index("ix_job_script_digest_id", table_name="job")
