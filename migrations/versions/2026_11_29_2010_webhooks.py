"""webhooks: addresses that get news, and each event on its way to one

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "5be0c91f7d32"
down_revision = "9a3d5e17c604"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
C = sa.Text(collation="C")


def _one_of(name: str, *words: str) -> sa.Enum:
    return sa.Enum(*words, name=name, native_enum=False, create_constraint=True, length=32)


def upgrade() -> None:
    op.create_table(
        "webhook",
        sa.Column("id", C, nullable=False),
        sa.Column("owner", C, nullable=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("events", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("earlier_key", sa.Text(), nullable=True),
        sa.Column("earlier_until", MOMENT, nullable=True),
        sa.Column("stopped_at", MOMENT, nullable=True),
        sa.Column("stop_reason", _one_of("stop_reason", "gone", "silent"), nullable=True),
        sa.Column("busy_until", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook")),
    )
    op.create_index(op.f("ix_webhook_owner_id"), "webhook", ["owner", "id"], unique=False)
    op.create_table(
        "webhook_delivery",
        sa.Column("id", C, nullable=False),
        sa.Column("webhook_id", C, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", _one_of("state", "waiting", "delivered", "given_up"), nullable=False),
        sa.Column("next_at", MOMENT, nullable=False),
        sa.Column("tries", postgresql.JSONB(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("ended_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhook.id"], name=op.f("fk_webhook_delivery_webhook_id_webhook")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_delivery")),
        sa.UniqueConstraint("webhook_id", "subject", name=op.f("uq_webhook_delivery_webhook_id_subject")),
    )
    op.create_index(
        op.f("ix_webhook_delivery_webhook_id_id"), "webhook_delivery", ["webhook_id", "id"], unique=False
    )
    op.create_index(
        "ix_webhook_delivery_waiting",
        "webhook_delivery",
        ["webhook_id", "next_at"],
        unique=False,
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_index(
        "ix_webhook_delivery_ended",
        "webhook_delivery",
        ["ended_at"],
        unique=False,
        postgresql_where=sa.text("state <> 'waiting'"),
    )


def downgrade() -> None:
    op.drop_table("webhook_delivery")
    op.drop_table("webhook")
