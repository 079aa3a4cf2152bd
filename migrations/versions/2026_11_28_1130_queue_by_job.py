"""the queue by job: dispatch reads only the first queued attempts of each job

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration. This one holds what is queued only.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "b7c41f0d93aa"
down_revision = "8f3a60c4d1e7"
branch_labels = None
depends_on = None

QUEUED = sa.text("state = 'queued'")


def upgrade() -> None:
    op.drop_index("ix_attempt_queued", table_name="attempt", postgresql_where=QUEUED)
    op.create_index("ix_attempt_queued", "attempt", ["job_id", "id"], unique=False, postgresql_where=QUEUED)


def downgrade() -> None:
    op.drop_index("ix_attempt_queued", table_name="attempt", postgresql_where=QUEUED)
    op.create_index("ix_attempt_queued", "attempt", ["run_id"], unique=False, postgresql_where=QUEUED)
