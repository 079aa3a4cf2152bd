"""a cell that is added after its run has ended, to look for a contrast

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "7e2c90b4a1d8"
down_revision = "d4a07c51be93"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "job", sa.Column("is_contrast", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )


def downgrade() -> None:
    op.drop_column("job", "is_contrast")
