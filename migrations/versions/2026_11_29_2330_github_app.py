"""events from GitHub, and the issues and pull requests in which the GitHub App acts

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "91c4d07be5a2"
down_revision = "b86d1f40ac27"
branch_labels = None
depends_on = None

KINDS = ("label", "comment")
OUTCOMES = (
    *("started", "not_allowed", "banned", "unlabelled", "not_listed", "too_old", "closed", "refused"),
    "given_up",
)
REFUSALS = ("preset", "report", "no_head_build", "no_base_build")
VERDICTS = (
    *("needs_info", "reproduced", "flaky", "different", "not_reproduced", "cannot_show", "observed"),
    "no_result",
)


def _choice(name: str, values: tuple[str, ...], *, nullable: bool = False) -> sa.Column[str]:
    kind = sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=32)
    return sa.Column(name, kind, nullable=nullable)


def upgrade() -> None:
    op.create_table(
        "github_delivery",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        _choice("kind", KINDS),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("repository", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("is_pull", sa.Boolean(), nullable=False),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("preset", sa.Text(), nullable=True),
        _choice("state", ("waiting", "done")),
        _choice("outcome", OUTCOMES, nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_github_delivery")),
        sa.UniqueConstraint("digest", name=op.f("uq_github_delivery_digest")),
    )
    waiting, ended = sa.text("state = 'waiting'"), sa.text("state <> 'waiting'")
    op.create_index("ix_github_delivery_waiting", "github_delivery", ["next_at"], postgresql_where=waiting)
    op.create_index("ix_github_delivery_ended", "github_delivery", ["ended_at"], postgresql_where=ended)
    op.create_table(
        "github_thread",
        sa.Column("id", sa.Text(collation="C"), nullable=False),
        sa.Column("repository", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("is_pull", sa.Boolean(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("report_id", sa.Text(collation="C"), nullable=True),
        sa.Column("run_id", sa.Text(collation="C"), nullable=True),
        _choice("refusal", REFUSALS, nullable=True),
        sa.Column("head_sha", sa.Text(), nullable=True),
        sa.Column("posted_id", sa.BigInteger(), nullable=True),
        sa.Column("posted_digest", sa.Text(), nullable=True),
        _choice("posted_verdict", VERDICTS, nullable=True),
        _choice("state", ("following", "settled", "stopped")),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["report_id"], ["report.id"], name=op.f("fk_github_thread_report_id_report")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_github_thread_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_github_thread")),
        sa.UniqueConstraint("repository", "number", name=op.f("uq_github_thread_repository_number")),
    )
    op.create_index(op.f("ix_github_thread_report_id"), "github_thread", ["report_id"])
    following = sa.text("state = 'following'")
    op.create_index("ix_github_thread_following", "github_thread", ["next_at"], postgresql_where=following)


def downgrade() -> None:
    op.drop_table("github_thread")
    op.drop_table("github_delivery")
