"""What became of each report, and rates with their number and 95 % bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kind_reports import TARGET, judged, scripts_to_run

from app.intake.claim.claims import Claim
from app.intake.exhibits.anchors import with_anchors, with_ties
from app.intake.reading import Reading, Script, ScriptRole
from app.judging.judgement import SIGHTINGS, JobJudgement, JudgedCell, Verdict
from app.judging.verdict.job import judge_job
from app.judging.verdict.rates import rate_upper_bound
from app.judging.verdict.run import judge_run
from bench.fixed_rates import fixed_interval
from bench.reading.material import Report
from worker.contract import Result

OPEN = frozenset({Verdict.OBSERVED, Verdict.CANNOT_SHOW})
TWO_READINGS = "two_readings"
NO_ATTEMPTS = "no attempts"


@dataclass(frozen=True)
class Outcome:
    """The verdict of a report beside the right ones. `verdict` is `no attempts` if nothing is recorded."""

    report: str
    accept: frozenset[str]
    verdict: str
    reasons: frozenset[str] = frozenset()
    asks: bool = False

    @property
    def is_right(self) -> bool:
        return self.verdict in self.accept

    @property
    def script_is_right(self) -> bool:
        """A script was read where one has to run, and something was asked where it has to be."""
        asked = str(Verdict.NEEDS_INFO) in self.accept
        return (asked and len(self.accept) > 1) or asked == self.asks

    @property
    def is_negative(self) -> bool:
        """Nothing of what is claimed is to be seen."""
        return not SIGHTINGS & {*self.accept}

    @property
    def is_wrong_no(self) -> bool:
        return self.verdict == Verdict.NOT_REPRODUCED and not self.is_right

    @property
    def is_wrong_yes(self) -> bool:
        return self.verdict in SIGHTINGS and self.is_negative

    @property
    def is_open(self) -> bool:
        return self.verdict in OPEN and not self.is_right

    @property
    def left_open_by(self) -> str:
        return TWO_READINGS if TWO_READINGS in self.reasons else self.verdict


@dataclass(frozen=True)
class Negative:
    """The claim of one report, judged against the attempts of another report's script."""

    claim_of: str
    script_of: str
    verdict: Verdict | None
    has_anchor: bool


def outcome_of(report: Report, attempts: Mapping[str, list[Result]]) -> Outcome:
    scripts = scripts_to_run(report.reading)
    name = f"{report.set}/{report.name}"
    if any(script.digest not in attempts for script in scripts):
        return Outcome(name, report.accept, NO_ATTEMPTS, asks=bool(report.reading.ask))
    run = judged(report.reading, dict(attempts))
    reasons = {judgement.reason.code for judgement in _cells(report, attempts) if judgement.reason}
    return Outcome(name, report.accept, str(run.verdict), frozenset(reasons), asks=bool(report.reading.ask))


def _cells(report: Report, attempts: Mapping[str, list[Result]]) -> Iterator[JobJudgement]:
    for script in scripts_to_run(report.reading):
        yield judge_job(report.reading.claim, script, TARGET, attempts[script.digest])


def negatives(
    reports: Sequence[Report], attempts: Mapping[str, list[Result]], each: int
) -> Iterator[Negative]:
    """Each claim with the scripts of `each` reports of other kinds, spread evenly over all of them."""
    scripts = [
        (report, script)
        for report in reports
        for script in scripts_to_run(report.reading)[:1]
        if script.digest in attempts
    ]
    claims = [report for report in reports if report.reading.claim.checks]
    for number, report in enumerate(claims):
        others = [pair for pair in scripts if pair[0].kind != report.kind]
        step = max(1, len(others) // each)
        for k in range(each):
            other, script = others[(number + k * step) % len(others)]
            claim = _anchored_in(report, script)
            yield Negative(
                claim_of=f"{report.set}/{report.name}",
                script_of=f"{other.set}/{other.name}",
                verdict=_verdict(claim, script, attempts[script.digest]),
                has_anchor=any(check.at for check in claim.checks),
            )


def _anchored_in(report: Report, script: Script) -> Claim:
    """The claim as if the report had shown the other script: anchors and names are looked for there."""
    claim = with_anchors(_bare(report.reading.claim), script.script, [report.text])
    return with_ties(claim, script.script, [report.text])


def _bare(claim: Claim) -> Claim:
    checks = tuple(
        check.model_copy(update={"at": None, "through": (), "script": None}) for check in claim.checks
    )
    further = tuple(_bare(other) for other in claim.further)
    return claim.model_copy(update={"checks": checks, "further": further})


def _verdict(claim: Claim, script: Script, results: list[Result]) -> Verdict | None:
    main = script.model_copy(update={"role": ScriptRole.MAIN})
    cell = JudgedCell(
        job_id=main.digest,
        script=main.digest,
        target=TARGET,
        judgement=judge_job(claim, main, TARGET, results),
        results=tuple(results),
        role=main.role,
    )
    return judge_run(Reading(scripts=(main,), claim=claim), [cell]).verdict


def at_most(met: int, of: int) -> str:
    """A rate that should be small, with its upper 95 % bound: one-sided for none, else two-sided."""
    bound = rate_upper_bound(of) if met == 0 else getattr(fixed_interval(met, of), "high", None)
    return f"{met} of {of}" + (f" (at most {bound:.1%})" if bound is not None else "")


def at_least(met: int, of: int) -> str:
    """A rate that should be great, with its 95 % interval."""
    interval = fixed_interval(met, of)
    return f"{met} of {of}" + (f" ({interval.low:.0%} to {interval.high:.0%})" if interval else "")


def rates(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """The rates of a set, each with its number and bound."""
    of = len(outcomes)
    left_open = [outcome for outcome in outcomes if outcome.is_open]
    by = Counter(outcome.left_open_by for outcome in left_open)
    return {
        "verdicts that are no sighting": f"{sum(each.is_negative for each in outcomes)} of {of}",
        "scripts right": at_least(sum(each.script_is_right for each in outcomes), of),
        "verdicts right": at_least(sum(each.is_right for each in outcomes), of),
        "wrong not_reproduced": at_most(sum(each.is_wrong_no for each in outcomes), of),
        "wrong reproduced": at_most(sum(each.is_wrong_yes for each in outcomes), of),
        "left open": at_most(len(left_open), of)
        + "".join(f", {name} {count}" for name, count in sorted(by.items())),
    }
