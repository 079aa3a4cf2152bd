"""maintainers: acts, quarantines, overrulings, labels, withdrawals, and the rules of each verdict

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "c7a1f04e92d3"
down_revision = "e20c7a95d4f1"
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
MOMENT = sa.DateTime(timezone=True)
C = sa.Text(collation="C")


def _overruled(table: str) -> None:
    """A verdict column: text with a CHECK."""
    op.add_column(table, sa.Column("overruled", sa.String(length=32), nullable=True))
    words = ", ".join(f"'{word}'" for word in VERDICTS)
    op.create_check_constraint(op.f(f"ck_{table}_overruled"), table, f"overruled IN ({words})")


def _one_of(name: str, *words: str) -> sa.Enum:
    return sa.Enum(*words, name=name, native_enum=False, create_constraint=True, length=32)


def _tables() -> None:
    deeds = (
        "overruled",
        "taken_back",
        "labelled",
        "closed",
        "reopened",
        "withdrawn",
        "quarantined",
        "lifted",
        "judged_again",
    )
    op.create_table(
        "act",
        sa.Column("id", C, nullable=False),
        sa.Column(
            "subject_kind",
            _one_of("subject_kind", "report", "run", "node", "toolchain", "script"),
            nullable=False,
        ),
        sa.Column("subject", C, nullable=False),
        sa.Column("what", _one_of("what", *deeds), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("details", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_act")),
    )
    op.create_index(
        op.f("ix_act_subject_kind_subject_id"), "act", ["subject_kind", "subject", "id"], unique=False
    )
    op.create_table(
        "quarantine",
        sa.Column("id", C, nullable=False),
        sa.Column("kind", _one_of("kind", "node", "toolchain", "script"), nullable=False),
        sa.Column("name", C, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("since", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("lifted_at", MOMENT, nullable=True),
        sa.Column("reopened", sa.Integer(), nullable=False),
        sa.Column("pending", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quarantine")),
    )
    active = sa.text("lifted_at IS NULL")
    op.create_index(
        "uq_quarantine_active", "quarantine", ["kind", "name"], unique=True, postgresql_where=active
    )
    op.create_index(
        "ix_quarantine_pending",
        "quarantine",
        ["id"],
        unique=False,
        postgresql_where=sa.text("pending <> '{}'"),
    )


def upgrade() -> None:
    _tables()
    op.add_column(
        "report",
        sa.Column(
            "labels", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'::text[]"), nullable=False
        ),
    )
    op.add_column("report", sa.Column("closed_at", MOMENT, nullable=True))
    op.add_column("report", sa.Column("duplicate_of", C, nullable=True))
    op.create_foreign_key(op.f("fk_report_duplicate_of_report"), "report", "report", ["duplicate_of"], ["id"])
    op.add_column("report", sa.Column("withdrawn_at", MOMENT, nullable=True))
    op.add_column("report", sa.Column("withdraw_digest", sa.Text(), nullable=True))
    op.create_index(op.f("ix_report_withdraw_digest"), "report", ["withdraw_digest"], unique=True)
    op.create_index(
        "ix_report_labels",
        "report",
        ["labels"],
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )
    op.create_index(
        "ix_report_scripts", "report", [sa.text("(reading -> 'scripts')")], postgresql_using="gin"
    )
    for table in ("report", "run"):
        _overruled(table)
    op.add_column("run", sa.Column("rules", sa.Integer(), nullable=True))
    op.add_column("run", sa.Column("kept", postgresql.JSONB(none_as_null=True), nullable=True))
    op.add_column("job", sa.Column("rules", sa.Integer(), nullable=True))
    op.create_index(
        "ix_job_toolchain", "job", [sa.text("split_part(target ->> 'toolchain', '+', 1)")], unique=False
    )
    evidence = sa.text("state = 'recorded' AND counted")
    op.create_index(
        "ix_attempt_evidence", "attempt", ["node", "recorded_at"], unique=False, postgresql_where=evidence
    )
    op.add_column("script", sa.Column("erased_at", MOMENT, nullable=True))


def downgrade() -> None:
    op.drop_column("script", "erased_at")
    op.drop_index("ix_attempt_evidence", table_name="attempt")
    op.drop_index("ix_job_toolchain", table_name="job")
    op.drop_column("job", "rules")
    op.drop_column("run", "kept")
    op.drop_column("run", "rules")
    for table in ("run", "report"):
        op.drop_column(table, "overruled")
    op.drop_index("ix_report_scripts", table_name="report")
    op.drop_index("ix_report_labels", table_name="report")
    op.drop_index(op.f("ix_report_withdraw_digest"), table_name="report")
    for column in ("withdraw_digest", "withdrawn_at", "duplicate_of", "closed_at", "labels"):
        op.drop_column("report", column)
    op.drop_table("quarantine")
    op.drop_table("act")
