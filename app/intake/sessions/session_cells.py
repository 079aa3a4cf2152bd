"""The cells of a session: what was typed at each prompt, and what was answered to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.intake.sessions.prompts import IPYTHON_OUT
from app.intake.words.vocabulary import EXCEPTION_LINE

_IN = re.compile(r"[ \t]*+(?:>>>(?:[ \t]|$)|In ?\[[\d *]{1,6}\]: ?)")
_MORE = re.compile(r"[ \t]*+(?:\.{3,}: ?|\.\.\.(?: |$))")
_TRACEBACK = re.compile(
    r"[ \t]*+(?:Traceback \(most recent call last|-{20,80}$|\w{1,60}[ \t]{4,80}Traceback \(most recent)"
)
_MOST_LINES = 2_000


@dataclass(frozen=True, slots=True)
class Cell:
    """Lines of a session. `lines` are all of them, with their numbers from `start` on."""

    start: int
    typed: str
    lines: tuple[str, ...]
    # The number of lines at the prompt; what is answered stands below them.
    prompts: int

    @property
    def answer(self) -> list[str]:
        """The lines that were answered, without blank ones and without `Out[1]:`."""
        return [IPYTHON_OUT.sub("", line, count=1) for line in self.lines[self.prompts :] if line.strip()]

    @property
    def error(self) -> str:
        """The last line of the error that was answered; empty if it was none."""
        last = self.answer[-1].strip() if self.answer else ""
        is_error = self.traceback_at is not None or EXCEPTION_LINE.fullmatch(last[:400]) is not None
        return last if is_error else ""

    @property
    def traceback_at(self) -> int | None:
        """The place of the first line of a traceback among the lines; None without one."""
        return next(
            (at for at, line in enumerate(self.lines) if at >= self.prompts and _TRACEBACK.match(line)), None
        )

    @property
    def without_error(self) -> list[str]:
        """The lines without those of the error."""
        if self.traceback_at is not None:
            return [*self.lines[: self.traceback_at]]
        last = max(at for at, line in enumerate(self.lines) if line.strip())
        return [*self.lines[:last]]


def cells_of(text: str) -> list[Cell]:
    """The cells of a session; none if the text does not begin at a prompt."""
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if len(lines) > _MOST_LINES or not _IN.match(lines[first]):
        return []
    return list(_cells(lines, first))


def _cells(lines: Sequence[str], first: int) -> Iterator[Cell]:
    starts = [at for at in range(first, len(lines)) if _IN.match(lines[at])]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        below = start + 1
        while below < end and _MORE.match(lines[below]):
            below += 1
        typed = [_behind(_IN, lines[start]), *(_behind(_MORE, line) for line in lines[start + 1 : below])]
        yield Cell(start, "\n".join(typed), tuple(lines[start:end]), below - start)


def _behind(prompt: re.Pattern[str], line: str) -> str:
    match = prompt.match(line)
    return line[match.end() :] if match else line
