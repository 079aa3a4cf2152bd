"""the search index, and cached run objects

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "d91f6b3a20e8"
down_revision = "c5d83e1f7a04"
branch_labels = None
depends_on = None

VERDICTS = (
    "needs_info",
    "reproduced",
    "flaky",
    "different",
    "not_reproduced",
    "cannot_show",
    "observed",
    "no_result",
)
C = sa.Text(collation="C")
BANDS = "ARRAY[" + ", ".join(f"substring(sketch from {at} for 16)" for at in range(1, 257, 16)) + "]"
AT_ONCE = {"fastupdate": "off"}


def upgrade() -> None:
    _create_report_search()
    _create_report_cell()
    op.create_table(
        "run_document",
        sa.Column("run_id", C, nullable=False),
        sa.Column("made_from", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_run_document_run_id_run"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_document")),
    )
    op.drop_index("ix_run_report_id", table_name="run")
    op.create_index(op.f("ix_run_report_id_id"), "run", ["report_id", "id"], unique=False)
    op.create_index(op.f("ix_run_state"), "run", ["state"], unique=False)
    op.create_index(
        "ix_script_bands",
        "script",
        [sa.text(f"({BANDS})")],
        unique=False,
        postgresql_using="gin",
        postgresql_with=AT_ONCE,
    )


def _create_report_search() -> None:
    op.create_table(
        "report_search",
        sa.Column("report_id", C, nullable=False),
        sa.Column("rules", sa.Integer(), nullable=False),
        sa.Column("facets", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("words", postgresql.TSVECTOR(), nullable=False),
        sa.ForeignKeyConstraint(
            ["report_id"], ["report.id"], name=op.f("fk_report_search_report_id_report"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("report_id", name=op.f("pk_report_search")),
    )
    op.create_index(
        "ix_report_search_facets",
        "report_search",
        ["facets"],
        unique=False,
        postgresql_using="gin",
        postgresql_with=AT_ONCE,
    )
    op.create_index(
        "ix_report_search_words",
        "report_search",
        ["words"],
        unique=False,
        postgresql_using="gin",
        postgresql_with=AT_ONCE,
    )
    op.create_index(op.f("ix_report_search_rules"), "report_search", ["rules"], unique=False)


def _create_report_cell() -> None:
    op.create_table(
        "report_cell",
        sa.Column("report_id", C, nullable=False),
        sa.Column("script", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("toolchain", sa.Text(), nullable=False),
        sa.Column("settings", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("node", sa.Text(), nullable=True),
        sa.Column(
            "verdict",
            sa.Enum(*VERDICTS, name="verdict", native_enum=False, create_constraint=True, length=32),
            nullable=True,
        ),
        sa.Column("outcomes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("exceptions", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["report_id"], ["report.id"], name=op.f("fk_report_cell_report_id_report"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("report_id", "script", "label", name=op.f("pk_report_cell")),
    )
    op.create_index(op.f("ix_report_cell_toolchain"), "report_cell", ["toolchain"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_script_bands", table_name="script")
    op.drop_index(op.f("ix_run_state"), table_name="run")
    op.drop_index(op.f("ix_run_report_id_id"), table_name="run")
    op.create_index("ix_run_report_id", "run", ["report_id"], unique=False)
    op.drop_table("run_document")
    op.drop_table("report_cell")
    op.drop_table("report_search")
