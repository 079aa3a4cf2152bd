"""`samehere reproduce`: read a report, run its script here or on a server, and say what was seen."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from app.command.files.bundle_file import HOLDS, check_writable, write_bundle
from app.command.files.source import Form, Source, argument_text, read_source
from app.command.service.client import ENDED, Client
from app.command.service.configuration import load_settings
from app.command.service.exit_status import CANNOT_TELL, OWN_FAULT, status_of_error, status_of_run
from app.command.terminal.consoles import errors, output
from app.command.terminal.plan_text import render_plan
from app.command.terminal.progress import ConsoleProgress
from app.command.terminal.render import render
from app.errors import InputError, SamehereError, SetupError, UnavailableError
from app.ids import new_id
from app.intake.read import read
from app.intake.reading import Reading
from app.runs.exchange.bundle import Said, Submitted, bundle_of
from app.runs.rows.presets import known_presets
from app.runs.run_object.document import RunDocument
from app.settings import ServiceSettings
from app.targets.pattern import parse_exclusion, parse_inclusion
from app.targets.planning.presets import preset_named
from app.targets.planning.run_request import RunRequest
from worker.contract import Level, Limits

if TYPE_CHECKING:
    from app.runs.local.run import LocalOptions, LocalRun

MIB = 1024 * 1024
_LIMITS = {
    "wall_seconds": ("--wall", "more than 0 and at most 600 seconds"),
    "memory_bytes": ("--memory", "at least 64 MiB"),
}

_WARNINGS = {
    Level.LANDLOCK: "landlock+seccomp isolates less, and some scripts fail in it that would not elsewhere; docs/security.md says how.",
    Level.LIMITS_ONLY: "limits-only does not isolate: the script can read, change and send whatever its user can.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of the command, as given."""

    file: str
    form: Form = "auto"
    run: RunRequest = field(default_factory=RunRequest)
    dry_run: bool = False
    claim: str | None = None
    title: str = ""
    as_json: bool = False
    server: str | None = None
    token: str | None = None
    exit_code: bool = False
    isolation: Literal["landlock+seccomp", "limits-only"] | None = None
    wall_seconds: float | None = None
    memory_mib: int | None = None
    bundle: str | None = None


def reproduce(request: Request) -> int:
    """Do it; the exit status. Raises SamehereError."""
    try:
        with interruptible():
            status = _reproduce(request)
    except SamehereError as error:
        # A bisection must not take our fault for an answer.
        if not (request.exit_code and status_of_error(error) == OWN_FAULT):
            raise
        errors().print(f"samehere: {error.message}", style="red", markup=False, highlight=False)
        status = CANNOT_TELL
    return status


def _reproduce(request: Request) -> int:
    settings = load_settings()
    _check(request, settings)
    source = read_source(request.file, form=request.form, most_bytes=settings.read_limits.most_bytes)
    reading = _read(source, request, settings)
    if request.dry_run:
        return _show_plan(source, reading, request, settings)
    document: RunDocument
    if request.server is not None:
        raw, document = _on_server(source, reading, request)
    else:
        document = _here(source, reading, request, settings)
        raw = document.model_dump(mode="json", by_alias=True)
    if request.as_json:
        sys.stdout.write(json.dumps(raw, indent=1, ensure_ascii=True, allow_nan=False) + "\n")
    else:
        render(document, output())
    return status_of_run(
        state=document.state, verdict=document.verdict, seen=document.seen, as_answer=request.exit_code
    )


def _show_plan(source: Source, reading: Reading, request: Request, settings: ServiceSettings) -> int:
    """What would run, here or on the server; nothing is run."""
    if request.server is not None:
        raw = Client(request.server, token=request.token).plan(_submission(source, reading, request))
        document = _document(raw)
    else:
        from app.runs.local.run import plan_locally

        document = plan_locally(reading, request.run, _local_options(request, settings))
        raw = document.model_dump(mode="json", by_alias=True)
    if request.as_json:
        sys.stdout.write(json.dumps(raw, indent=1, ensure_ascii=True, allow_nan=False) + "\n")
    else:
        render_plan(document, output())
    return 0


def _read(source: Source, request: Request, settings: ServiceSettings) -> Reading:
    claim = None if request.claim is None else argument_text(request.claim)
    return read(
        source.text,
        form=source.form,
        claim=claim,
        title=argument_text(request.title),
        limits=settings.read_limits,
    )


def _check(request: Request, settings: ServiceSettings) -> None:
    """Refuse what can't be meant, before anything is done."""
    preset = request.run.preset
    if preset is not None and request.run.targets:
        raise InputError("Give either --preset or --target.", code="preset_or_targets", field="target")
    if preset is not None and request.server is None:
        preset_named(preset, known_presets(settings))
    _check_patterns(request.run)
    if request.bundle is not None and request.dry_run:
        raise InputError(
            "--dry-run runs nothing, so there is no bundle to write.",
            code="nothing_to_bundle",
            field="--bundle",
        )
    if request.bundle is not None:
        check_writable(request.bundle)
    if request.server is not None:
        for option, value in (
            ("--isolation", request.isolation),
            ("--wall", request.wall_seconds),
            ("--memory", request.memory_mib),
        ):
            if value is not None:
                raise InputError(
                    f"{option} is for runs on this machine; the server has its own.",
                    code="not_on_server",
                    field=option,
                )
    elif sys.platform != "linux":
        raise SetupError(
            "Scripts run on Linux only. Elsewhere: samehere reproduce --server URL, and samehere read.",
            code="not_linux",
        )
    check_isolation(request.file, request.isolation)


def check_isolation(file: str, isolation: str | None) -> None:
    """Raises InputError where weaker isolation is asked for and nobody says whose the script is."""
    if isolation is not None and file == "-":
        raise InputError(
            f"--isolation {isolation} is for a file of your own that you name; standard input may be anyone's.",
            code="isolation_needs_file",
            field="--isolation",
        )


def _check_patterns(request: RunRequest) -> None:
    for text in request.include:
        parse_inclusion(text)
    for text in request.exclude:
        parse_exclusion(text)


def warn_of_isolation(level: Level) -> None:
    """Say what the weaker level does not hold."""
    errors().print(f"Warning: {_WARNINGS[level]}", style="bold yellow", highlight=False)


def _here(source: Source, reading: Reading, request: Request, settings: ServiceSettings) -> RunDocument:
    from app.runs.local.run import run_locally

    options = _local_options(request, settings)
    progress = ConsoleProgress(errors())
    with progress.shown("Starting"):
        run = run_locally(reading, request.run, options, progress=progress)
    if request.bundle is not None:
        _write(request.bundle, run, source, reading, request)
    return run.document


def _local_options(request: Request, settings: ServiceSettings) -> LocalOptions:
    """The settings of this machine. Warns if it isolates less."""
    from app.runs.local.run import LocalOptions

    level = None
    if request.isolation is not None:
        level = Level(request.isolation)
        warn_of_isolation(level)
    return LocalOptions(
        presets=known_presets(settings),
        limits=limits_of(settings, wall_seconds=request.wall_seconds, memory_mib=request.memory_mib),
        level=level,
    )


def _write(name: str, run: LocalRun, source: Source, reading: Reading, request: Request) -> None:
    """The bundle of a run on this machine."""
    if not any(attempt.result is not None for job in run.jobs for attempt in job.attempts):
        errors().print("Nothing was run, so there is no bundle.", style="yellow", highlight=False)
        return
    submitted = Submitted(
        form=source.decided_form,
        text=source.text,
        claim=None if request.claim is None else argument_text(request.claim),
        title=argument_text(request.title),
        source_url=reading.source_url,
    )
    said = Said(verdict=run.document.verdict, summary=run.document.summary)
    write_bundle(name, bundle_of(run.facts, reading, run.jobs, submitted, said=said))
    errors().print(
        f"{HOLDS} To contribute it: samehere import FILE --by NAME --server URL", style="dim", highlight=False
    )


def limits_of(settings: ServiceSettings, *, wall_seconds: float | None, memory_mib: int | None) -> Limits:
    """The limits of an attempt, as the options say, else the settings. Raises InputError."""
    given: dict[str, Any] = {}
    if wall_seconds is not None:
        given["wall_seconds"] = wall_seconds
    if memory_mib is not None:
        given["memory_bytes"] = memory_mib * MIB
    try:
        return Limits.model_validate(settings.limits.model_dump() | given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        option, bounds = _LIMITS.get(str(first["loc"][0]), (str(first["loc"][0]), first["msg"]))
        raise InputError(f"{option}: {bounds}.", code="bad_limit", field=option) from error


_WITHDRAW = re.compile(r"/withdraw/[A-Za-z0-9_-]{1,100}")


def _on_server(source: Source, reading: Reading, request: Request) -> tuple[dict[str, Any], RunDocument]:
    client = Client(request.server or "", token=request.token)
    progress = ConsoleProgress(errors())
    with progress.shown("Sending"):
        run = client.submit(_submission(source, reading, request), idempotency_key=new_id())
        run_id = str(run.get("id", ""))
        progress.noted(f"{client.url}/runs/{run_id}")
        link = run.get("withdraw_url")
        if isinstance(link, str) and _WITHDRAW.fullmatch(link):
            progress.noted(f"Keep this; it erases what you sent: {client.url}{link}")
        try:
            for run in client.follow(run_id):
                jobs = [job for job in run.get("jobs", []) if isinstance(job, dict)]
                progress.counted(sum(job.get("state") == "judged" for job in jobs), len(jobs))
        except KeyboardInterrupt:
            run = _cancel(client, run_id)
    if request.bundle is not None:
        write_bundle(request.bundle, client.bundle(run_id))
    return run, _document(run)


def _document(run: Mapping[str, Any]) -> RunDocument:
    try:
        return RunDocument.model_validate(run)
    except ValidationError as error:
        raise UnavailableError(
            "The server's answer is no run of this version: is it a newer or an older samehere?"
        ) from error


def _submission(source: Source, reading: Reading, request: Request) -> Mapping[str, Any]:
    """As the interface takes it. What a `-` or an unknown name holds was decided when it was read."""
    run = request.run
    targets = [target.model_dump(mode="json", exclude_none=True) for target in run.targets or ()]
    body = {
        source.decided_form: source.text,
        "claim": None if request.claim is None else argument_text(request.claim),
        "preset": run.preset,
        "targets": targets or None,
        "repeats": run.repeats,
        "include": list(run.include) or None,
        "exclude": list(run.exclude) or None,
        "title": reading.title or None,
    }
    return {key: value for key, value in body.items() if value is not None}


def _cancel(client: Client, run_id: str) -> dict[str, Any]:
    """Stop it there as well; say so when that can't be done."""
    try:
        client.cancel(run_id)
        run = client.run(run_id)
    except (SamehereError, OSError) as error:
        raise UnavailableError(
            f"The run goes on at {client.url}/runs/{run_id}: it could not be cancelled."
        ) from error
    return run if run.get("state") in ENDED else {**run, "state": "cancelled"}


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM and SIGHUP end a run as Ctrl-C does: with nothing left behind."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _signals() -> list[signal.Signals]:
    return [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
