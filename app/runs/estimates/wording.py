"""Writes estimates as text, for pages and terminals."""

from __future__ import annotations

from datetime import datetime

from app.runs.run_object.parts.estimates import Basis, ProgressPart, RangePart, WaitingPart

BASIS: dict[Basis, str] = {
    "measured": "The times rest on attempts of this script on these targets.",
    "script": "The times rest on attempts of this script on other targets.",
    "recent": "The times rest on recent attempts of other scripts; a script may take longer.",
    "guess": "The times are a guess: nothing like it ran here before.",
}


def duration(seconds: float) -> str:
    """Seconds as text: `7 s`, `4 min`, `2.5 h`."""
    if seconds < 1:
        return "at once" if seconds == 0 else "1 s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def how_long(seconds: RangePart) -> str:
    """A range of seconds as text: `about 20 s (4 s to 3 min)`, or one number if the range is empty."""
    about, least = duration(seconds.about), duration(seconds.at_least)
    if seconds.at_most is None:
        return f"about {about}, or more"
    most = duration(seconds.at_most)
    if about == least == most:
        return about
    if seconds.about and not seconds.at_least:
        return f"about {about}, at most {most}"
    return f"{'' if seconds.about == 0 else 'about '}{about} ({least} to {most})"


# A limit that is farther away than so many times the estimate tells nobody how long it takes.
_FAR = 5


def about_how_long(seconds: RangePart, basis: Basis) -> str:
    """A time in one number, for someone who decides whether to wait: `about 3 s`.

    The limit is named where it is near. Where the times rest on other scripts, a slow script is a warning.
    """
    about = f"about {duration(seconds.about)}"
    if seconds.at_most is not None and duration(seconds.at_most) == duration(seconds.about):
        return about
    if seconds.at_most is not None and seconds.at_most <= _FAR * seconds.about:
        return f"{about}, at most {duration(seconds.at_most)}"
    return about if basis == "measured" else f"{about}, or longer if the script is slow"


def queue_position_text(waiting: WaitingPart) -> str:
    """A queue position as text: `number 3 of 12 in the queue, starts in about 20 s (4 s to 3 min)`."""
    of = f"{waiting.of}{' or more' if waiting.of_at_least else ''}"
    if waiting.starts_in is None:
        return "no connected node can serve it; it waits for one"
    number = (
        "next in the queue" if waiting.position == 1 else f"number {waiting.position} of {of} in the queue"
    )
    if waiting.reason is not None:
        return f"{number}; {waiting.reason}"
    if waiting.starts_in.about == 0:
        return f"{number}, starts at once or within {duration(waiting.starts_in.at_most or 0)}"
    return f"{number}, starts in {how_long(waiting.starts_in)}"


# The stage of an open cell, before the time since when it has it.
STAGES: dict[str, str] = {
    "queued": "waits in the queue",
    "waits_for_place": "waits for a free place on",
    "running": "runs on",
}


def end_of_stage(progress: ProgressPart) -> str:
    """The end of the stage, as text. Empty for the queue, whose position says it."""
    if progress.stage == "waits_for_place":
        return "it starts when an attempt there ends"
    if progress.stopped_at is None:
        return ""
    limit = duration(max(0.0, (progress.stopped_at - progress.since).total_seconds()))
    return f"it ends by itself, or is stopped after {limit}"


def time_since(since: datetime, now: datetime) -> str:
    """The time that has passed, as text. A clock that is ahead counts as no time."""
    return duration(max(0.0, (now - since).total_seconds())).replace("at once", "0 s")
