"""what a newer version lacks, and the warning of an older one

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "d41c7a02e9b8"
down_revision = "7c2e90b4d1fa"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("change", sa.Column("removal", JSONB(), nullable=True))


def downgrade() -> None:
    op.drop_column("change", "removal")
