"""attempts that observe the passage of a point

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

from alembic import op

revision = "7c2e90b4d1fa"
down_revision = "b7d2f0a91c34"
branch_labels = None
depends_on = None


def _allow(*kinds: str) -> None:
    words = ", ".join(f"'{kind}'" for kind in kinds)
    op.drop_constraint(op.f("ck_attempt_kind"), "attempt", type_="check")
    op.create_check_constraint(op.f("ck_attempt_kind"), "attempt", f"kind IN ({words})")


def upgrade() -> None:
    _allow("preview", "repeat", "passage")


def downgrade() -> None:
    op.execute("DELETE FROM attempt WHERE kind = 'passage'")
    _allow("preview", "repeat")
