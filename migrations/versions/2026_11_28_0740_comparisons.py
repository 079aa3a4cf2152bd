"""comparisons of attempts

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "5d0c7e21a9b3"
down_revision = "244758d9d5c4"
branch_labels = None
depends_on = None

RESULTS = ("identical", "equivalent", "different", "incomparable")


def upgrade() -> None:
    op.create_table(
        "comparison",
        sa.Column("baseline", sa.Text(collation="C"), nullable=False),
        sa.Column("candidate", sa.Text(collation="C"), nullable=False),
        sa.Column("rules", sa.Integer(), nullable=False),
        sa.Column(
            "result",
            sa.Enum(*RESULTS, name="result", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("content", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["baseline"], ["attempt.id"], name=op.f("fk_comparison_baseline_attempt"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["candidate"], ["attempt.id"], name=op.f("fk_comparison_candidate_attempt"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("baseline", "candidate", name=op.f("pk_comparison")),
    )
    op.create_index(op.f("ix_comparison_candidate"), "comparison", ["candidate"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_comparison_candidate"), table_name="comparison")
    op.drop_table("comparison")
