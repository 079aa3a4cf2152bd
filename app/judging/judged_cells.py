"""A cell of a run as judging sees it."""

from __future__ import annotations

from dataclasses import dataclass

from app.intake.reading import ScriptRole
from app.judging.judgement import JobJudgement, Verdict
from app.targets.target import Target
from worker.contract import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCell:
    """One script on one target with its judgement, None while it is not decided; `results` are the counted attempts'."""

    job_id: str
    script: str
    target: Target
    judgement: JobJudgement | None
    results: tuple[Result, ...] = ()
    role: ScriptRole = ScriptRole.MAIN

    @property
    def verdict(self) -> Verdict | None:
        """The job's verdict, if there is one yet."""
        return None if self.judgement is None else self.judgement.verdict
