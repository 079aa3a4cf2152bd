"""a group of reports for what happens and is explained

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "3b9d51e7c046"
down_revision = "7e2c90b4a1d8"
branch_labels = None
depends_on = None

GROUPS = ("still_broken", "fixed", "ask", "not_as_reported", "needs_human")
NEW = ("explained",)


def upgrade() -> None:
    _allow((*GROUPS, *NEW))


def downgrade() -> None:
    op.execute(sa.text("UPDATE report SET attention = 'needs_human' WHERE attention = 'explained'"))
    _allow(GROUPS)


def _allow(groups: tuple[str, ...]) -> None:
    op.drop_constraint(op.f("ck_report_attention"), "report", type_="check")
    words = ", ".join(f"'{word}'" for word in groups)
    op.create_check_constraint(op.f("ck_report_attention"), "report", f"attention IN ({words})")
