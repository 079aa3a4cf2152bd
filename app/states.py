"""The states of a run, a job and an attempt: where each is in its life, and never what came of it. And why a run was started."""

from __future__ import annotations

from typing import Literal

RunState = Literal["queued", "running", "finished", "cancelled"]
JobState = Literal["queued", "running", "judged", "cancelled"]
AttemptState = Literal["queued", "leased", "running", "recorded", "lost", "cancelled"]

# Why a run was started: somebody sent it; a toolchain came; its time had come; a pair lacked its other side; it came with a whole tracker.
Occasion = Literal["submitted", "toolchain", "schedule", "baseline", "imported"]
# What maintainers do, to what, and what can be held back.
SubjectKind = Literal["report", "run", "node", "toolchain", "script"]
Deed = Literal[
    "overruled",
    "taken_back",
    "labelled",
    "closed",
    "reopened",
    "withdrawn",
    "quarantined",
    "lifted",
    "judged_again",
]
HeldKind = Literal["node", "toolchain", "script"]
