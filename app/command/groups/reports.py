"""Commands about a report in a file: `reproduce`, `explain`, `bisect`, `read` and `probe`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from app.command.groups.options import (
    GROUP_SETTINGS,
    As,
    Claim,
    ClaimFile,
    EnvironmentFields,
    File,
    IgnoreNeeds,
    Isolation,
    Json,
    Memory,
    Server,
    ServiceToken,
    Sign,
    Wall,
    form_of,
    isolation_of,
)

reports = typer.Typer(**GROUP_SETTINGS)

Preset = Annotated[str | None, typer.Option(help="A named set of targets; `samehere presets` lists them.")]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="TARGET",
        help="DEVICE[*GPUS][/CAPABILITY][@TOOLCHAIN][:SETTING=VALUE,…]; repeat it for more targets.",
    ),
]
Include = Annotated[
    list[str] | None, typer.Option(metavar="PATTERN", help="Targets to add, such as cuda:deterministic.")
]
Exclude = Annotated[
    list[str] | None, typer.Option(metavar="PATTERN", help="Targets to leave out, such as 'cpu:*'.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan and its cost; run nothing.")]
Repeats = Annotated[
    int | None,
    typer.Option(help="Exactly this many attempts of each cell; default: as many as the verdict needs."),
]
Title = Annotated[str, typer.Option(help="A title, instead of the report's own.")]
ExitCode = Annotated[
    bool,
    typer.Option("--exit-code", help="Exit status for `git bisect run`: 0 absent, 1 seen, 125 can't tell."),
]
MostAttempts = Annotated[int, typer.Option(help="Stop after this many attempts, with the answer so far.")]
BundleFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Also write the run into FILE, for `samehere import` elsewhere."),
]


@reports.command(
    short_help="Run the script of a report, and print the answer.",
    epilog=(
        "Example: samehere reproduce report.md "
        "--target cpu@torch-2.13:cpu-isa=compatible,threads=1 --target cpu --repeats 5"
    ),
)
def reproduce(
    file: File,
    *,
    form: As = None,
    preset: Preset = None,
    targets: Targets = None,
    include: Include = None,
    exclude: Exclude = None,
    dry_run: DryRun = False,
    repeats: Repeats = None,
    claim: Claim = None,
    claim_file: ClaimFile = None,
    ignore_needs: IgnoreNeeds = None,
    environment: EnvironmentFields = None,
    title: Title = "",
    server: Server = None,
    token: ServiceToken = None,
    exit_code: ExitCode = False,
    isolation: Isolation = None,
    wall: Wall = None,
    memory: Memory = None,
    bundle: BundleFile = None,
    sign: Sign = None,
    json: Json = False,
) -> None:
    """Run the script of a report in a sandbox, on several targets, several times, and print the answer.

    Exit status: 0 any verdict, 2 bad input or option, 3 no result, 1 a fault of ours.
    """
    from app.command.machine_options import MachineOptions
    from app.command.reproduce import ReproduceOptions
    from app.command.reproduce import reproduce as run
    from app.targets.parse import parse_target
    from app.targets.planning.run_request import RunRequest

    options = ReproduceOptions(
        file=file,
        form=form_of(form),
        run=RunRequest(
            preset=preset,
            targets=tuple(map(parse_target, targets or ())) or None,
            repeats=repeats,
            include=tuple(include or ()),
            exclude=tuple(exclude or ()),
        ),
        dry_run=dry_run,
        claim=claim,
        claim_file=claim_file,
        ignore_needs=tuple(map(str, ignore_needs or ())),
        environment=tuple(environment or ()),
        title=title,
        as_json=json,
        server=server,
        token=token,
        exit_code=exit_code,
        machine=MachineOptions(isolation=isolation_of(isolation), wall_seconds=wall, memory_mib=memory),
        bundle=bundle,
        sign=sign,
    )
    raise typer.Exit(run(options))


@reports.command(
    epilog="Example: samehere explain script.py --json",
    short_help="Explain the numbers of a script: defect or rounding, which side is right, where it begins.",
)
def explain(
    file: File,
    *,
    form: As = None,
    targets: Targets = None,
    claim: Claim = None,
    claim_file: ClaimFile = None,
    server: Server = None,
    token: ServiceToken = None,
    isolation: Isolation = None,
    wall: Wall = None,
    memory: Memory = None,
    json: Json = False,
) -> None:
    """Run a script with its operations held against float64, and print the dossier of its numbers.

    No claim is needed. The dossier says which numbers are in question, which side is right and by how much,
    where a distance begins and grows, the cause with its test, and what is not known. Without --target it
    runs the preset `explain`; with --target, name the traced targets: cpu:trace=on.
    Exit status: 0 a dossier, 2 bad input or option, 3 no result, 1 a fault of ours.
    """
    from app.command.explain.explain import explain as run
    from app.command.machine_options import MachineOptions
    from app.command.reproduce import ReproduceOptions
    from app.targets.parse import parse_target
    from app.targets.planning.run_request import RunRequest

    options = ReproduceOptions(
        file=file,
        form=form_of(form),
        run=RunRequest(targets=tuple(map(parse_target, targets or ())) or None),
        claim=claim,
        claim_file=claim_file,
        as_json=json,
        server=server,
        token=token,
        machine=MachineOptions(isolation=isolation_of(isolation), wall_seconds=wall, memory_mib=memory),
    )
    raise typer.Exit(run(options))


@reports.command(
    epilog="Example: samehere bisect report.md --over numpy --from 1.26 --to 2.2",
    short_help="Find the version since which something happens.",
)
def bisect(
    file: File,
    *,
    over: Annotated[
        str,
        typer.Option(metavar="AXIS", help="Something with an order: a package, python, threads, cpu-isa."),
    ] = "torch",
    begin: Annotated[
        str | None,
        typer.Option("--from", metavar="VALUE", help="The beginning of the series; default: the oldest."),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="VALUE", help="Its end; default: the newest.")
    ] = None,
    toolchain: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only toolchains that are named; repeat it for more of them."),
    ] = None,
    target: Annotated[
        str, typer.Option(help="The device, and settings for all points, such as cpu:threads=1.")
    ] = "cpu",
    error: Annotated[float, typer.Option(help="The greatest probability of a wrong answer.")] = 0.01,
    most_attempts: MostAttempts = 500,
    form: As = None,
    claim: Claim = None,
    claim_file: ClaimFile = None,
    isolation: Isolation = None,
    wall: Wall = None,
    memory: Memory = None,
    server: Server = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """Find the version (or number of threads, …) since which something happens, or in which it was fixed.

    The script may be flaky. Versions that can't be built or can't show the claim are skipped.
    Exit status: 0 any answer, 2 bad input, 3 no answer, 1 a fault of ours.
    """
    from app.command.bisect import BisectOptions
    from app.command.bisect import bisect as run
    from app.command.machine_options import MachineOptions

    options = BisectOptions(
        file=file,
        over=over,
        begin=begin,
        end=end,
        toolchains=tuple(toolchain or ()),
        target=target,
        error=error,
        most_attempts=most_attempts,
        form=form_of(form),
        claim=claim,
        claim_file=claim_file,
        machine=MachineOptions(isolation=isolation_of(isolation), wall_seconds=wall, memory_mib=memory),
        as_json=json,
        server=server,
        token=token,
    )
    raise typer.Exit(run(options))


@reports.command(
    epilog="Example: samehere read report.md --json",
    short_help="Show what is read from a report; run nothing.",
)
def read(
    file: File,
    *,
    form: As = None,
    claim: Claim = None,
    claim_file: ClaimFile = None,
    prompt: Annotated[
        bool,
        typer.Option("--prompt", help="Print what a model would be sent, as JSON; see docs/model-reader.md."),
    ] = False,
    answer: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Take the answer of a model to that prompt from a file."),
    ] = None,
    json: Json = False,
) -> None:
    """Show what is read from a report (scripts, claim, environment) and what is missing; run nothing."""
    from app.command.read import print_prompt, read_report

    if prompt:
        raise typer.Exit(print_prompt(file, form=form_of(form)))
    raise typer.Exit(
        read_report(
            file, form=form_of(form), claim=claim, claim_file=claim_file, answer_file=answer, as_json=json
        )
    )


@reports.command(
    epilog="Example: samehere probe > probe.py", short_help="Print probe.py, for a reporter's own Python."
)
def probe() -> None:
    """Print probe.py: one file that shows what a script does in a reporter's own Python."""
    from worker.contract.programs.probe import probe_program

    sys.stdout.write(probe_program())
