"""The warnings of an attempt: those that the harness noted, else those that stand in stderr."""

from __future__ import annotations

import re

from worker.contract import CapturedWarning, Observation
from worker.contract.observation import MOST_WARNING_TEXT, MOST_WARNINGS

SCRIPT_PATH = "/home/u/script.py"
# As Python prints them: `/home/u/script.py:2: UserWarning: message`.
_PRINTED = re.compile(
    r"^(?P<file>[^\s:]{1,200}):(?P<line>\d{1,9}): (?P<category>[\w.]{1,100}Warning): (?P<text>.{0,1000})",
    re.MULTILINE,
)
_FORETELLING = {"DeprecationWarning", "PendingDeprecationWarning", "FutureWarning"}
_FORETOLD = re.compile(
    r"\bdeprecat|\bwill (?:be|raise|become|change|error|stop|no longer)\b|\bin (?:a|the) future\b"
    r"|\bfuture (?:version|release)s?\b|\bno longer be\b",
    re.IGNORECASE,
)


def warnings_of(seen: Observation) -> list[CapturedWarning]:
    """The warnings that were shown, each place once."""
    return warnings_in(seen.warnings, seen.stderr)


def warnings_in(captured: list[CapturedWarning] | None, stderr: str) -> list[CapturedWarning]:
    """The warnings that the harness noted, else those in stderr.

    stderr is read only if the harness noted none: an older node ran the attempt, or it ended by a signal.
    """
    if captured is not None:
        return captured
    printed = dict.fromkeys(match.groups() for match in _PRINTED.finditer(stderr))
    return [
        CapturedWarning(
            category=category,
            base=category if category in _FORETELLING else "",
            text=text[:MOST_WARNING_TEXT],
            file=file,
            line=int(line),
            script_line=int(line) if file == SCRIPT_PATH else 0,
        )
        for file, line, category, text in list(printed)[:MOST_WARNINGS]
        if int(line) < 2**31
    ]


def foretells(warning: CapturedWarning) -> bool:
    """Whether a warning says that something will change or go: by its category, else by its words."""
    names = {warning.base, warning.category.rpartition(".")[2]}
    return (
        bool(names & _FORETELLING)
        or any("Deprecat" in name for name in names)
        or (_FORETOLD.search(warning.text) is not None)
    )
