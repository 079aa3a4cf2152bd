"""to whom the behaviour of a report belongs, so that lists agree with its page

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.

`python -m app.serve.backfill standing` fills in the column.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "6b1f83d2c9e4"
down_revision = "7e51b3d8c04f"
branch_labels = None
depends_on = None

OWNERS = ("defect", "announced", "rounding", "script", "documented", "open", "nobody")


def upgrade() -> None:
    op.add_column("report", sa.Column("owner", sa.String(length=32), nullable=True))
    words = ", ".join(f"'{word}'" for word in OWNERS)
    op.create_check_constraint(op.f("ck_report_owner"), "report", f"owner IN ({words})")


def downgrade() -> None:
    op.drop_column("report", "owner")
