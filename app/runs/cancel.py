"""Stop a run: what waits at once, what runs by a flag that its node reads each second."""

from __future__ import annotations

from sqlalchemy.orm import Session


def cancel_run(session: Session, run_id: str) -> None:
    """Cancel a run that has not finished; cancelling it twice is harmless. Raises NotFoundError, ConflictError when it has finished."""
    raise NotImplementedError
