"""`samehere bisect`: finds the version since which a claim is seen, or in which it was fixed."""

from __future__ import annotations

from dataclasses import dataclass

from app.command.bisect_on_server import bisect_on_server
from app.command.files.claim_file import given_claim_text
from app.command.files.source import Form, read_source
from app.command.machine_options import (
    MachineOptions,
    attempt_limits,
    check_machine_options,
    interruptible,
    named_level,
)
from app.command.service.configuration import load_settings
from app.command.service.exit_status import INTERRUPTED, NO_RESULT
from app.command.terminal.bisection_text import render_bisection
from app.command.terminal.consoles import errors, output, print_json
from app.command.terminal.progress import BisectionProgress
from app.errors import InputError
from app.intake.read import read
from app.intake.reading import Reading
from app.runs.run_object.bisection_document import BisectionDocument
from app.runs.run_object.bisection_state import BisectionRequest
from app.targets.parse import parse_target

MOST_ERROR = 0.5
ATTEMPTS_RANGE = range(2, 100_001)


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectOptions:
    """The options of the command, unchecked."""

    file: str
    over: str
    begin: str | None
    end: str | None
    toolchains: tuple[str, ...]
    target: str
    error: float
    most_attempts: int
    form: Form
    claim: str | None
    claim_file: str | None = None
    machine: MachineOptions
    as_json: bool
    server: str | None = None
    token: str | None = None


def bisect(options: BisectOptions) -> int:
    """Run the command; returns its exit status. Raises SamehereError."""
    settings = load_settings()
    request = _checked_request(options)
    source = read_source(options.file, form=options.form, most_bytes=settings.read_limits.most_bytes)
    claim = given_claim_text(
        options.claim, options.claim_file, beside=options.file, most_bytes=settings.read_limits.report_bytes
    )
    reading = read(source.text, form=source.form, claim=claim, limits=settings.read_limits)
    if options.server is None:
        try:
            document = _bisect_here(reading, request, options)
        except InputError as error:
            if error.code == "nothing_claimed":
                error.message += " Here that is --claim 'prints nan'."
            raise
    else:
        submission = {source.decided_form: source.text, "claim": claim, "title": reading.title}
        document = bisect_on_server(submission, request, server=options.server, token=options.token)
    if options.as_json:
        print_json(document.model_dump(mode="json", by_alias=True))
    else:
        render_bisection(document, output())
    return status_of_bisection(document)


def _bisect_here(reading: Reading, request: BisectionRequest, options: BisectOptions) -> BisectionDocument:
    from app.runs.local.bisect import bisect_locally
    from app.runs.local.conductor import NodeOptions

    level = named_level(options.machine)
    node_options = NodeOptions(limits=attempt_limits(options.machine, load_settings()), level=level)
    progress = BisectionProgress(errors())
    with interruptible(), progress.status("Starting"):
        return bisect_locally(reading, request, node_options, progress=progress)


def status_of_bisection(document: BisectionDocument) -> int:
    """The exit status: 3 if no attempt gave an answer, 130 if the bisection did not finish, else 0."""
    if document.state != "finished":
        return INTERRUPTED
    return NO_RESULT if not document.ask and not any(point.of for point in document.points) else 0


def _checked_request(options: BisectOptions) -> BisectionRequest:
    """The request, before anything is done. Raises InputError or SetupError."""
    if not 0 < options.error < MOST_ERROR:
        raise InputError(
            "--error is a probability between 0 and 0.5, such as 0.01.", code="bad_error", field="--error"
        )
    if options.most_attempts not in ATTEMPTS_RANGE:
        raise InputError(
            "--most-attempts is a number from 2 to 100000.", code="bad_attempts", field="--most-attempts"
        )
    check_machine_options(options.machine, file=options.file, server=options.server, command="bisect")
    return BisectionRequest(
        axis=options.over,
        base=parse_target(options.target),
        begin=options.begin,
        end=options.end,
        toolchains=options.toolchains,
        error=options.error,
        most_attempts=options.most_attempts,
    )
