"""The states of runs, jobs and attempts, sets of states for queries, and the words of the log."""

from __future__ import annotations

from typing import Final, Literal

RunState = Literal["queued", "running", "finished", "cancelled"]
JobState = Literal["queued", "running", "judged", "cancelled"]
AttemptState = Literal["queued", "leased", "running", "recorded", "lost", "cancelled"]

# A run or a job that has not ended. Both use the same two words.
OPEN_STATES: Final = ("queued", "running")
# An attempt that has not ended.
OPEN_ATTEMPT_STATES: Final = ("queued", "leased", "running")
# An attempt that a node has.
HELD_ATTEMPT_STATES: Final = ("leased", "running")
# An attempt that no node has started, so it can be cancelled at once.
UNSTARTED_ATTEMPT_STATES: Final = ("queued", "leased")
# An attempt that will not change any more.
ENDED_ATTEMPT_STATES: Final = ("recorded", "lost", "cancelled")

# Why a run was started: a person submitted it, a new toolchain came, a scheduled rerun was due,
# a pair of runs needed its other side, or a whole tracker was imported.
Trigger = Literal["submitted", "toolchain", "schedule", "baseline", "imported", "canary"]
# Background runs, with all other triggers, are dispatched last.
FOREGROUND: tuple[Trigger, ...] = ("submitted", "canary")

# The acts of maintainers, and the kinds of their subjects.
SubjectKind = Literal["report", "run", "node", "toolchain", "script"]
ActKind = Literal[
    "overruled",
    "taken_back",
    "labelled",
    "closed",
    "reopened",
    "withdrawn",
    "quarantined",
    "lifted",
    "judged_again",
    "claim_corrected",
    "confirmed",
    "unconfirmed",
]
# Why a maintainer closed a report, in the words of maintainers.
Disposition = Literal["by_design", "announced", "duplicate", "not_ours", "fixed", "wont_fix"]
# A maintainer's word on a report: why it is closed, or that it is a bug. A confirmed bug stays open.
MaintainersWord = Literal["by_design", "announced", "duplicate", "not_ours", "fixed", "wont_fix", "confirmed"]
# The kinds of subjects that can be quarantined.
QuarantineKind = Literal["node", "toolchain", "script"]
