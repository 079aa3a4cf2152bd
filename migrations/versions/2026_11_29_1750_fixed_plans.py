"""the claim, the plan and the rules that a run fixed before its first attempt

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "9a3d5e17c604"
down_revision = "d41c7a02e9b8"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("run", sa.Column("plan_record", JSONB(), nullable=True))


def downgrade() -> None:
    op.drop_column("run", "plan_record")
