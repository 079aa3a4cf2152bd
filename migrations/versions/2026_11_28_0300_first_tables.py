"""first tables

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "244758d9d5c4"
down_revision = None
branch_labels = None
depends_on = None

ATTEMPT_STATES = ("queued", "leased", "running", "recorded", "lost", "cancelled")
OUTCOMES = (
    "lost",
    "cancelled",
    "setup_failed",
    "timed_out",
    "output_exceeded",
    "out_of_memory",
    "crashed",
    "raised",
    "exited",
    "completed",
)
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
FORMS = ("script", "report")
JOB_STATES = ("queued", "running", "judged", "cancelled")
KINDS = ("preview", "repeat")
RUN_STATES = ("queued", "running", "finished", "cancelled")
STARTS = ("cold", "warm")


def choice(name: str, values: tuple[str, ...]) -> sa.Enum:
    return sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=32)


def upgrade() -> None:
    create_what_stands_alone()
    create_runs()
    create_jobs()
    create_attempts()


def create_what_stands_alone() -> None:
    op.create_table(
        "environment",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("facts", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_environment")),
    )
    op.create_table(
        "node",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("instance", sa.Text(), nullable=False),
        sa.Column("draining", sa.Boolean(), nullable=False),
        sa.Column("hello", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("hello_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_node")),
    )
    op.create_table(
        "report",
        sa.Column("id", sa.Text(collation="C"), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("source_url", sa.Text(), nullable=True),
        sa.Column("form", choice("form", FORMS), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("claim_text", sa.Text(), nullable=True),
        sa.Column("reading", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_report")),
    )
    op.create_index(op.f("ix_report_source_url"), "report", ["source_url"], unique=False)
    op.create_table(
        "script",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_script")),
    )
    op.create_table(
        "token",
        sa.Column("id", sa.Text(collation="C"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("scopes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("digest", name=op.f("uq_token_digest")),
    )


def create_runs() -> None:
    op.create_table(
        "run",
        sa.Column("id", sa.Text(collation="C"), nullable=False),
        sa.Column("report_id", sa.Text(collation="C"), nullable=False),
        sa.Column(
            "state",
            choice("state", RUN_STATES),
            nullable=False,
        ),
        sa.Column("preset", sa.Text(), nullable=True),
        sa.Column("repeats_at_most", sa.Integer(), nullable=False),
        sa.Column("repeats_exact", sa.Boolean(), nullable=False),
        sa.Column("last_event", sa.Integer(), nullable=False),
        sa.Column(
            "verdict",
            choice("verdict", VERDICTS),
            nullable=True,
        ),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["report_id"], ["report.id"], name=op.f("fk_run_report_id_report")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    op.create_index(
        "ix_run_open", "run", ["id"], unique=False, postgresql_where=sa.text("state IN ('queued', 'running')")
    )
    op.create_index(op.f("ix_run_report_id"), "run", ["report_id"], unique=False)
    op.create_table(
        "event",
        sa.Column("run_id", sa.Text(collation="C"), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("ids", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_event_run_id_run")),
        sa.PrimaryKeyConstraint("run_id", "number", name=op.f("pk_event")),
    )
    op.create_table(
        "idempotency_key",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("body_digest", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(collation="C"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["run.id"],
            name=op.f("fk_idempotency_key_run_id_run"),
            initially="DEFERRED",
            deferrable=True,
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_idempotency_key")),
    )


def create_jobs() -> None:
    op.create_table(
        "job",
        sa.Column("id", sa.Text(collation="C"), nullable=False),
        sa.Column("run_id", sa.Text(collation="C"), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("script_digest", sa.Text(), nullable=False),
        sa.Column("target", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column(
            "state",
            choice("state", JOB_STATES),
            nullable=False,
        ),
        sa.Column("reason", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("node", sa.Text(), nullable=True),
        sa.Column("environment_digest", sa.Text(), nullable=True),
        sa.Column(
            "verdict",
            choice("verdict", VERDICTS),
            nullable=True,
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_job_run_id_run")),
        sa.ForeignKeyConstraint(
            ["script_digest"], ["script.digest"], name=op.f("fk_job_script_digest_script")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
        sa.UniqueConstraint("run_id", "position", name=op.f("uq_job_run_id_position")),
    )
    op.create_index(
        "ix_job_open",
        "job",
        ["run_id"],
        unique=False,
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )


def create_attempts() -> None:
    op.create_table(
        "attempt",
        sa.Column("id", sa.Text(collation="C"), nullable=False),
        sa.Column("run_id", sa.Text(collation="C"), nullable=False),
        sa.Column("job_id", sa.Text(collation="C"), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("kind", choice("kind", KINDS), nullable=False),
        sa.Column("start", choice("start", STARTS), nullable=False),
        sa.Column(
            "state",
            choice("state", ATTEMPT_STATES),
            nullable=False,
        ),
        sa.Column("counted", sa.Boolean(), nullable=False),
        sa.Column("lease_no", sa.Integer(), nullable=False),
        sa.Column("leases_spent", sa.Integer(), nullable=False),
        sa.Column("node", sa.Text(), nullable=True),
        sa.Column("instance", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("leased_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "outcome",
            choice("outcome", OUTCOMES),
            nullable=True,
        ),
        sa.Column("environment_digest", sa.Text(), nullable=True),
        sa.Column("result", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.ForeignKeyConstraint(
            ["environment_digest"],
            ["environment.digest"],
            name=op.f("fk_attempt_environment_digest_environment"),
        ),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_attempt_job_id_job")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_attempt_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempt")),
    )
    op.create_index(
        "ix_attempt_held",
        "attempt",
        ["node"],
        unique=False,
        postgresql_where=sa.text("state IN ('leased', 'running')"),
    )
    op.create_index(op.f("ix_attempt_job_id"), "attempt", ["job_id"], unique=False)
    op.create_index(
        "ix_attempt_queued", "attempt", ["run_id"], unique=False, postgresql_where=sa.text("state = 'queued'")
    )


def downgrade() -> None:
    op.drop_index("ix_attempt_queued", table_name="attempt", postgresql_where=sa.text("state = 'queued'"))
    op.drop_index(op.f("ix_attempt_job_id"), table_name="attempt")
    op.drop_index(
        "ix_attempt_held", table_name="attempt", postgresql_where=sa.text("state IN ('leased', 'running')")
    )
    op.drop_table("attempt")
    op.drop_index("ix_job_open", table_name="job", postgresql_where=sa.text("state IN ('queued', 'running')"))
    op.drop_table("job")
    op.drop_table("idempotency_key")
    op.drop_table("event")
    op.drop_index(op.f("ix_run_report_id"), table_name="run")
    op.drop_index("ix_run_open", table_name="run", postgresql_where=sa.text("state IN ('queued', 'running')"))
    op.drop_table("run")
    op.drop_table("token")
    op.drop_table("script")
    op.drop_index(op.f("ix_report_source_url"), table_name="report")
    op.drop_table("report")
    op.drop_table("node")
    op.drop_table("environment")
