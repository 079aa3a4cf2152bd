"""Reports with outputs of a script that has the bug, has it no more, or does something else."""

from __future__ import annotations

from pathlib import Path

from judging_builders import CPU, several

from app.intake.read import read
from app.judging.verdict.job import judge_job
from app.limits import NO_READ_LIMITS

_FOLDER = Path(__file__).parent / "gone"
# Answers that are as good: without a claim nothing is said, and nothing is cleared.
Case = tuple[str, str, str, str, str]


def cases_of(name: str) -> list[Case]:
    """The cases of a file: its name, the report, what is printed, and the verdict."""
    cases: list[Case] = []
    for block in ("\n" + (_FOLDER / name).read_text(encoding="utf-8")).split("\n@@ ")[1:]:
        head, *outputs = block.split("\n@@@ ")
        title, _, report = head.partition("\n")
        for number, output in enumerate(outputs, start=1):
            answer, _, stdout = output.partition("\n")
            verdict, _, warning = answer.partition(" | ")
            stderr = f"/home/u/lib.py:1: {warning}\n" if warning else ""
            cases.append((f"{title} {number}", report, stdout, stderr, verdict))
    return cases


def verdict_of(report: str, stdout: str, stderr: str = "") -> str:
    """The verdict about three attempts that print this."""
    reading = read(report, limits=NO_READ_LIMITS, form="report")
    return str(judge_job(reading.claim, reading.scripts[0], CPU, several(3, stdout, stderr=stderr)).verdict)
