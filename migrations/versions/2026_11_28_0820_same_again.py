"""duplicate reports: the main script of a report, and the shape and the sketch of scripts

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "8f3a60c4d1e7"
down_revision = "5d0c7e21a9b3"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("script", sa.Column("shape_digest", sa.Text(), nullable=True))
    op.add_column("script", sa.Column("sketch", sa.LargeBinary(), nullable=True))
    op.create_index(op.f("ix_script_shape_digest"), "script", ["shape_digest"], unique=False)
    op.add_column("report", sa.Column("main_script", sa.Text(), nullable=True))
    op.create_foreign_key(
        op.f("fk_report_main_script_script"), "report", "script", ["main_script"], ["digest"]
    )
    op.create_index(op.f("ix_report_main_script"), "report", ["main_script"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_report_main_script"), table_name="report")
    op.drop_constraint(op.f("fk_report_main_script_script"), "report", type_="foreignkey")
    op.drop_column("report", "main_script")
    op.drop_index(op.f("ix_script_shape_digest"), table_name="script")
    op.drop_column("script", "sketch")
    op.drop_column("script", "shape_digest")
