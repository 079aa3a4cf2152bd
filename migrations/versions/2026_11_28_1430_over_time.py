"""reports over time: the current verdict, the trigger of a run, known toolchains, and changes

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "c5d83e1f7a04"
down_revision = "b41c9d7e5a20"
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
GROUPS = ("still_broken", "fixed", "ask", "not_as_reported", "needs_human")
OCCASIONS = ("submitted", "toolchain", "schedule", "baseline", "imported")
KINDS = ("regressed", "fixed", "other", "confounded")


def _choice(name: str, values: tuple[str, ...]) -> sa.Enum:
    return sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=32)


def _id() -> sa.Text:
    return sa.Text(collation="C")


def upgrade() -> None:
    op.add_column("report", sa.Column("verdict", _choice("verdict", VERDICTS), nullable=True))
    op.add_column("report", sa.Column("attention", _choice("attention", GROUPS), nullable=True))
    op.add_column("report", sa.Column("verified_at", sa.DateTime(timezone=True), nullable=True))
    # A constant default does not rewrite the rows.
    op.add_column(
        "report",
        sa.Column(
            "considered_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
    )
    # There are few reports, so these indexes are created quickly.
    op.create_index(
        "ix_report_attention_verified_at_id", "report", ["attention", "verified_at", "id"], unique=False
    )
    op.create_index("ix_report_verified_at_id", "report", ["verified_at", "id"], unique=False)
    op.create_index("ix_report_considered_at", "report", ["considered_at"], unique=False)
    op.add_column(
        "run",
        sa.Column("occasion", _choice("occasion", OCCASIONS), server_default="submitted", nullable=False),
    )
    # All runs still have the default, so the partial index is empty.
    op.create_index(
        "ix_run_of_ours", "run", ["id"], unique=False, postgresql_where=sa.text("occasion <> 'submitted'")
    )
    op.create_table(
        "toolchain",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_toolchain")),
    )
    _create_change()


def _create_change() -> None:
    op.create_table(
        "change",
        sa.Column("id", _id(), nullable=False),
        sa.Column("report_id", _id(), nullable=False),
        sa.Column("run_id", _id(), nullable=False),
        sa.Column("job_id", _id(), nullable=False),
        sa.Column("before_job_id", _id(), nullable=False),
        sa.Column("kind", _choice("kind", KINDS), nullable=False),
        sa.Column("script_digest", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("before_target", sa.Text(), nullable=False),
        sa.Column("toolchain", sa.Text(), nullable=False),
        sa.Column("before_toolchain", sa.Text(), nullable=False),
        sa.Column("before", _choice("before", VERDICTS), nullable=False),
        sa.Column("after", _choice("after", VERDICTS), nullable=False),
        sa.Column("axis", sa.Text(), nullable=False),
        sa.Column("older", sa.Text(), nullable=False),
        sa.Column("newer", sa.Text(), nullable=False),
        sa.Column("differs", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("missing", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_change")),
        sa.ForeignKeyConstraint(["report_id"], ["report.id"], name=op.f("fk_change_report_id_report")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_change_run_id_run")),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_change_job_id_job")),
        sa.ForeignKeyConstraint(["before_job_id"], ["job.id"], name=op.f("fk_change_before_job_id_job")),
        sa.ForeignKeyConstraint(
            ["script_digest"], ["script.digest"], name=op.f("fk_change_script_digest_script")
        ),
    )
    for columns in (["kind", "id"], ["toolchain", "id"], ["report_id", "id"], ["job_id"], ["before_job_id"]):
        op.create_index(f"ix_change_{'_'.join(columns)}", "change", columns, unique=False)


def downgrade() -> None:
    op.drop_table("change")
    op.drop_table("toolchain")
    op.drop_index("ix_run_of_ours", table_name="run", postgresql_where=sa.text("occasion <> 'submitted'"))
    op.drop_column("run", "occasion")
    op.drop_index("ix_report_considered_at", table_name="report")
    op.drop_column("report", "considered_at")
    op.drop_index("ix_report_verified_at_id", table_name="report")
    op.drop_index("ix_report_attention_verified_at_id", table_name="report")
    op.drop_column("report", "verified_at")
    op.drop_column("report", "attention")
    op.drop_column("report", "verdict")
