"""Does a pull request fix it? The script on a build of its head against a build of its base."""

from __future__ import annotations

from app.intake.reading import ScriptRole
from app.judging.judgement import SIGHTINGS, RateInterval, Verdict
from app.judging.report.axis import differs_by
from app.runs.github.hub import Conclusion
from app.runs.run_object.answer.places import environment_of, imports_of
from app.runs.run_object.document import JobPart, RunDocument

# The chance that a bug which is still there would not have been seen on the head, at most.
MISSED_AT_MOST = 0.05
MOST_NAMES = 5


def conclude(run: RunDocument, *, base: str, head: str) -> tuple[Conclusion, str]:
    """The conclusion of a check, and its reason in our own words.

    It is a success only if the bug was seen on the base and would have been seen on the head, and if the two
    sides differ in nothing but the build.
    """
    before, after = _cell(run, base), _cell(run, head)
    if after is not None and after.verdict in SIGHTINGS:
        return "failure", "The bug still happens with this pull request."
    doubt = _doubt(run, before, after)
    if doubt is not None:
        return "neutral", f"It cannot be shown: {doubt}."
    return "success", "The bug happens on the base, and no longer with this pull request."


def _doubt(run: RunDocument, before: JobPart | None, after: JobPart | None) -> str | None:
    """Why this is no proof of a fix. None if it is one."""
    if run.verdict is Verdict.NEEDS_INFO or not run.jobs:
        return "the description has no script that shows the bug"
    if before is None or after is None:
        return "there is no result for both sides"
    if before.verdict not in SIGHTINGS:
        return "the bug was not seen on the base, so that nothing is fixed"
    if after.verdict is not Verdict.NOT_REPRODUCED or after.of == 0:
        return "the head gave no clear answer"
    if before.verdict is Verdict.FLAKY and not _enough(before.rate_interval, after.of):
        return "the bug is rare on the base, and the head ran too few times"
    return _other_difference(run, before, after)


def _other_difference(run: RunDocument, before: JobPart, after: JobPart) -> str | None:
    """The reason why something else than the build may have made the bug go. None if nothing could."""
    one, other = environment_of(run, before), environment_of(run, after)
    if not one or not other:
        return "it is not known where the two sides ran"
    difference = differs_by(one, other, imported=imports_of(run))
    if difference.machine:
        names = ", ".join(difference.machine[:MOST_NAMES])
        return f"the two sides did not run in the same place, and differ in {names}"
    if len(difference.versions) > 1:
        names = ", ".join(name for name, _ in difference.versions[:MOST_NAMES])
        return f"the two sides differ in more than one package, namely {names}"
    return None


def _cell(run: RunDocument, toolchain: str) -> JobPart | None:
    """The cell of the main script on one side. None if there is none, or if several disagree."""
    main = {script.digest for script in run.report.scripts if script.role == ScriptRole.MAIN}
    cells = [job for job in run.jobs if job.target.toolchain == toolchain and job.script in main]
    return cells[0] if cells and all(job.verdict is cells[0].verdict for job in cells) else None


def _enough(before: RateInterval | None, runs: int) -> bool:
    """Whether a bug with the lowest rate of the base would have shown itself in so many runs of the head."""
    return before is not None and (1.0 - before.low) ** runs <= MISSED_AT_MOST
