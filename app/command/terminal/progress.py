"""The progress of a run, on standard error: one changing line in a terminal, else a line for each cell."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.status import Status
from rich.text import Text

from app.command.terminal.plain_text import visible
from app.judging.judgement import JobJudgement
from app.judging.verdict.sighting import Sighting
from app.targets.planning.plan import Cell
from app.targets.target import Target
from worker.contract import Hello, Result


class ConsoleProgress:
    """Prints the progress of a run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._cells = 0
        self._judged_cells = 0

    @contextlib.contextmanager
    def status(self, words: str) -> Iterator[None]:
        """Show a changing line in a terminal, until the block ends."""
        if not self._console.is_terminal:
            yield
            return
        with self._console.status(Text(words)) as self._status:
            yield
        self._status = None

    def report_plan(self, cells: Sequence[Cell], hello: Hello) -> None:
        """The cells of the plan, and the node that will run them."""
        self._cells = sum(cell.reason is None for cell in cells)
        self.note(
            f"{self._cells} of {len(cells)} cells can run here, isolation {hello.level}, slots {hello.slots}"
        )

    def report_attempt(self, target: Target, result: Result) -> None:
        """One attempt has ended."""
        seconds = result.observation.wall_seconds
        self._update(
            f"{self._judged_cells} of {self._cells} cells judged; "
            f"{target.label()}: {result.outcome} after {seconds:.1f} s"
        )

    def report_verdict(self, target: Target, judgement: JobJudgement) -> None:
        """One cell has its verdict."""
        self._judged_cells += 1
        times = f", {judgement.matched} of {judgement.of}" if judgement.of else ""
        self.note(f"{target.label()}: {judgement.verdict}{times}")

    def count_cells(self, judged: int, cells: int) -> None:
        """The judged cells of a run on a server, and all its cells."""
        if (judged, cells) != (self._judged_cells, self._cells):
            self._judged_cells, self._cells = judged, cells
            self._update(f"{judged} of {cells} cells judged")
            if self._status is None:
                self.note(f"{judged} of {cells} cells judged")

    def note(self, text: str) -> None:
        """Print a line."""
        self._console.print(Text(visible(text), "dim"), highlight=False)

    def warn(self, text: str) -> None:
        """Print a warning."""
        self._console.print(Text(visible(text), "yellow"), highlight=False)

    def _update(self, text: str) -> None:
        if self._status is not None:
            self._status.update(Text(visible(text)))


class BisectionProgress(ConsoleProgress):
    """Prints the progress of a bisection."""

    def report_trial(self, target: Target, sighting: Sighting) -> None:
        """One trial has ended."""
        words = {True: "seen", False: "not seen", None: "can't tell"}[sighting.seen]
        reason = f" ({sighting.reason.code})" if sighting.reason else ""
        self.note(f"{target.label()}: {words}{reason}")
