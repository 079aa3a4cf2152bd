"""Chooses the attempts of a run to compare, and words the comparisons.

Pure: the service and the command line share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field

from app.intake.reading import Script
from app.judging.cause.cause import cause_of_pair
from app.judging.cause.defect import NOT_ANALYSED
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
from app.judging.judgement import ComparisonResult, JudgedCell, Verdict
from app.runs.run_object.document import ComparisonPart, DifferencePart
from app.targets.target import Target
from worker.contract import Result


@dataclass(frozen=True, slots=True)
class EvidenceAttempt:
    """An attempt that is evidence, with its target and the digest of its script."""

    id: str
    script: str
    target: Target
    result: Result


@dataclass(frozen=True)
class ComparedPair:
    """Two attempts with their comparison. `script` is None when they ran different scripts."""

    baseline: EvidenceAttempt
    candidate: EvidenceAttempt
    repeats: Repeats
    script: Script | None
    comparison: Comparison

    @cached_property
    def part(self) -> ComparisonPart:
        """The comparison as a run object shows it."""
        return _comparison_part(self)


class ComparisonContent(BaseModel):
    """Everything we show about two attempts side by side. Untrusted text of bounded length."""

    model_config = ConfigDict(frozen=True)

    comparison: ComparisonPart
    stdout: TextDiff | None = None
    stderr: TextDiff | None = None
    values: list[ValueComparison] = Field(default_factory=list)
    environment: list[DifferencePart] = Field(default_factory=list)
    flags: list[DifferencePart] = Field(default_factory=list)
    endings: list[DifferencePart] = Field(default_factory=list)
    # The limits of the comparison, as sentences.
    cannot_say: list[str] = Field(default_factory=list)


def compare_jobs(
    cells: Sequence[JudgedCell], evidence: Sequence[Sequence[EvidenceAttempt]], scripts: Iterable[Script]
) -> list[ComparedPair]:
    """Compare the attempts of a run. `evidence` holds the attempts of each cell, in the same order.

    Within a job, the first attempt is compared with the first one that differs from it. Across the jobs of a
    script, each is compared with the job on the plainest target. A target on the same device is preferred, so
    that only one setting differs, and jobs without a result are not taken for the plainest.
    """
    compared: list[ComparedPair] = []
    decided = {
        cell.job_id for cell in cells if cell.verdict not in {None, Verdict.CANNOT_SHOW, Verdict.NO_RESULT}
    }
    for script in {script.digest: script for script in scripts}.values():
        pairs = [
            (cell, attempts)
            for cell, attempts in zip(cells, evidence, strict=True)
            if cell.script == script.digest and attempts
        ]
        mine = sorted(pairs, key=lambda pair: (len(pair[0].target.settings), pair[0].target.gpus))
        for _, attempts in mine:
            pair = _first_unlike(attempts, script)
            compared += [] if pair is None else [pair]
        candidates = [pair for pair in mine if pair[0].job_id in decided] or mine
        for cell, attempts in candidates[1:]:
            plainest = next(
                others for other, others in candidates if other.target.device is cell.target.device
            )
            baseline = plainest if plainest is not attempts else candidates[0][1]
            repeats = repeats_of(_digests(baseline), _digests(attempts), same_job=False)
            compared.append(compare_pair(baseline[0], attempts[0], repeats, script))
    return compared


def _digests(attempts: Sequence[EvidenceAttempt]) -> list[dict[str, str]]:
    return [digests_of(attempt.result) for attempt in attempts]


def _first_unlike(attempts: Sequence[EvidenceAttempt], script: Script) -> ComparedPair | None:
    """The first attempt of a job compared with the first one that differs from it."""
    repeats = repeats_of(_digests(attempts), _digests(attempts), same_job=True)
    alike = {ComparisonResult.IDENTICAL, ComparisonResult.EQUIVALENT}
    for other in attempts[1:]:
        pair = compare_pair(attempts[0], other, repeats, script)
        if pair.comparison.result not in alike:
            return pair
    return None


def compare_pair(
    baseline: EvidenceAttempt, candidate: EvidenceAttempt, repeats: Repeats, script: Script | None
) -> ComparedPair:
    """Compare two attempts. `script` is the one that both ran, None if they ran different ones."""
    comparison = compare(baseline.result, candidate.result, repeats=repeats)
    return ComparedPair(baseline, candidate, repeats, script, comparison)


def _comparison_part(pair: ComparedPair) -> ComparisonPart:
    """Without a common script the cause is not analysed."""
    baseline, candidate, comparison = pair.baseline, pair.candidate, pair.comparison
    first = comparison.first
    cause = NOT_ANALYSED
    if pair.script is not None and comparison.result is ComparisonResult.DIFFERENT:
        cause = cause_of_pair(
            pair.script, (baseline.target, baseline.result), (candidate.target, candidate.result)
        )
    about = (
        {}
        if first is None
        else {
            "about": first.about,
            "line": comparison.first_line,
            "candidate_line": comparison.first_line_candidate,
            "baseline": first.baseline,
            "candidate": first.candidate,
            "note": first.note,
        }
    )
    return ComparisonPart(
        id=f"{baseline.id}-{candidate.id}",
        baseline=baseline.id,
        candidate=candidate.id,
        result=comparison.result,
        cause=cause,
        differences=_parts(comparison.differences),
        first_difference=about,
    )


def _parts(differences: Iterable[Difference]) -> list[DifferencePart]:
    return [
        DifferencePart(about=one.about, baseline=one.baseline, candidate=one.candidate, note=one.note)
        for one in differences
    ]


def content_of(pair: ComparedPair) -> ComparisonContent:
    """Two attempts side by side, in full."""
    comparison = pair.comparison
    stderr = None
    if comparison.stdout is not None:
        stderr = text_diff(*(stream_of(side.result, "stderr") for side in (pair.baseline, pair.candidate)))
    return ComparisonContent(
        comparison=pair.part,
        stdout=comparison.stdout,
        stderr=stderr,
        values=list(comparison.values),
        environment=_parts(comparison.environment),
        flags=_parts(one for one in comparison.around if one.about.startswith("flag: ")),
        endings=_parts(comparison.endings),
        cannot_say=list(_limits_of(pair)),
    )


def _limits_of(pair: ComparedPair) -> Iterable[str]:
    baseline, candidate, comparison = pair.baseline, pair.candidate, pair.comparison
    if baseline.script != candidate.script:
        yield "The two ran different scripts, so a difference may be one of the scripts."
    if comparison.result is ComparisonResult.INCOMPARABLE:
        yield (
            "One of the two shows nothing, or was cut off by a limit of ours:"
            " what it would have shown is not known."
        )
    sides = (baseline.result.observation, candidate.result.observation)
    if any(seen.truncated for seen in sides):
        yield "A stream was longer than what we store: its middle is not compared."
    if not all(seen.values for seen in sides):
        yield "No values were captured on at least one side, so that only what was printed is compared."
    if omitted := max(seen.values_omitted for seen in sides):
        yield f"{omitted} more values of the script were not captured."
    if any(value.result is ValueResult.UNKNOWN for value in comparison.values):
        yield "Too little of some values was stored to say whether they differ."
    if any(value.varies and value.result is ValueResult.DIFFERENT for value in comparison.values):
        yield "Values that vary between repeats of the same job are shown but do not count."
    if not pair.repeats.known and any(
        value.kind == "number" and value.result is ValueResult.DIFFERENT for value in comparison.values
    ):
        yield "Without repeats, plain numbers that differ do not count: they may differ each time."
    if not (baseline.result.environment and candidate.result.environment):
        yield "The environment of at least one side is not known."
