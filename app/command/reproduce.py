"""`samehere reproduce`: reads a report, runs its script here or on a server, and prints the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from app.command.files.bundle_file import CONTENTS_NOTE, check_writable, write_bundle
from app.command.files.claim_file import given_claim_text
from app.command.files.key_file import signer_of
from app.command.files.source import Form, Source, argument_text, read_source
from app.command.machine_options import (
    MachineOptions,
    attempt_limits,
    check_machine_options,
    interruptible,
    named_level,
)
from app.command.reproduce_on_server import plan_on_server, run_on_server
from app.command.service.configuration import load_settings
from app.command.service.exit_status import CANNOT_TELL, OWN_FAULT, status_of_error, status_of_run
from app.command.terminal.consoles import errors, output, print_json
from app.command.terminal.plan_text import render_plan
from app.command.terminal.progress import ConsoleProgress
from app.command.terminal.render import render
from app.errors import InputError, SamehereError
from app.intake.read import read
from app.intake.reading import NeedKind, Reading
from app.intake.text.corrected_environment import corrections_in, with_corrected_environment
from app.runs.exchange.bundle import BundledReport, OriginVerdict, bundle_of
from app.runs.rows.presets import known_presets
from app.runs.run_object.document import RunDocument
from app.settings import ServiceSettings
from app.targets.pattern import parse_exclusion, parse_inclusion
from app.targets.planning.presets import preset_named
from app.targets.planning.run_request import RunRequest

if TYPE_CHECKING:
    from app.runs.local.run import LocalOptions, LocalRun


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproduceOptions:
    """The options of the command, unchecked."""

    file: str
    form: Form = "auto"
    run: RunRequest = field(default_factory=RunRequest)
    dry_run: bool = False
    claim: str | None = None
    claim_file: str | None = None
    ignore_needs: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    title: str = ""
    as_json: bool = False
    server: str | None = None
    token: str | None = None
    exit_code: bool = False
    machine: MachineOptions = field(default_factory=MachineOptions)
    bundle: str | None = None
    sign: str | None = None


def reproduce(options: ReproduceOptions) -> int:
    """Run the command; returns its exit status. Raises SamehereError."""
    try:
        with interruptible():
            return _reproduce(options)
    except SamehereError as error:
        # `git bisect run` must not take a fault of ours for an answer.
        if not (options.exit_code and status_of_error(error) == OWN_FAULT):
            raise
        errors().print(f"samehere: {error.message}", style="red", markup=False, highlight=False)
        return CANNOT_TELL


def _reproduce(options: ReproduceOptions) -> int:
    settings = load_settings()
    options, source, reading = _read(options, settings)
    if options.dry_run:
        return _show_plan(source, reading, options, settings)
    answer, document = _run(options, source, reading, settings)
    if options.as_json:
        print_json(answer)
    else:
        render(document, output())
    return status_of_run(
        state=document.state, verdict=document.verdict, seen=document.seen, as_answer=options.exit_code
    )


def run_report(options: ReproduceOptions) -> RunDocument:
    """Run the report here or on a server; the run at its end. Raises SamehereError."""
    settings = load_settings()
    options, source, reading = _read(options, settings)
    with interruptible():
        _, document = _run(options, source, reading, settings)
    return document


def _read(options: ReproduceOptions, settings: ServiceSettings) -> tuple[ReproduceOptions, Source, Reading]:
    """The options, with the claim from wherever it came, and what is read from the file."""
    _check(options, settings)
    claim = given_claim_text(
        options.claim, options.claim_file, beside=options.file, most_bytes=settings.read_limits.report_bytes
    )
    options = replace(options, claim=claim, claim_file=None)
    source = read_source(options.file, form=options.form, most_bytes=settings.read_limits.most_bytes)
    reading = read(
        source.text,
        form=source.form,
        claim=options.claim,
        title=argument_text(options.title),
        limits=settings.read_limits,
        ignore_needs=tuple(map(NeedKind, options.ignore_needs)),
    )
    return options, source, with_corrected_environment(reading, _corrections(options.environment))


def _corrections(texts: Sequence[str]) -> list[tuple[str, str]]:
    """The corrected fields of the environment. Raises InputError for a text without `=`."""
    parts = [argument_text(text).partition("=") for text in texts]
    wrong = next((name for name, sign, _ in parts if not sign), None)
    if wrong is not None:
        raise InputError(
            "Write a field of the environment as NAME=VALUE, such as package.numpy=2.4.0.",
            code="bad_environment",
            field="environment",
        )
    return [(name.strip(), value) for name, _, value in parts]


def _run(
    options: ReproduceOptions, source: Source, reading: Reading, settings: ServiceSettings
) -> tuple[dict[str, Any], RunDocument]:
    """Run it; the run at its end, as JSON data and as a document."""
    if options.server is not None:
        body = _submission(source, reading, options)
        signer = signer_of(options.sign)
        return run_on_server(
            body, server=options.server, token=options.token, bundle=options.bundle, signer=signer
        )
    document = _run_here(source, reading, options, settings)
    return document.model_dump(mode="json", by_alias=True), document


def _show_plan(source: Source, reading: Reading, options: ReproduceOptions, settings: ServiceSettings) -> int:
    """Print the plan of the run, here or on the server; nothing is run."""
    answer: dict[str, Any]
    if options.server is not None:
        body = _submission(source, reading, options)
        answer, document = plan_on_server(body, server=options.server, token=options.token)
    else:
        from app.runs.local.run import plan_locally

        document = plan_locally(reading, options.run, _local_options(options, settings))
        answer = document.model_dump(mode="json", by_alias=True)
    if options.as_json:
        print_json(answer)
    else:
        render_plan(document, output())
    return 0


def _check(options: ReproduceOptions, settings: ServiceSettings) -> None:
    """Refuse contradicting or malformed options before anything is done. Raises InputError or SetupError."""
    preset = options.run.preset
    if preset is not None and options.run.targets:
        raise InputError("Give either --preset or --target.", code="preset_or_targets", field="target")
    if preset is not None and options.server is None:
        preset_named(preset, known_presets(settings))
    for text in options.run.include:
        parse_inclusion(text)
    for text in options.run.exclude:
        parse_exclusion(text)
    if options.bundle is not None and options.dry_run:
        raise InputError(
            "--dry-run runs nothing, so there is no bundle to write.",
            code="nothing_to_bundle",
            field="--bundle",
        )
    if options.sign is not None and options.bundle is None:
        raise InputError(
            "--sign signs a bundle: give --bundle FILE too.", code="nothing_to_sign", field="--sign"
        )
    signer_of(options.sign)
    if options.bundle is not None:
        check_writable(options.bundle)
    check_machine_options(options.machine, file=options.file, server=options.server, command="reproduce")


def _run_here(
    source: Source, reading: Reading, options: ReproduceOptions, settings: ServiceSettings
) -> RunDocument:
    from app.runs.local.run import run_locally

    local_options = _local_options(options, settings)
    progress = ConsoleProgress(errors())
    with progress.status("Starting"):
        run = run_locally(reading, options.run, local_options, progress=progress)
    if options.bundle is not None:
        _write_local_bundle(options.bundle, run, source, reading, options)
    return run.document


def _local_options(options: ReproduceOptions, settings: ServiceSettings) -> LocalOptions:
    """The settings of this machine. Warns if a weaker isolation was named."""
    from app.runs.local.run import LocalOptions

    level = named_level(options.machine)
    return LocalOptions(
        presets=known_presets(settings),
        limits=attempt_limits(options.machine, settings),
        level=level,
    )


def _write_local_bundle(
    name: str, run: LocalRun, source: Source, reading: Reading, options: ReproduceOptions
) -> None:
    """Write the bundle of a run on this machine, or say that there is none."""
    if not any(attempt.result is not None for job in run.jobs for attempt in job.attempts):
        errors().print("Nothing was run, so there is no bundle.", style="yellow", highlight=False)
        return
    submitted = BundledReport(
        form=source.decided_form,
        text=source.text,
        claim=options.claim,
        title=argument_text(options.title),
        source_url=reading.source_url,
        ignore_needs=[NeedKind(kind) for kind in options.ignore_needs],
        environment=corrections_in(reading),
    )
    verdict_here = OriginVerdict(verdict=run.document.verdict, summary=run.document.summary)
    bundle = bundle_of(run.facts, reading, run.jobs, submitted, origin=verdict_here)
    signer = signer_of(options.sign)
    write_bundle(name, bundle if signer is None else signer.sign(bundle))
    errors().print(
        f"{CONTENTS_NOTE} To contribute it: samehere import FILE --by NAME --server URL",
        style="dim",
        highlight=False,
    )


def _submission(source: Source, reading: Reading, options: ReproduceOptions) -> dict[str, Any]:
    """The body of `POST /runs`."""
    request = options.run
    targets = [target.model_dump(mode="json", exclude_none=True) for target in request.targets or ()]
    body = {
        source.decided_form: source.text,
        "claim": options.claim,
        "preset": request.preset,
        "targets": targets or None,
        "repeats": request.repeats,
        "include": list(request.include) or None,
        "exclude": list(request.exclude) or None,
        "title": reading.title or None,
        "ignore_needs": list(options.ignore_needs) or None,
        "environment": dict(_corrections(options.environment)) or None,
    }
    return {key: value for key, value in body.items() if value is not None}
