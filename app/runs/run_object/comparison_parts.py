"""Which attempts of a run are compared, and what documents say of a comparison: pure, for the service and the command line alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from app.intake.reading import Script
from app.judging.cause.cause import NOT_ANALYSED, cause_of_pair
from app.judging.comparison.comparison import (
    Comparison,
    Difference,
    Repeats,
    compare,
    digests_of,
    repeats_of,
    stream_of,
)
from app.judging.comparison.text_diff import TextDiff, text_diff
from app.judging.comparison.values import ValueComparison, ValueResult
from app.judging.judged_cells import JudgedCell
from app.judging.judgement import ComparisonResult, Verdict
from app.runs.run_object.document import ComparisonPart, DifferencePart
from app.targets.target import Target
from worker.contract import Result

# Trouble of ours is a second column, in sight; it is compared with nothing.


@dataclass(frozen=True, slots=True)
class Shown:
    """An attempt that showed something, with the target that it ran on and the digest of its script."""

    id: str
    script: str
    target: Target
    result: Result


class ComparisonContent(BaseModel):
    """All that is said of two attempts beside each other; hostile text, bounded."""

    model_config = ConfigDict(frozen=True)

    comparison: ComparisonPart
    stdout: TextDiff | None = None
    stderr: TextDiff | None = None
    values: list[ValueComparison] = Field(default_factory=list)
    environment: list[DifferencePart] = Field(default_factory=list)
    flags: list[DifferencePart] = Field(default_factory=list)
    endings: list[DifferencePart] = Field(default_factory=list)
    # What nobody should read into it.
    cannot_say: list[str] = Field(default_factory=list)


def compared_jobs(
    cells: Sequence[JudgedCell], shown: Sequence[Sequence[Shown]], scripts: Iterable[Script]
) -> list[ComparisonPart]:
    """Within a job: the first attempt and the first that differs. Across the jobs of a script: each with the plainest target.

    The plainest is looked for among targets that showed something of the claim, and on the same device before any other, so that a
    difference stands beside the one setting that makes it.
    """
    parts: list[ComparisonPart] = []
    told = {
        cell.job_id for cell in cells if cell.verdict not in {None, Verdict.CANNOT_SHOW, Verdict.NO_RESULT}
    }
    for script in {script.digest: script for script in scripts}.values():
        pairs = [
            (cell, attempts)
            for cell, attempts in zip(cells, shown, strict=True)
            if cell.script == script.digest and attempts
        ]
        mine = sorted(pairs, key=lambda pair: (len(pair[0].target.settings), pair[0].target.gpus))
        for _, attempts in mine:
            part = _first_unlike(attempts, script)
            parts += [] if part is None else [part]
        telling = [pair for pair in mine if pair[0].job_id in told] or mine
        for cell, attempts in telling[1:]:
            plainest = next(others for other, others in telling if other.target.device is cell.target.device)
            baseline = plainest if plainest is not attempts else telling[0][1]
            repeats = repeats_of(_digests(baseline), _digests(attempts), same_job=False)
            parts.append(_part(baseline[0], attempts[0], repeats, script))
    return parts


def _digests(attempts: Sequence[Shown]) -> list[dict[str, str]]:
    return [digests_of(attempt.result) for attempt in attempts]


def _first_unlike(attempts: Sequence[Shown], script: Script) -> ComparisonPart | None:
    """The first attempt of a job and the first that is not like it."""
    repeats = repeats_of(_digests(attempts), _digests(attempts), same_job=True)
    compared = (_part(attempts[0], other, repeats, script) for other in attempts[1:])
    return next(
        (
            part
            for part in compared
            if part.result not in {ComparisonResult.IDENTICAL, ComparisonResult.EQUIVALENT}
        ),
        None,
    )


def _part(baseline: Shown, candidate: Shown, repeats: Repeats, script: Script | None) -> ComparisonPart:
    return comparison_part(
        baseline, candidate, compare(baseline.result, candidate.result, repeats=repeats), script
    )


def comparison_part(
    baseline: Shown, candidate: Shown, made: Comparison, script: Script | None
) -> ComparisonPart:
    """A comparison as the run object has it. Without the one script of both nothing is said about the cause."""
    first = made.first
    cause = NOT_ANALYSED
    if script is not None and made.result is ComparisonResult.DIFFERENT:
        cause = cause_of_pair(
            script, (baseline.target, baseline.result), (candidate.target, candidate.result)
        )
    about = (
        {}
        if first is None
        else {
            "about": first.about,
            "line": made.first_line,
            "candidate_line": made.first_line_candidate,
            "baseline": first.baseline,
            "candidate": first.candidate,
            "note": first.note,
        }
    )
    return ComparisonPart(
        id=f"{baseline.id}-{candidate.id}",
        baseline=baseline.id,
        candidate=candidate.id,
        result=made.result,
        cause=cause,
        differences=_parts(made.differences),
        first_difference=about,
    )


def _parts(differences: Iterable[Difference]) -> list[DifferencePart]:
    return [
        DifferencePart(about=one.about, baseline=one.baseline, candidate=one.candidate, note=one.note)
        for one in differences
    ]


def content_of(
    baseline: Shown, candidate: Shown, repeats: Repeats, script: Script | None
) -> ComparisonContent:
    """Two attempts side by side, in full."""
    made = compare(baseline.result, candidate.result, repeats=repeats)
    stderr = text_diff(stream_of(baseline.result, "stderr"), stream_of(candidate.result, "stderr"))
    return ComparisonContent(
        comparison=comparison_part(baseline, candidate, made, script),
        stdout=made.stdout,
        stderr=None if made.stdout is None else stderr,
        values=list(made.values),
        environment=_parts(made.environment),
        flags=_parts(one for one in made.around if one.about.startswith("flag: ")),
        endings=_parts(made.endings),
        cannot_say=list(_limits_of(baseline, candidate, made, repeats)),
    )


def _limits_of(baseline: Shown, candidate: Shown, made: Comparison, repeats: Repeats) -> Iterable[str]:
    if baseline.script != candidate.script:
        yield "The two ran different scripts, so a difference may be one of the scripts."
    if made.result is ComparisonResult.INCOMPARABLE:
        yield "One of the two shows nothing, or was cut off by a limit of ours: what it would have shown is not known."
    sides = (baseline.result.observation, candidate.result.observation)
    if any(seen.truncated for seen in sides):
        yield "A stream was longer than what is kept: its middle is not compared."
    if not all(seen.values for seen in sides):
        yield "No values were captured on at least one side, so that only what was printed is compared."
    if omitted := max(seen.values_omitted for seen in sides):
        yield f"{omitted} more values of the script were not captured."
    if any(value.result is ValueResult.UNKNOWN for value in made.values):
        yield "Of some values too little was kept to say whether they differ."
    if any(value.varies and value.result is ValueResult.DIFFERENT for value in made.values):
        yield "Values that are other ones in repeats of the same job are shown and decide nothing."
    if not repeats.known and any(
        value.kind == "number" and value.result is ValueResult.DIFFERENT for value in made.values
    ):
        yield "Without repeats, plain numbers that differ decide nothing: they may differ each time."
    if not (baseline.result.environment and candidate.result.environment):
        yield "The environment of at least one side is not known."
