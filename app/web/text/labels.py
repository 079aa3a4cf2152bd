"""The words of the product as pages show them: a short name, a plain sentence, a sign and a CSS class.

The sign is there so that colour is never the only difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.judging.comparison.text_diff import TextResult
from app.judging.judgement import CheckResult, ComparisonResult, Scope, Verdict
from app.judging.report.attention import Attention
from app.judging.report.change import ChangeKind
from app.judging.report.owner import Owner
from app.judging.report.triage import TriageGroup
from app.states import Trigger
from worker.contract import Outcome


@dataclass(frozen=True, slots=True)
class Look:
    """One word. `tone` is a CSS class: seen, part, gone or cant."""

    name: str
    sentence: str
    sign: str
    tone: str


VERDICTS: dict[Verdict, Look] = {
    Verdict.NEEDS_INFO: Look(
        "needs info", "The report lacks something that only the reporter can give.", "?", "part"
    ),
    Verdict.REPRODUCED: Look("reproduced", "It happens as claimed, every time.", "●", "seen"),
    Verdict.FLAKY: Look("flaky", "It happens as claimed, but not every time.", "◐", "seen"),
    Verdict.DIFFERENT: Look("different", "Something else happens than the report claims.", "◑", "part"),
    Verdict.NOT_REPRODUCED: Look("not reproduced", "It does not happen here.", "○", "gone"),
    Verdict.CANNOT_SHOW: Look(
        "cannot show",
        "This target lacks something that the claim needs, so it says nothing about the claim.",
        "–",
        "cant",
    ),
    Verdict.OBSERVED: Look("observed", "The report makes no claim that can be checked.", "◇", "cant"),
    Verdict.NO_RESULT: Look("no result", "No attempt gave a result that counts.", "!", "cant"),
}
OUTCOMES: dict[Outcome, Look] = {
    Outcome.LOST: Look("lost", "The node disappeared several times while it ran.", "!", "cant"),
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
    CheckResult.MET: Look("as claimed", "It was seen as the report says.", "●", "seen"),
    CheckResult.ABSENT: Look(
        "did not happen", "The script passed this point, and it did not happen.", "○", "gone"
    ),
    CheckResult.OTHER: Look("something else", "Something else was seen instead.", "◑", "part"),
    CheckResult.UNREACHED: Look("not reached", "No attempt reached this point.", "–", "cant"),
}
# The same for a result that the report expects instead of the bug.
EXPECTED_CHECKS: dict[CheckResult, Look] = {
    CheckResult.MET: Look("as expected", "The result that the report expects was seen.", "✓", "gone"),
    CheckResult.ABSENT: Look(
        "not seen", "The script passed this point without the result that the report expects.", "○", "part"
    ),
}
# The same where the bug itself was seen.
NOT_EXPECTED = Look(
    "not seen", "The bug was seen, so the result that the report expects was not.", "–", "cant"
)
COMPARISONS: dict[ComparisonResult, Look] = {
    ComparisonResult.IDENTICAL: Look("identical", "The same, byte for byte.", "=", "gone"),
    ComparisonResult.EQUIVALENT: Look(
        "equivalent", "The same values, written in another way or in another order.", "≈", "gone"
    ),
    ComparisonResult.DIFFERENT: Look("different", "Not the same.", "≠", "part"),
    ComparisonResult.INCOMPARABLE: Look("incomparable", "One side has nothing to compare.", "–", "cant"),
}
CHANGES: dict[ChangeKind, Look] = {
    ChangeKind.REGRESSED: Look(
        "regressed",
        "It happens, and with an older version it did not. Only that version differs.",
        "▲",
        "seen",
    ),
    ChangeKind.FIXED: Look(
        "fixed",
        "It does not happen, and with an older version it did. Only that version differs.",
        "✓",
        "gone",
    ),
    ChangeKind.OTHER: Look(
        "changed", "The verdict is another one, but it shows neither a regression nor a fix.", "◇", "cant"
    ),
    ChangeKind.CONFOUNDED: Look(
        "several reasons",
        "The verdict is another one, but more than one thing differs, so the reason is not known.",
        "≟",
        "part",
    ),
}
TEXTS: dict[TextResult, str] = {
    TextResult.IDENTICAL: "the same, byte for byte.",
    TextResult.EQUIVALENT: "the same values, written in another way or in another order.",
    TextResult.DIFFERENT: "not the same.",
    TextResult.UNKNOWN: "the same in the parts that were stored.",
}
SCOPES: dict[Scope, str] = {
    Scope.AS_REPORTED: "We tried it in the reporter's environment: same minor version, device and system.",
    Scope.ELSEWHERE: "We did not try it in the reporter's environment, so the report may still be right.",
}
TRIGGERS: dict[Trigger, str] = {
    "submitted": "submitted",
    "toolchain": "new toolchain",
    "schedule": "scheduled",
    "baseline": "completes a comparison",
    "imported": "bulk import",
    "canary": "canary",
}
STATES: dict[str, str] = {
    "queued": "waiting for a node",
    "leased": "assigned to a node",
    "running": "running",
    "recorded": "recorded",
    "judged": "judged",
    "finished": "finished",
    "cancelled": "cancelled",
    "lost": "lost",
}
ATTENTION: dict[Attention, Look] = {
    Attention.STILL_BROKEN: Look(
        "Still happens",
        "It happens in the newest version that was tried. It is a bug, or nobody has decided yet.",
        "●",
        "seen",
    ),
    Attention.FIXED: Look(
        "No longer seen", "It happened in an older version, and was not seen in the newest one.", "✓", "gone"
    ),
    Attention.ASK: Look(
        "Ask the reporter", "The report lacks something that only the reporter can give.", "?", "part"
    ),
    Attention.NOT_AS_REPORTED: Look(
        "Not tried as reported",
        "It was not seen here, but the reporter's machine or versions may be different. "
        "Try it there before you close it.",
        "–",
        "cant",
    ),
    Attention.NEEDS_HUMAN: Look(
        "Needs a human",
        "Our tests do not settle it: something else happens than the report says, "
        "it does not happen even in the reporter's environment, or nothing could be checked.",
        "◑",
        "part",
    ),
    Attention.EXPLAINED: Look(
        "Explained",
        "It happens, and the library need not be mended: an older version announced it, or it is rounding, "
        "as documented, or the script's own. Tell the reporter.",
        "✓",
        "cant",
    ),
}
TRIAGE: dict[TriageGroup, Look] = {
    TriageGroup.UNEXPLAINED: Look(
        "Unexplained",
        "No older version warned about it, and no maintainer decided. Look here first.",
        "▲",
        "seen",
    ),
    TriageGroup.ANNOUNCED: Look("Announced", "The older version warned about it.", "◷", "part"),
    TriageGroup.SETTLED: Look(
        "Settled",
        "A maintainer decided it, a test shows that it is no defect, it no longer happens, "
        "or it was withdrawn.",
        "✓",
        "gone",
    ),
}
# The words for what settles a regression without a maintainer.
OWNERS: dict[Owner, str] = {
    Owner.ROUNDING: "rounding, no defect",
    Owner.SCRIPT: "the script's own",
    Owner.DOCUMENTED: "as documented, no defect",
    Owner.NOBODY: "it no longer happens",
}
# No reporter knows the names of settings.
SETTINGS: dict[str, str] = {
    "deterministic": "torch uses only algorithms that give the same each time",
    "fill": "what new memory holds before the script writes to it",
    "threads": "the number of threads that compute",
    "cpu-isa": "the instructions of the CPU that are used",
    "tf32": "whether products of matrices on the GPU may keep fewer digits",
    "seed": "the number from which random numbers start",
    "fix": "what is held still because it varies between attempts",
    "trace": "each operation is recorded, and compared with float64",
    "compile": "how far torch.compile goes",
}
UNKNOWN = Look("—", "", "·", "cant")
_LOOKS: Mapping[type, Mapping[Any, Look]] = {
    Verdict: VERDICTS,
    Outcome: OUTCOMES,
    CheckResult: CHECKS,
    ComparisonResult: COMPARISONS,
    ChangeKind: CHANGES,
    Attention: ATTENTION,
    TriageGroup: TRIAGE,
}


def look(word: StrEnum | str | None) -> Look:
    """The look of a word. A word that has none gets `UNKNOWN`."""
    return _LOOKS.get(type(word), {}).get(word, UNKNOWN)


def owner_words(owner: Owner | None) -> str:
    """The words for what settles a regression; empty for an owner that leaves something to do."""
    return "" if owner is None else OWNERS.get(owner, "")


def settings_among(labels: Iterable[str]) -> list[tuple[str, str]]:
    """The settings that labels of targets name, each with its words, in the order of `SETTINGS`."""
    named = {setting.partition("=")[0] for label in labels for setting in label.partition(":")[2].split(",")}
    return [(name, words) for name, words in SETTINGS.items() if name in named]
