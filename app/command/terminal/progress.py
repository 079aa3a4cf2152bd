"""What happens, on standard error: a line that changes in a terminal, a line for each cell elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.status import Status
from rich.text import Text

from app.command.terminal.plain_text import visible
from app.judging.judgement import JobJudgement
from app.targets.planning.plan import Cell
from app.targets.target import Target
from worker.contract import Hello, Result


class ConsoleProgress:
    """Says how far a run is."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._cells = 0
        self._judged = 0
        self._attempts = 0

    @contextlib.contextmanager
    def shown(self, words: str) -> Iterator[None]:
        """While this lasts, a terminal shows the state of things; it is gone afterwards."""
        if not self._console.is_terminal:
            yield
            return
        with self._console.status(Text(words)) as self._status:
            yield
        self._status = None

    def planned(self, cells: Sequence[Cell], hello: Hello) -> None:
        self._cells = sum(cell.reason is None for cell in cells)
        self._say(
            f"{self._cells} of {len(cells)} cells can run here, isolation {hello.level}, slots {hello.slots}"
        )

    def attempted(self, target: Target, result: Result) -> None:
        self._attempts += 1
        seconds = result.observation.wall_seconds
        self._update(
            f"{self._judged} of {self._cells} cells judged; {target.label()}: {result.outcome} after {seconds:.1f} s"
        )

    def judged(self, target: Target, judgement: JobJudgement) -> None:
        self._judged += 1
        times = f", {judgement.matched} of {judgement.of}" if judgement.of else ""
        self._say(f"{target.label()}: {judgement.verdict}{times}")

    def counted(self, judged: int, cells: int) -> None:
        """How far a run on a server is."""
        if (judged, cells) != (self._judged, self._cells):
            self._judged, self._cells = judged, cells
            self._update(f"{judged} of {cells} cells judged")
            if self._status is None:
                self._say(f"{judged} of {cells} cells judged")

    def noted(self, text: str) -> None:
        self._say(text)

    def warned(self, text: str) -> None:
        self._console.print(Text(visible(text), "yellow"), highlight=False)

    def _say(self, text: str) -> None:
        self._console.print(Text(visible(text), "dim"), highlight=False)

    def _update(self, text: str) -> None:
        if self._status is not None:
            self._status.update(Text(visible(text)))
