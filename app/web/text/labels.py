"""How each word of ours looks: its short name, its plain sentence, its sign (never colour alone) and its class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.judging.comparison.text_diff import TextResult
from app.judging.judgement import CheckResult, ComparisonResult, Defect, Scope, Verdict
from app.judging.report.attention import Attention
from app.judging.report.change import ChangeKind
from app.states import Trigger
from worker.contract import Outcome


@dataclass(frozen=True, slots=True)
class Look:
    """A word for a reader. `tone` is a CSS class: seen, part, gone or cant."""

    name: str
    sentence: str
    sign: str
    tone: str


VERDICTS: dict[Verdict, Look] = {
    Verdict.NEEDS_INFO: Look(
        "needs info", "The report lacks something that only the reporter can supply.", "?", "part"
    ),
    Verdict.REPRODUCED: Look("reproduced", "It happens as claimed, every time.", "●", "seen"),
    Verdict.FLAKY: Look("flaky", "It happens as claimed, but not every time.", "◐", "seen"),
    Verdict.DIFFERENT: Look("different", "Something else happens than what is claimed.", "◑", "part"),
    Verdict.NOT_REPRODUCED: Look("not reproduced", "It does not happen here.", "○", "gone"),
    Verdict.CANNOT_SHOW: Look(
        "cannot show", "This target lacks something, so it says nothing about the claim.", "–", "cant"
    ),
    Verdict.OBSERVED: Look("observed", "No claim could be checked; what was seen is stated.", "◇", "cant"),
    Verdict.NO_RESULT: Look("no result", "No attempt ended in a way that counts.", "!", "cant"),
}
OUTCOMES: dict[Outcome, Look] = {
    Outcome.LOST: Look("lost", "The node was gone three times while it ran.", "!", "cant"),
    Outcome.CANCELLED: Look("cancelled", "It was stopped on request.", "–", "cant"),
    Outcome.SETUP_FAILED: Look("setup failed", "The node could not start it.", "!", "cant"),
    Outcome.TIMED_OUT: Look("timed out", "It was stopped at the time limit.", "◔", "part"),
    Outcome.OUTPUT_EXCEEDED: Look(
        "output exceeded", "It was stopped because it printed too much.", "◔", "part"
    ),
    Outcome.OUT_OF_MEMORY: Look("out of memory", "It was stopped at the memory limit.", "◔", "part"),
    Outcome.CRASHED: Look("crashed", "A signal ended it.", "✕", "part"),
    Outcome.RAISED: Look("raised", "An exception ended it.", "✕", "part"),
    Outcome.EXITED: Look("exited", "It ended itself with an exit status other than 0.", "✕", "part"),
    Outcome.COMPLETED: Look("completed", "It ran to its end.", "✓", "gone"),
}
CHECKS: dict[CheckResult, Look] = {
    CheckResult.MET: Look("met", "Seen as claimed.", "●", "seen"),
    CheckResult.ABSENT: Look("absent", "The point was passed and it did not happen.", "○", "gone"),
    CheckResult.OTHER: Look("other", "Something else was seen in its place.", "◑", "part"),
    CheckResult.UNREACHED: Look("not reached", "The attempts did not get there.", "–", "cant"),
}
COMPARISONS: dict[ComparisonResult, Look] = {
    ComparisonResult.IDENTICAL: Look("identical", "The same, byte for byte.", "=", "gone"),
    ComparisonResult.EQUIVALENT: Look("equivalent", "The same in everything that is said.", "≈", "gone"),
    ComparisonResult.DIFFERENT: Look("different", "Not the same.", "≠", "part"),
    ComparisonResult.INCOMPARABLE: Look(
        "incomparable", "One side shows nothing that could be compared.", "–", "cant"
    ),
}
CHANGES: dict[ChangeKind, Look] = {
    ChangeKind.REGRESSED: Look(
        "regressed",
        "It happens, and with an older version it did not; only that version differs.",
        "▲",
        "seen",
    ),
    ChangeKind.FIXED: Look(
        "fixed",
        "It does not happen, and with an older version it did; only that version differs.",
        "✓",
        "gone",
    ),
    ChangeKind.OTHER: Look(
        "changed", "Another verdict, which shows neither a regression nor a repair.", "◇", "cant"
    ),
    ChangeKind.CONFOUNDED: Look(
        "confounded", "Another verdict, but more than one thing differs, so no one knows why.", "≟", "part"
    ),
}
TEXTS: dict[TextResult, str] = {
    TextResult.IDENTICAL: "the same, byte for byte.",
    TextResult.EQUIVALENT: "the same values, otherwise written or in another order.",
    TextResult.DIFFERENT: "not the same.",
    TextResult.UNKNOWN: "the same in what was kept.",
}
DEFECTS: dict[Defect, str] = {
    Defect.YES: "This is a defect.",
    Defect.NO: "This is no defect.",
    Defect.UNDECIDED: "Whether it is a defect is not decided.",
}
SCOPES: dict[Scope, str] = {
    Scope.AS_REPORTED: "Tried where the reporter saw it: same minor version, device and system.",
    Scope.ELSEWHERE: "Not tried where the reporter saw it, so the report may still be right.",
}
OCCASIONS: dict[Trigger, str] = {
    "submitted": "own targets",
    "toolchain": "a toolchain came",
    "schedule": "its time had come",
    "baseline": "the other side of a pair",
    "imported": "with a whole tracker",
}
STATES: dict[str, str] = {
    "queued": "waits for a node",
    "leased": "given to a node",
    "running": "running",
    "recorded": "recorded",
    "judged": "judged",
    "finished": "finished",
    "cancelled": "cancelled",
    "lost": "lost",
}
ATTENTION: dict[Attention, Look] = {
    Attention.STILL_BROKEN: Look(
        "Still broken", "It happens in the newest version that was tried.", "●", "seen"
    ),
    Attention.FIXED: Look(
        "Fixed", "It happened in an older version, and a newer one shows that it does not.", "✓", "gone"
    ),
    Attention.ASK: Look("Ask the reporter", "Something that only the reporter has is missing.", "?", "part"),
    Attention.NOT_AS_REPORTED: Look(
        "Not tried as reported", "The reporter's place was not tried, so this says little.", "–", "cant"
    ),
    Attention.NEEDS_HUMAN: Look(
        "Needs a human",
        "It happens and is no bug, something else happens, or nothing is claimed that can be checked.",
        "◑",
        "part",
    ),
}
UNKNOWN = Look("—", "", "·", "cant")
_LOOKS: Mapping[type, Mapping[Any, Look]] = {
    Verdict: VERDICTS,
    Outcome: OUTCOMES,
    CheckResult: CHECKS,
    ComparisonResult: COMPARISONS,
    ChangeKind: CHANGES,
    Attention: ATTENTION,
}


def look(word: StrEnum | str | None) -> Look:
    """The look of a verdict, an outcome, a check's or a comparison's result, a change, or a group that wants attention."""
    return _LOOKS.get(type(word), {}).get(word, UNKNOWN)
