"""The answer in a terminal: verdict, targets, rates, differences, and the strength of the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from app.command.terminal.plain_text import one_line, visible
from app.command.terminal.reading_text import PROBE_HINT, environment_lines, probe_lines, script_lines
from app.intake.claim.claims import CheckKind
from app.judging.cause import trace_verdict
from app.judging.judgement import CheckResult, ComparisonResult, Verdict
from app.runs.run_object.answer.check_findings import findings_of, told_apart
from app.runs.run_object.answer.contrast_sentence import contrast_sentence
from app.runs.run_object.answer.silent_parts import silent_words
from app.runs.run_object.claim_part import CheckPart
from app.runs.run_object.document import (
    AttemptPart,
    ComparisonPart,
    DifferencePart,
    JobPart,
    RunDocument,
)
from app.runs.run_object.removal_part import removal_words, warning_words
from app.targets.target import Target

SEEN_CHARACTERS = 160
SHOWN_DIFFERENCES = 3
SHOWN_LINES = 12
_STYLES = {
    Verdict.NEEDS_INFO: "yellow",
    Verdict.REPRODUCED: "red",
    Verdict.FLAKY: "magenta",
    Verdict.DIFFERENT: "magenta",
    Verdict.NOT_REPRODUCED: "green",
    Verdict.CANNOT_SHOW: "yellow",
    Verdict.OBSERVED: "cyan",
    Verdict.NO_RESULT: "bright_black",
}


def render(document: RunDocument, console: Console) -> None:
    """Print the whole answer."""
    for part in _parts(document):
        console.print(part, soft_wrap=False, highlight=False)


def label(job: JobPart) -> str:
    """A job's target as the command line writes it."""
    target = job.target
    return Target.model_validate(target.model_dump()).label()


def _parts(document: RunDocument) -> Iterator[RenderableType]:
    yield _headline(document)
    if document.ask:
        hint = [] if document.report.probe is not None else [PROBE_HINT]
        yield _section("Missing", [*(f"{ask.text} ({ask.code})" for ask in document.ask), *hint])
    yield from _some("Why", list(_why(document)))
    yield from _some("From the report", list(_reading(document)))
    yield from _some("Claim", list(_checks(document)))
    if document.jobs:
        yield Text()
        yield _cells(document)
    yield from _some("Differences", list(_differences(document)))
    yield from _some("Operations", list(_operations(document)))
    yield from _some("Where it hung", list(_stacks(document)))
    yield from _some("Output", list(_output(document)))
    yield from _some("Notes", list(_notes(document)))


def _reading(document: RunDocument) -> Iterator[str]:
    yield from script_lines(document.report.scripts)
    yield from probe_lines(document.report)
    yield from environment_lines(document)


def _why(document: RunDocument) -> Iterator[str]:
    """The test that showed the cause, what a newer version lacks, and what is missing for a decision."""
    if document.cause_test:
        yield f"{visible(document.cause_test)} shows the cause: {visible(str(document.cause))}."
    if document.removal is not None:
        yield removal_words(document.removal)
        if document.removal.category:
            yield one_line(warning_words(document.removal), most=2 * SEEN_CHARACTERS)
    yield from document.missing


def _headline(document: RunDocument) -> Text:
    verdict = document.verdict or document.so_far
    text = Text()
    if document.state == "cancelled":
        text.append("cancelled", "bold yellow").append("; so far: " if verdict else "")
    if verdict is not None:
        text.append(str(verdict), f"bold {_STYLES[verdict]}")
    text.append(f": {visible(document.summary)}" if document.summary else "")
    silent = "" if verdict is None else silent_words(document, verdict)
    text.append(f" {silent}" if silent else "")
    if document.contributed is not None:
        text.append(
            f"\nContributed by {one_line(document.contributed.by, most=SEEN_CHARACTERS)}; "
            "it does not decide the report's current verdict.",
            "bold",
        )
        signer = document.contributed.signed_by
        text.append(
            "\nNobody vouches for it: its bundle is not signed."
            if signer is None
            else f"\nSigned by {one_line(signer.name, most=SEEN_CHARACTERS)} (key {signer.key[:16]}).",
            "bold",
        )
    if document.report.title:
        text.append(f"\n{one_line(document.report.title, most=SEEN_CHARACTERS)}", "dim")
    return text


def _cells(document: RunDocument) -> Table:
    several = len({job.script for job in document.jobs}) > 1
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", expand=False)
    for column in ("target", *(("script",) if several else ()), "verdict"):
        table.add_column(column, overflow="fold")
    table.add_column("times", justify="right", no_wrap=True)
    table.add_column("seen", overflow="fold", ratio=1)
    names = _script_names(document)
    for job in document.jobs:
        verdict = job.verdict
        table.add_row(
            Text(visible(label(job))),
            *((Text(names.get(job.script, "")),) if several else ()),
            Text(str(verdict or job.state), _STYLES[verdict] if verdict else "dim"),
            Text(_times(job)),
            Text(_result(job)),
        )
    return table


def _script_names(document: RunDocument) -> dict[str, str]:
    return {
        script.digest: f"{number}: {script.role}" for number, script in enumerate(document.report.scripts, 1)
    }


def _times(job: JobPart) -> str:
    if job.verdict is Verdict.OBSERVED:
        return str(job.of)
    return f"{job.matched} of {job.of}" if job.of else ""


def _result(job: JobPart) -> str:
    """The result beside the claim; else the reason why there is none; else the end of the first attempt."""
    if job.verdict in {Verdict.CANNOT_SHOW, Verdict.NO_RESULT} and job.reason is not None:
        return one_line(job.reason.detail or job.reason.code, most=2 * SEEN_CHARACTERS)
    observed = [
        check.observed for check in job.checks if check.observed and check.result is not CheckResult.UNREACHED
    ]
    if observed:
        return one_line(observed[0], most=SEEN_CHARACTERS)
    first = next(
        (attempt for attempt in job.attempts if attempt.counted and attempt.outcome is not None), None
    )
    return "" if first is None else _ending(first)


def _ending(attempt: AttemptPart) -> str:
    if attempt.exception is not None:
        return one_line(f"{attempt.exception.type}: {attempt.exception.message}", most=SEEN_CHARACTERS)
    if attempt.signal is not None:
        return one_line(f"{attempt.outcome}: {attempt.signal}", most=SEEN_CHARACTERS)
    if attempt.reason is not None and attempt.reason.detail:
        return one_line(attempt.reason.detail, most=SEEN_CHARACTERS)
    if attempt.exit_status:
        return f"exit status {attempt.exit_status}"
    return one_line(attempt.stdout, most=SEEN_CHARACTERS) or str(attempt.outcome)


def _checks(document: RunDocument) -> Iterator[str]:
    """Each check with its results, once for all cells that agree."""
    checks = document.report.claim.checks
    exact_shown: set[str] = set()
    for number, check in enumerate(checks):
        results: dict[str, list[str]] = {}
        exact = ""
        for job, finding in findings_of(document, number):
            results.setdefault(str(finding.result), []).append(label(job))
            exact = exact or finding.exact
        outcome = "; ".join(
            f"{result} on {_few(dict.fromkeys(labels))}" for result, labels in results.items()
        )
        # Two checks often have the same words: the bug and the expected value. The exact value is shown once.
        if exact and check.text not in exact_shown:
            outcome += f". Held: {one_line(exact, most=SEEN_CHARACTERS)}"
            exact_shown.add(check.text)
        words = _check_words(checks, check)
        yield f"{words}: {outcome}" if outcome else words


def _check_words(checks: Sequence[CheckPart], check: CheckPart) -> str:
    """The words of a check, its role unless it is the bug, its number, and its place."""
    role = "" if check.role == "bug" else check.role
    about = " ".join(word for word in (role, visible(told_apart(checks, check))) if word)
    where = " ".join(visible(f"{key} {value}") for key, value in check.where.items() if value)
    words = f"“{one_line(check.text, most=SEEN_CHARACTERS)}”"
    return f"{words}{f' ({about})' if about else ''}{f' [{where}]' if where else ''}"


def _few(labels: dict[str, None], most: int = 4) -> str:
    names = [visible(text) for text in labels]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _differences(document: RunDocument) -> Iterator[str]:
    owners = {attempt.id: job for job in document.jobs for attempt in job.attempts}
    same: list[str] = []
    for comparison in document.comparisons:
        baseline, candidate = owners.get(comparison.baseline), owners.get(comparison.candidate)
        if baseline is None or candidate is None:
            continue
        if baseline is not candidate and comparison.result in {
            ComparisonResult.IDENTICAL,
            ComparisonResult.EQUIVALENT,
        }:
            same.append(
                f"{visible(label(candidate))} showed the same as {visible(label(baseline))}"
                f"{_environment_hint(comparison)}"
            )
        elif comparison.result is ComparisonResult.DIFFERENT:
            yield _difference(comparison, baseline, candidate)
    yield from same


def _difference(comparison: ComparisonPart, baseline: JobPart, candidate: JobPart) -> str:
    pair = (
        f"{visible(label(candidate))} against {visible(label(baseline))}"
        if candidate is not baseline
        else f"two repeats on {visible(label(baseline))}"
    )
    words = "; ".join(_one_difference(difference) for difference in _most_useful(comparison.differences))
    cause = "" if comparison.cause in {"not_analysed", ""} else f" Cause: {visible(comparison.cause)}."
    return f"{pair}: {words or 'different'}{_environment_hint(comparison)}.{cause}"


def _most_useful(differences: Sequence[DifferencePart]) -> list[DifferencePart]:
    """A few differences: first endings and the first differing line, then captured values."""
    kinds = [difference.about.partition(":")[0] for difference in differences]
    endings = [
        one
        for one, kind in zip(differences, kinds, strict=True)
        if kind not in {"environment", "value", "flag", "stderr"}
    ]
    values = [one for one, kind in zip(differences, kinds, strict=True) if kind == "value"]
    rest = [one for one, kind in zip(differences, kinds, strict=True) if kind in {"flag", "stderr"}]
    return (
        [*endings, *values, *rest][:SHOWN_DIFFERENCES]
        if not (endings and values)
        else [*endings[: SHOWN_DIFFERENCES - 1], values[0]]
    )


def _one_difference(difference: DifferencePart) -> str:
    note = f" ({one_line(difference.note, most=SEEN_CHARACTERS)})" if difference.note else ""
    sides = f"{one_line(difference.candidate, most=60)!r} against {one_line(difference.baseline, most=60)!r}"
    return f"{visible(difference.about)} {sides}{note}"


def _environment_hint(comparison: ComparisonPart) -> str:
    """The likeliest fields in which the two environments differ."""
    fields = [
        difference for difference in comparison.differences if difference.about.startswith("environment: ")
    ]
    if not fields:
        return ""
    named = ", ".join(
        f"{visible(field.about.removeprefix('environment: '))} {one_line(field.candidate, most=40)}"
        f" against {one_line(field.baseline, most=40)}"
        for field in fields[:SHOWN_DIFFERENCES]
    )
    more = len(fields) - SHOWN_DIFFERENCES
    return f" ({named}{f' and {more} more fields' if more > 0 else ''})"


def _operations(document: RunDocument) -> Iterator[str]:
    """The verdicts over a script's operations, for traced cells."""
    for job in document.jobs:
        sentences = [] if job.trace is None else trace_verdict.trace_sentences(job.trace)
        if sentences:
            yield f"{visible(label(job))}: {' '.join(sentences)}"


def _stacks(document: RunDocument) -> Iterator[str]:
    """The first lines of a cell's stacks, if a hang is claimed; from the first attempt that has them."""
    hangs = {check.text for check in document.report.claim.checks if check.kind == CheckKind.HANG}
    for job in document.jobs:
        stacks = next((attempt.stacks for attempt in job.attempts if attempt.stacks), "")
        if stacks and any(finding.text in hangs for finding in job.checks):
            yield _some_lines(job, stacks)


def _some_lines(job: JobPart, text: str) -> str:
    lines = visible(text).splitlines()
    cut = [
        line if len(line) <= SEEN_CHARACTERS else line[: SEEN_CHARACTERS - 1] + "…"
        for line in lines[:SHOWN_LINES]
    ]
    more = [f"… {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else []
    return "\n  ".join([f"{visible(label(job))}:", *cut, *more])


def _output(document: RunDocument) -> Iterator[str]:
    """The first lines of the output, if there is no claim that says which part matters."""
    if document.verdict is not Verdict.OBSERVED:
        return
    for job in document.jobs:
        first = next(
            (attempt for attempt in job.attempts if attempt.counted and attempt.stdout.strip()), None
        )
        if first is not None:
            yield _some_lines(job, first.stdout)


def _notes(document: RunDocument) -> Iterator[str]:
    if document.without_result:
        yield (
            f"{document.without_result} of {len(document.jobs)} cells had no result: "
            "a fault of ours, and no evidence of anything."
        )
    attempts = [attempt for job in document.jobs for attempt in job.attempts]
    levels = {str(attempt.level): None for attempt in attempts if attempt.level is not None}
    if levels:
        nodes = dict.fromkeys(attempt.node for attempt in attempts if attempt.node)
        yield f"Isolation: {', '.join(levels)}. Node: {_few(dict.fromkeys(map(str, nodes)))}."
    yield from _effort(document, attempts)
    yield from _strength(document)
    yield from (f"Claim {visible(facet.name)}: {facet.verdict}." for facet in document.facets)
    words, name = contrast_sentence(document)
    if words:
        yield f"{words} {visible(name)}." if name else words
    # These lines come last, where a reader finds them after a long table.
    for title, labels in (("Not seen on", document.not_where), ("Seen on", document.where)):
        if labels:
            yield f"{title}: {_few(dict.fromkeys(labels), most=12)}."


def _strength(document: RunDocument) -> Iterator[str]:
    """The confidence of a rate, and the weakness of a "not reproduced"."""
    bounds = {
        label(job): job
        for job in document.jobs
        if job.verdict is Verdict.NOT_REPRODUCED and job.rate_upper_bound is not None
    }
    for name, job in bounds.items():
        yield (
            f"{visible(name)}: 0 of {job.of} attempts; "
            f"a failure rate of up to {job.rate_upper_bound:.0%} would often look the same. "
            "This says nothing about other machines."
        )
    for job in document.jobs:
        if job.verdict is Verdict.FLAKY and job.rate_interval is not None:
            interval = job.rate_interval
            between = f"between {interval.low:.0%} and {interval.high:.0%} of attempts"
            yield (
                f"{visible(label(job))}: {job.matched} of {job.of}, "
                f"so the rate is {between} ({interval.method}, 95%)."
            )
    if document.scope is not None:
        differs = f" ({', '.join(map(visible, document.scope_differs))})" if document.scope_differs else ""
        yield f"Scope: {document.scope}{differs}."


def _effort(document: RunDocument, attempts: Sequence[AttemptPart]) -> Iterator[str]:
    seconds = [attempt.wall_seconds for attempt in attempts if attempt.wall_seconds is not None]
    if seconds and document.finished_at is not None:
        total = (document.finished_at - document.created_at).total_seconds()
        count = f"{len(seconds)} attempt{'s' if len(seconds) != 1 else ''}"
        yield f"{count} ran for {sum(seconds):.1f} s, {total:.1f} s in all."


def _section(title: str, items: Sequence[str]) -> Group:
    lines = [Text.assemble(("- ", "dim"), item) for item in items]
    return Group(Text(), Text(title, "bold"), *lines)


def _some(title: str, items: Sequence[str]) -> Iterator[RenderableType]:
    if items:
        yield _section(title, items)
