"""Remembers for each job when its attempts get their card."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError
from sqlalchemy.orm import Session

from app.cache import SizedCache
from app.intake.claim.claims import Claim
from app.intake.needs.card_use import card_use
from app.storage.queries.queue import queue
from worker.contract import CardUse

_BYTES = 1 << 20
_ENTRY_BYTES = 200
# By the id of the job: its claim and its script do not change.
_known: SizedCache[CardUse] = SizedCache(_BYTES)


def card_uses(session: Session, job_ids: Iterable[str]) -> dict[str, CardUse]:
    """When the attempts of these jobs get their card, by the id of the job."""
    requested = set(job_ids)
    uses = {job_id: use for job_id in requested if (use := _known.find(job_id)) is not None}
    for job_id, script, claim in queue.claims_of_jobs(session, requested - set(uses)):
        uses[job_id] = _read(script, claim)
        _known.store(job_id, uses[job_id], _ENTRY_BYTES)
    return uses


def _read(script: str, claim: object) -> CardUse:
    try:
        return card_use(Claim.model_validate(claim), script)
    except ValidationError:
        return CardUse.FROM_START
