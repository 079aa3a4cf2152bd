"""canary

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "e4a91c07b5d8"
down_revision = "5b1e0c9d7a42"
branch_labels = None
depends_on = None

BEFORE = ("submitted", "toolchain", "schedule", "baseline", "imported")
TRIGGERS = (*BEFORE, "canary")


def upgrade() -> None:
    # A constant default does not rewrite the rows.
    op.add_column(
        "report", sa.Column("is_canary", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
    _allow(TRIGGERS)
    op.create_index(
        "ix_run_canary", "run", ["id"], unique=False, postgresql_where=sa.text("occasion = 'canary'")
    )


def downgrade() -> None:
    op.drop_index("ix_run_canary", table_name="run", postgresql_where=sa.text("occasion = 'canary'"))
    # An older version does not know canaries.
    op.execute("UPDATE run SET occasion = 'schedule' WHERE occasion = 'canary'")
    _allow(BEFORE)
    op.drop_column("report", "is_canary")


def _allow(triggers: tuple[str, ...]) -> None:
    op.drop_constraint(op.f("ck_run_occasion"), "run", type_="check")
    words = ", ".join(f"'{trigger}'" for trigger in triggers)
    op.create_check_constraint(op.f("ck_run_occasion"), "run", f"occasion IN ({words})")
