"""The dossier of a run: what its traced cells show about the numbers of its script."""

from __future__ import annotations

from app.intake.code.uninitialised_memory import uses_uninitialised_memory
from app.judging.cause.defect import OF_THE_SCRIPT, defect_of
from app.judging.cause.out_of_sight import leaves_sight
from app.judging.cause.own_parts import own_parts
from app.judging.dossier.build import build_dossier
from app.judging.dossier.document import Dossier, DossierCell
from app.judging.judgement import Defect, Verdict
from app.runs.run_object.document import JobPart, RunDocument
from app.targets.planning.cause_tests import compiles
from worker.contract import AttemptKind, Outcome

CLAIM_NOT_SEEN = "This is about what was seen here; what the report claims was not seen."
_WITHOUT_THE_CLAIM = frozenset({Verdict.NOT_REPRODUCED, Verdict.DIFFERENT})
_SCRIPTED = ("torch.jit", "torch.export")


def has_trace(run: RunDocument) -> bool:
    """Whether a cell of the run was traced."""
    return any(job.trace is not None for job in run.jobs)


def dossier_of_run(run: RunDocument) -> Dossier:
    """The dossier. With several scripts it is about the first one that was traced."""
    script = next((job.script for job in run.jobs if job.trace is not None), None)
    jobs = [job for job in run.jobs if script in (None, job.script)]
    text = next((part.script for part in run.report.scripts if part.digest == script), "")
    dossier = build_dossier(
        [_cell(job) for job in jobs],
        cause=run.cause,
        source=run.cause_source,
        defect=_defect(run),
        compiles=compiles(text) or any(word in text for word in _SCRIPTED),
        takes_memory=uses_uninitialised_memory(text),
        leaves_sight=leaves_sight(text),
        own_parts=own_parts(text),
        report=run.report.id,
        run=run.id,
        title=run.report.title,
    )
    if run.verdict not in _WITHOUT_THE_CLAIM:
        return dossier
    return dossier.model_copy(update={"defect_sentence": f"{dossier.defect_sentence} {CLAIM_NOT_SEEN}"})


def _defect(run: RunDocument) -> Defect:
    """Whether the run's cause is a defect. Without a claim the question is only whether repeats vary."""
    failed = any(attempt.outcome is not Outcome.COMPLETED for job in run.jobs for attempt in job.attempts)
    if run.cause in OF_THE_SCRIPT and run.cause_test and run.verdict is Verdict.OBSERVED and not failed:
        return defect_of(run.cause, about_repeats=True)
    return run.defect


def _cell(job: JobPart) -> DossierCell:
    """The cell with the attempts that ended by themselves, except previews."""
    ended = [
        attempt
        for attempt in job.attempts
        if attempt.outcome is Outcome.COMPLETED
        and attempt.kind is not AttemptKind.PREVIEW
        and attempt.counted
    ]
    failed = next((attempt for attempt in job.attempts if attempt.exception is not None), None)
    return DossierCell(
        label=job.target.label,
        device=job.target.device,
        layer=job.target.settings.get("compile", ""),
        graphs=_graphs(ended[0].flags_changed) if ended else None,
        failure="" if failed is None or failed.exception is None else failed.exception.type,
        stdout=ended[0].stdout if ended else "",
        attempts=len(ended),
        outputs=len({attempt.stdout for attempt in ended}),
        settings=frozenset(job.target.settings),
        trace=job.trace,
    )


def _graphs(flags: dict[str, object]) -> int | None:
    """The number of graphs that were compiled; None if the harness did not tell."""
    graphs = flags.get("compile.graphs")
    return graphs if type(graphs) is int else None
