"""`samehere bisect`: since which version a report's claim is seen, or in which it was fixed, told by runs on this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from app.command.bisect_on_server import Asked, bisect_on_server
from app.command.files.source import Form, argument_text, read_source
from app.command.reproduce import check_isolation, interruptible, limits_of, warn_of_isolation
from app.command.service.configuration import load_settings
from app.command.service.exit_status import INTERRUPTED, NO_RESULT
from app.command.terminal.consoles import errors, output
from app.command.terminal.plain_text import one_line, visible
from app.command.terminal.progress import ConsoleProgress
from app.errors import InputError, SetupError
from app.intake.read import read
from app.intake.reading import Reading
from app.judging.verdict.sighting import Sighting
from app.runs.run_object.bisection_document import BisectionDocument, PointPart
from app.targets.parse import parse_target
from app.targets.target import Target
from app.targets.versions.bisection import Kind
from worker.contract import Level

# Fields by which two neighbours differ, in the text; the JSON has all.
MOST_DIFFERING = 8

_MOST_REASON = 200
_STYLES = {Kind.APPEARED: "red", Kind.FIXED: "green", Kind.THROUGHOUT: "red", Kind.MIXED: "magenta"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Asked):
    """The options of the command, as given."""

    file: str
    target: str
    form: Form
    isolation: Literal["landlock+seccomp", "limits-only"] | None
    wall_seconds: float | None
    memory_mib: int | None
    as_json: bool


class BisectionConsole(ConsoleProgress):
    """Says what each trial told."""

    def tried(self, target: Target, sighting: Sighting) -> None:
        """One line a trial."""
        words = {True: "seen", False: "not seen", None: "can't tell"}[sighting.seen]
        self.noted(f"{target.label()}: {words}{f' ({sighting.reason.code})' if sighting.reason else ''}")


def bisect(request: Request) -> int:
    """Do it; the exit status. Raises SamehereError."""
    settings = load_settings()
    base = _check(request)
    source = read_source(request.file, form=request.form, most_bytes=settings.read_limits.most_bytes)
    reading = read(
        source.text,
        form=source.form,
        claim=None if request.claim is None else argument_text(request.claim),
        limits=settings.read_limits,
    )
    document = (
        _here(reading, request, base)
        if request.server is None
        else bisect_on_server(source, reading, request, base)
    )
    if request.as_json:
        raw = document.model_dump(mode="json", by_alias=True)
        sys.stdout.write(json.dumps(raw, indent=1, ensure_ascii=True, allow_nan=False) + "\n")
    else:
        _render(document, output())
    return status_of_bisection(document)


def _here(reading: Reading, request: Request, base: Target) -> BisectionDocument:
    from app.runs.local.bisect import bisect_locally
    from app.runs.local.conductor import NodeOptions
    from app.runs.run_object.bisection_state import BisectionRequest

    level = None
    if request.isolation is not None:
        level = Level(request.isolation)
        warn_of_isolation(level)
    asked = BisectionRequest(
        axis=request.over,
        base=base,
        begin=request.begin,
        end=request.end,
        toolchains=request.toolchains,
        error=request.error,
        most_attempts=request.most_attempts,
    )
    options = NodeOptions(
        limits=limits_of(load_settings(), wall_seconds=request.wall_seconds, memory_mib=request.memory_mib),
        level=level,
    )
    progress = BisectionConsole(errors())
    with interruptible(), progress.shown("Starting"):
        return bisect_locally(reading, asked, options, progress=progress)


def status_of_bisection(document: BisectionDocument) -> int:
    """3 where no attempt told anything."""
    if document.state != "finished":
        return INTERRUPTED
    return NO_RESULT if not document.ask and not any(point.of for point in document.points) else 0


def _check(request: Request) -> Target:
    """Refuse what can't be meant, before anything is done."""
    here = {"--isolation": request.isolation, "--wall": request.wall_seconds, "--memory": request.memory_mib}
    for option, value in here.items():
        if request.server is not None and value is not None:
            raise InputError(
                f"{option} is for runs on this machine; the server has its own.",
                code="not_on_server",
                field=option,
            )
    if request.server is None and sys.platform != "linux":
        raise SetupError(
            "Scripts run on Linux only. Elsewhere: samehere bisect --server URL.", code="not_linux"
        )
    if not 0 < request.error < 0.5:
        raise InputError(
            "--error is a probability between 0 and 0.5, such as 0.01.", code="bad_error", field="--error"
        )
    if not 2 <= request.most_attempts <= 100_000:
        raise InputError(
            "--most-attempts is a number from 2 to 100000.", code="bad_attempts", field="--most-attempts"
        )
    if request.server is None:
        check_isolation(request.file, request.isolation)
    return parse_target(request.target)


def _render(document: BisectionDocument, console: Console) -> None:
    for part in _parts(document):
        console.print(part, soft_wrap=False, highlight=False)


def _parts(document: BisectionDocument) -> Iterator[RenderableType]:
    head = Text("cancelled; so far: " if document.state == "cancelled" else "", "bold yellow")
    if document.kind is not None:
        head.append(f"{document.kind}: ", f"bold {_STYLES.get(document.kind, 'yellow')}")
    yield head.append(document.summary)
    for ask in document.ask:
        yield Text(f"- {ask.text} ({ask.code})")
    pairs = {
        "last_good": document.last_good,
        "first_bad": document.first_bad,
        "last_bad": document.last_bad,
        "first_good": document.first_good,
    }
    for name, value in pairs.items():
        if value is not None:
            yield Text(f"{name}: {value}")
    if document.points:
        yield Text()
        yield _table(document)
        rate = (
            ""
            if document.rate is None
            else f" Where it happens, it is seen in an estimated {100 * document.rate:.0f} % of attempts."
        )
        yield Text(f"\n{document.attempts} attempts.{rate}", "dim")
    if document.one_axis:
        yield Text(f"The two environments differ in {document.axis} alone.")
    if document.confounded is not None:
        differing = [visible(name) for name in document.confounded.differing]
        more = (
            f" and {len(differing) - MOST_DIFFERING} more (--json has them)"
            if len(differing) > MOST_DIFFERING
            else ""
        )
        yield Text(
            f"Confounded: they also differ in {', '.join(differing[:MOST_DIFFERING])}{more}.", "yellow"
        )
        if document.confounded.command is not None:
            yield Text(
                f"The missing cell; add it, and bisect again:\n  {visible(document.confounded.command)}",
                "yellow",
            )


def _table(document: BisectionDocument) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", expand=False)
    for column in (document.axis, "seen", "target", "why not, or what else"):
        table.add_column(column, overflow="fold")
    for point in document.points:
        table.add_row(
            Text(point.value), Text(_times(point)), Text(visible(_label(point))), Text(_reason(point))
        )
    return table


def _times(point: PointPart) -> str:
    if point.of:
        return f"{point.seen} of {point.of}"
    return "can't tell" if point.given_up or point.untold else "not tried"


def _label(point: PointPart) -> str:
    return Target.model_validate(point.target.model_dump()).label()


def _reason(point: PointPart) -> str:
    return (
        "" if point.reason is None else one_line(point.reason.detail or point.reason.code, most=_MOST_REASON)
    )
