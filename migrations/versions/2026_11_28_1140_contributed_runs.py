"""contributed runs: the contributor, the digest of the evidence, and who made it

Rules: one transaction; no data moves (write a tested command); drop or rename a column over two releases;
an index on a big table is made CONCURRENTLY in its own migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "b7e2d94f10ac"
down_revision = "b7c41f0d93aa"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("run", sa.Column("contributed_by", sa.Text(), nullable=True))
    op.add_column("run", sa.Column("evidence_digest", sa.Text(), nullable=True))
    op.add_column("run", sa.Column("made_by", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
    op.create_unique_constraint(op.f("uq_run_evidence_digest"), "run", ["evidence_digest"])


def downgrade() -> None:
    op.drop_constraint(op.f("uq_run_evidence_digest"), "run", type_="unique")
    op.drop_column("run", "made_by")
    op.drop_column("run", "evidence_digest")
    op.drop_column("run", "contributed_by")
