"""a maintainer confirms that a report is a bug

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "d4a07c51be93"
down_revision = "6b1f83d2c9e4"
branch_labels = None
depends_on = None

ACTS = (
    "overruled",
    "taken_back",
    "labelled",
    "closed",
    "reopened",
    "withdrawn",
    "quarantined",
    "lifted",
    "judged_again",
    "claim_corrected",
)
NEW = ("confirmed", "unconfirmed")


def upgrade() -> None:
    op.add_column("report", sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=True))
    _allow((*ACTS, *NEW))


def downgrade() -> None:
    op.execute(sa.text("DELETE FROM act WHERE what IN ('confirmed', 'unconfirmed')"))
    _allow(ACTS)
    op.drop_column("report", "confirmed_at")


def _allow(acts: tuple[str, ...]) -> None:
    op.drop_constraint(op.f("ck_act_what"), "act", type_="check")
    words = ", ".join(f"'{word}'" for word in acts)
    op.create_check_constraint(op.f("ck_act_what"), "act", f"what IN ({words})")
