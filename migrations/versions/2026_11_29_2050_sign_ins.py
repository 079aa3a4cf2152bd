"""browsers that are signed in, why a report was closed, and the hardware and warnings of searched cells

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "5f18c2ab90e7"
down_revision = "e7d2049ab6f1"
branch_labels = None
depends_on = None

WORDS = ("by_design", "announced", "duplicate", "not_ours", "fixed", "wont_fix")


def upgrade() -> None:
    op.create_table(
        "sign_in",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("token_id", sa.Text(collation="C"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["token.id"], name=op.f("fk_sign_in_token_id_token")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sign_in")),
    )
    op.create_index(op.f("ix_sign_in_token_id"), "sign_in", ["token_id"])
    op.add_column("report", sa.Column("disposition", sa.String(length=32), nullable=True))
    words = ", ".join(f"'{word}'" for word in WORDS)
    op.create_check_constraint(op.f("ck_report_disposition"), "report", f"disposition IN ({words})")
    # A constant default does not rewrite the rows. The search is indexed again by its own command.
    for name in ("hardware", "warnings"):
        op.add_column(
            "report_cell",
            sa.Column(name, sa.ARRAY(sa.Text()), server_default=sa.text("'{}'::text[]"), nullable=False),
        )


def downgrade() -> None:
    op.drop_column("report_cell", "warnings")
    op.drop_column("report_cell", "hardware")
    op.drop_column("report", "disposition")
    op.drop_table("sign_in")
