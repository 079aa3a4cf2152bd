"""bisections

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "d3f7a0c51b62"
down_revision = "d2f81b6a9c44"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bisection",
        sa.Column("id", sa.Text(collation="C"), nullable=False),
        sa.Column("report_id", sa.Text(collation="C"), nullable=False),
        sa.Column("axis", sa.Text(), nullable=False),
        sa.Column("points", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("error", sa.Float(), nullable=False),
        sa.Column("most_attempts", sa.Integer(), nullable=False),
        sa.Column("side_by_side", sa.Integer(), nullable=False),
        sa.Column("answer", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("asked_by", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["id"], ["run.id"], name=op.f("fk_bisection_id_run")),
        sa.ForeignKeyConstraint(["report_id"], ["report.id"], name=op.f("fk_bisection_report_id_report")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bisection")),
    )
    op.create_index(op.f("ix_bisection_report_id_id"), "bisection", ["report_id", "id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_bisection_report_id_id"), table_name="bisection")
    op.drop_table("bisection")
