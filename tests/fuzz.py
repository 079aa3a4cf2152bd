"""Read and judge hostile reports, made at random from the corpus: `python -m tests.fuzz --minutes N`.

Promises: reading raises nothing but InputError; it is linear in the length; no line of code comes from
anywhere but the report, repairs aside; judging never fails, and never says `not_reproduced` if a counted
attempt met the check. An exhibit points at its text; what is read comes back whole as a claim as data; any
stances and any data make a claim that can be judged, or are refused with the place.

It ends with 1 on the first broken promise, and writes the report that shows it beside the seed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.errors import InputError
from app.intake.claim.claims import MOST_READINGS, Check, Claim
from app.intake.exhibit import Stance
from app.intake.read import read, with_claim, with_corrected_stances
from app.intake.reading import Reading
from app.intake.text.thread import thread_of
from app.intake.typed.check_forms import FORMS
from app.intake.typed.claim_form import claim_form
from app.intake.typed.typed_claim import claim_of_form, data_of_claim
from app.judging.judgement import CheckResult, Verdict
from app.judging.verdict.job import judge_job
from app.limits import ReadLimits
from app.targets.target import Target
from worker.contract import KIB, MIB, AttemptKind, Device, ExceptionFacts, Observation, Outcome, Result, Start

HERE = Path(__file__).parent
LIMITS = ReadLimits(script_bytes=256 * KIB, report_bytes=MIB)
CPU = Target(device=Device.CPU, toolchain="torch-2.13-cpu")
# A megabyte takes about a second on a quiet processor. A greater time deserves a look.
MOST_SECONDS_PER_MEGABYTE = 10.0
# Four times the text may take four times as long, and twice that for noise.
MOST_GROWTH = 8.0
# Shorter times say nothing about growth.
TIMES = 3
LEAST_SECONDS = 0.5
PIECES = (
    "```\n", "```python\n", "~~~\n", "````\n", "<details>\n", "</details>\n", "<!--", "-->",
    ">>> ", "... ", "In [1]: ", "Out[1]: ",
    "> ",
    "    ", "\t", "\r\n", "\r", "\x00", "\x1b[31m", "\u202e", "\ufeff", "\ud83d",
    "Traceback (most recent call last):\n", '  File "a.py", line 1\n',
    "ValueError: x\n", "CPU 1\nGPU 2\n", "expected 3, got 4. ", "is 3 times slower than numpy. ",
    "should raise ValueError but does not. ",
    "torch 2.3 on an A100. ", "numpy==1.2\n", "import torch\n", "print(1)\n", "if x:\n", "def f(:\n",
    '"""', "'",
    "(" * 50, "[" * 50, "1" * 100,
    "a." * 50, "e" * 100, "`" * 7, "*_" * 20, "|" * 20, "hangs ", "segfault ",
    "exit code 139 ", "nan ", "since 2.1 ", "only on Windows. ",
    "different result every time. ", "x.grad is None. ", "eager and compiled differ. ",
    "#" * 7 + " ", "- [ ] ",
    "<a href='", "&lt;", "\\" * 9,
)  # fmt: skip
OUTPUTS = (
    "",
    "1\n",
    "nan\n",
    "cpu 1\ncuda 2\n",
    "eager 1 s\ncompiled 3 s\n",
    "ValueError: x\n",
    "None\n",
    "4\n",
    "\x00\n",
    "numpy 1 ms\nmine 2 ms\n",
)


NAMES = (*Check.model_fields, "type", "status", "line", "checks", "further", "subject")
ODD_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, 1.5, float("inf"), "", "x", "nan", "\x00", "\ud83d", "a" * 9_000,
    [], {}, ["1"], [[]], ["cpu", "cuda"],
    {"line": 1}, {"line": 10**9}, {"script": 9}, {"device": "cuda", "range": ">=2"}, {"version": "<<"},
    *FORMS, *map(str, Stance), "expected", "bug", "repeats",
)  # fmt: skip


class BreachError(AssertionError):
    """A property that does not hold; the message says which."""


def corpus() -> list[str]:
    """The texts of all reports of the corpus."""
    folders = (HERE / "reports", HERE.parent.parent / "shared" / "reports")
    found = [json.loads(path.read_text()) for folder in folders for path in sorted(folder.glob("*.json"))]
    return [report.get("text") or report.get("body") or "" for report in found]


def hostile(rng: random.Random, texts: list[str]) -> str:
    """One report: a mutated one, pieces at random, one piece many times, something nested, or a long line."""
    match rng.randrange(5):
        case 4:
            return blank_led(rng)
        case 0 if texts:
            return mutated(rng, rng.choice(texts), rng.choice(texts))
        case 1:
            return "".join(rng.choices(PIECES, k=rng.randrange(1, 400)))
        case 2:
            bait = "".join(rng.choices(PIECES, k=rng.randrange(1, 4)))
            return bait * (rng.choice((2_000, 20_000, 200_000)) // len(bait))
        case _:
            depth = rng.randrange(1, 2_000)
            opening, closing = rng.choice(
                (
                    ("> ", ""),
                    ("(", ")"),
                    ("<details>", "</details>"),
                    ("- ", ""),
                    ("```\n", "```\n"),
                    ("if 1:\n ", ""),
                )
            )
            return opening * depth + rng.choice(PIECES) + closing * depth


def blank_led(rng: random.Random) -> str:
    """A report with one very long line that begins with blanks, inside or outside of a fence."""
    blanks = rng.choice((" ", "\t", "> ", "\u00a0", " \t")) * rng.choice((1_000, 20_000, 70_000))
    before = rng.choice(("", "```python\n", "Claim:", "prints", "torch", "OS:", "#output", "exit"))
    return before + blanks + rng.choice(PIECES) + rng.choice(("", "\n```\n", "\nprints 1, expected 2\n"))


def mutated(rng: random.Random, text: str, other: str) -> str:
    """The text with lines dropped, doubled, swapped, cut, and pieces of another in between."""
    lines = text.split("\n")
    for _ in range(rng.randrange(1, 12)):
        at = rng.randrange(len(lines) + 1)
        match rng.randrange(5):
            case 0:
                del lines[at : at + rng.randrange(1, 4)]
            case 1:
                lines[at:at] = lines[at : at + rng.randrange(1, 6)]
            case 2:
                lines[at:at] = rng.sample(other.split("\n"), 1)
            case 3:
                lines.insert(at, rng.choice(PIECES))
            case _ if lines:
                at = rng.randrange(len(lines))
                lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)] + rng.choice(PIECES)
            case _:
                pass
        lines = lines or [""]
    return "\n".join(lines)


def reading_of(text: str) -> Reading | None:
    try:
        return read(text, form="report", limits=LIMITS)
    except InputError:
        return None


def _timed(text: str, most: float) -> tuple[Reading | None, float]:
    """The reading, and its processor seconds: the least of a few tries, because of foreign load."""
    least = float("inf")
    for _ in range(TIMES):
        started = time.process_time()
        reading = reading_of(text)
        least = min(least, time.process_time() - started)
        if least <= most:
            break
    return reading, least


def check_reading(text: str) -> Reading | None:
    """Read a report, and compare the reading with it."""
    most = MOST_SECONDS_PER_MEGABYTE * max(0.1, len(text) / LIMITS.report_bytes)
    reading, took = _timed(text, most)
    if took > most:
        raise BreachError(f"reading {len(text)} characters took {took:.1f} s")
    if (
        took > LEAST_SECONDS
        and len(text) * 4 < LIMITS.report_bytes
        and _timed(text * 4, MOST_GROWTH * took)[1] > MOST_GROWTH * took
    ):
        raise BreachError("four times the text takes much more than four times as long")
    for script in reading.scripts if reading else ():
        for line in script.as_given.split("\n"):
            if line.strip() and "".join(line.split()) not in _squeezed(text):
                raise BreachError(f"a line that is not in the report: {line[:200]!r}")
        if (
            script.script != script.as_given
            and not script.repairs
            and script.script.split() != script.as_given.removeprefix("\ufeff").split()
        ):
            raise BreachError("the script was changed and no repair says so")
    return reading


def _squeezed(text: str) -> str:
    return "".join(text.replace("\0", "\ufffd").split())


def check_judging(reading: Reading, rng: random.Random) -> None:
    """Judge random attempts of the scripts of a reading."""
    if not reading.scripts:
        return
    results = [attempt(rng, number) for number in range(rng.randrange(8))]
    judgement = judge_job(reading.claim, reading.scripts[0], CPU, results)
    # A warm attempt counts only if a cold one says the same.
    cold = judge_job(
        reading.claim, reading.scripts[0], CPU, [result for result in results if result.start is Start.COLD]
    )
    met = any(finding.result is CheckResult.MET for finding in cold.findings)
    bugs = sum(check.role == "bug" for check in reading.claim.checks)
    if judgement.verdict is Verdict.NOT_REPRODUCED and met and bugs == 1 and len(reading.claim.checks) == 1:
        raise BreachError("not_reproduced where an attempt met the check")
    if judge_job(reading.claim, reading.scripts[0], CPU, results[::-1]) != judgement:
        raise BreachError("the order of the attempts changes the judgement")


def check_exhibits(text: str, reading: Reading) -> None:
    """Hold the exhibits against the text, and send the claim back as data."""
    ids = [each.id for each in reading.exhibits]
    if len({*ids}) != len(ids):
        raise BreachError("two exhibits have one name")
    if thread_of(text) is None:
        for each in reading.exhibits:
            if not each.text or text[each.span.start : each.span.end] != each.text:
                raise BreachError(f"exhibit {each.id} does not point at its text: {each.text[:200]!r}")
    if len(reading.claim.further) >= MOST_READINGS:
        raise BreachError(f"there are {len(reading.claim.further) + 1} readings")
    back = sent_back(reading.claim)
    if back != without_ties(reading.claim) and is_encodable(text):
        raise BreachError("the claim as data comes back as another one")


def is_encodable(text: str) -> bool:
    """True if UTF-8 can write it: half of a surrogate pair can't be sent."""
    return text.encode("utf-8", "replace").decode() == text


def without_ties(claim: Claim) -> Claim:
    """The claim as somebody would say it. Nobody says that nothing ties a failure to the script."""
    checks = tuple(check.model_copy(update={"loose": False}) for check in claim.checks)
    further = tuple(map(without_ties, claim.further))
    return claim.model_copy(update={"checks": checks, "further": further})


def sent_back(claim: Claim) -> Claim:
    try:
        return claim_of_form(claim_form(json.loads(json.dumps(data_of_claim(claim)))))
    except InputError as error:
        raise BreachError(f"the claim that was read is refused as data: {error.message[:300]}") from error


def check_corrections(text: str, reading: Reading, rng: random.Random) -> None:
    """Give the exhibits other stances and the claim other data, and judge what comes of it."""
    if reading.exhibits:
        some = rng.sample(reading.exhibits, rng.randrange(1, min(4, len(reading.exhibits)) + 1))
        stances = {each.id: str(rng.choice(list(Stance))) for each in some}
        after, _ = with_corrected_stances(reading, stances, text=text, limits=LIMITS, who="fuzz")
        if [each.text for each in after.exhibits] != [each.text for each in reading.exhibits]:
            raise BreachError(f"{stances} changes what the exhibits say")
        check_judging(after, rng)
    data = odd_claim(rng, data_of_claim(reading.claim))
    try:
        after = with_claim(reading, json.dumps(data), text=text, limits=LIMITS)
    except InputError as error:
        if not (error.field or "").startswith("claim"):
            raise BreachError(f"a refusal without its place: {error.message[:300]}") from error
        return
    check_judging(after, rng)


def odd_claim(rng: random.Random, data: dict[str, Any]) -> dict[str, Any]:
    """The data of a claim, with a few fields changed, added or dropped, and checks of other kinds."""
    checks = [dict(each) for each in data["checks"]]
    checks.extend(
        {"kind": rng.choice([*FORMS]), rng.choice(NAMES): rng.choice(ODD_VALUES)}
        for _ in range(rng.randrange(3))
    )
    for _ in range(rng.randrange(4)):
        changed = rng.choice([data, *checks])
        name = rng.choice([*changed, *NAMES])
        if changed is not data or name != "checks":
            changed[name] = rng.choice(ODD_VALUES)
    further = [{"checks": rng.sample(checks, 1)} for _ in range(rng.randrange(5)) if checks]
    return {**data, "checks": checks[: rng.randrange(len(checks) + 1)] or checks, "further": further}


def attempt(rng: random.Random, number: int) -> Result:
    outcome = rng.choice([Outcome.COMPLETED] * 4 + list(Outcome))
    raised = (
        ExceptionFacts(type=rng.choice(("ValueError", "RuntimeError", "NameError")), message="x")
        if outcome is Outcome.RAISED
        else None
    )
    seen = Observation(
        stdout="".join(rng.choices(OUTPUTS, k=rng.randrange(3))),
        exit_status={Outcome.COMPLETED: 0, Outcome.RAISED: 1, Outcome.EXITED: 3}.get(outcome),
        signal="SIGSEGV" if outcome is Outcome.CRASHED else None,
        exception=raised,
    )
    kind, start = rng.choice((AttemptKind.REPEAT, AttemptKind.PREVIEW)), rng.choice((Start.COLD, Start.WARM))
    return Result(
        node="n",
        instance="i",
        attempt_id=f"a{number}",
        lease_no=1,
        kind=kind,
        start=start,
        outcome=outcome,
        observation=seen,
    )


def cases(seed: int, seconds: float) -> Iterator[tuple[int, str, random.Random]]:
    """(number, report, source of chance) until the time is over."""
    texts, until, number = corpus(), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        rng = random.Random(f"{seed}/{number}")  # noqa: S311 - chance, not secrets
        yield number, hostile(rng, texts), rng
        number += 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    number = read_texts = characters = 0
    for number, text, rng in cases(options.seed, options.minutes * 60):
        try:
            reading = check_reading(text)
            if reading is not None:
                read_texts += 1
                check_judging(reading, rng)
                check_exhibits(text, reading)
                check_corrections(text, reading, rng)
        except Exception as error:  # noqa: BLE001 - any failure is a breach
            path = Path(f"fuzz-{options.seed}-{number}.txt")
            path.write_text(text, encoding="utf-8", errors="surrogatepass")
            name = f"case {number} of seed {options.seed}"
            sys.stderr.write(f"{name}: {type(error).__name__}: {error}\nthe report is in {path}\n")
            return 1
        characters += len(text)
    sys.stdout.write(
        f"{number + 1} reports, {characters / 1e6:.1f} million characters, "
        f"{read_texts} of them read and judged; no promise is broken\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
