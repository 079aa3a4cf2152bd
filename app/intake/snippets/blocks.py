"""A block of a report taken apart."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """A block taken apart. `shown` is the code as a script would have to be to print what a prompt prints."""

    code: str = ""
    output: str = ""
    commands: str = ""
    transcript: bool = False
    # A shell showed the code, or was given it.
    session: bool = False
    # What was answered below each comment of a session, where there are several: `# On GPU`, and its lines.
    answers: tuple[tuple[str, str], ...] = ()
    # What a shell answered when it was asked for the exit status.
    status: str = ""
