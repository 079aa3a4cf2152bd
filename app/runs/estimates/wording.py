"""Estimates in words, the same on pages and in a terminal."""

from __future__ import annotations

from app.runs.run_object.document import Basis, RangePart, WaitingPart

BASIS: dict[Basis, str] = {
    "measured": "The times rest on attempts of this script on these targets.",
    "script": "The times rest on attempts of this script on other targets.",
    "recent": "The times rest on what other scripts took here lately; a script may take longer.",
    "guess": "The times are a guess: nothing like it ran here before.",
}


def duration(seconds: float) -> str:
    """`7 s`, `4 min`, `2.5 h`."""
    if seconds < 1:
        return "at once" if seconds == 0 else "1 s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def how_long(seconds: RangePart) -> str:
    """`about 20 s (4 s to 3 min)`; one number where there is no range."""
    about, least = duration(seconds.about), duration(seconds.at_least)
    if seconds.at_most is None:
        return f"about {about}, or more"
    most = duration(seconds.at_most)
    if about == least == most:
        return about
    return f"{'' if seconds.about == 0 else 'about '}{about} ({least} to {most})"


def place_in_line(waiting: WaitingPart) -> str:
    """`number 3 of 12 in line, starts in about 20 s (4 s to 3 min)`."""
    of = f"{waiting.of}{' or more' if waiting.of_at_least else ''}"
    if waiting.starts_in is None:
        return "no node that is there serves it; it waits for one"
    number = "next in line" if waiting.position == 1 else f"number {waiting.position} of {of} in line"
    if waiting.starts_in.about == 0:
        return f"{number}, starts at once or within {duration(waiting.starts_in.at_most or 0)}"
    return f"{number}, starts in {how_long(waiting.starts_in)}"
