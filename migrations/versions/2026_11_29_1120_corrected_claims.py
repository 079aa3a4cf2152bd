"""claims that were corrected, with the earlier ones

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "b7d2f0a91c34"
down_revision = "e1a40c77d2b8"
branch_labels = None
depends_on = None

BEFORE = (
    *("overruled", "taken_back", "labelled", "closed", "reopened", "withdrawn", "quarantined", "lifted"),
    "judged_again",
)


def upgrade() -> None:
    # A constant default does not rewrite the rows.
    op.add_column(
        "report", sa.Column("earlier_claims", JSONB(), server_default=sa.text("'[]'::jsonb"), nullable=False)
    )
    op.add_column("report", sa.Column("corrected_at", sa.DateTime(timezone=True), nullable=True))
    _allow((*BEFORE, "claim_corrected"))


def downgrade() -> None:
    # An older version does not know corrections.
    op.execute("DELETE FROM act WHERE what = 'claim_corrected'")
    _allow(BEFORE)
    op.drop_column("report", "corrected_at")
    op.drop_column("report", "earlier_claims")


def _allow(acts: tuple[str, ...]) -> None:
    op.drop_constraint(op.f("ck_act_what"), "act", type_="check")
    words = ", ".join(f"'{act}'" for act in acts)
    op.create_check_constraint(op.f("ck_act_what"), "act", f"what IN ({words})")
