"""The command line: `samehere reproduce`, `read`, `serve`, `token`, and the node's commands."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated, Literal

import typer

from app.command.matrices import application as matrices
from app.command.service.exit_status import status_of_error
from app.command.terminal.consoles import errors
from app.errors import SamehereError

application = typer.Typer(
    name="samehere",
    help="Settles bug reports on real hardware: does it happen, where, how often, and is it a defect or rounding?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
tokens = typer.Typer(help="Tokens of the service's API.", no_args_is_help=True, rich_markup_mode=None)
application.add_typer(tokens, name="token")
application.add_typer(matrices)

PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


class FormName(StrEnum):
    """What a file holds."""

    SCRIPT = "script"
    REPORT = "report"


class IsolationName(StrEnum):
    """The isolation that can be named: only what is never taken by itself."""

    LANDLOCK = "landlock+seccomp"
    LIMITS_ONLY = "limits-only"


class ScopeName(StrEnum):
    """What a token may do; each includes the ones before it."""

    READ = "read"
    SUBMIT = "submit"
    MAINTAIN = "maintain"
    ADMIN = "admin"


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A .py or .md file, an issue as .json, or - for standard input.",
        show_default=False,
    ),
]
As = Annotated[
    FormName | None, typer.Option("--as", help="What FILE holds; default: by its name, else by its content.")
]
ServiceToken = Annotated[
    str | None,
    typer.Option(
        "--token",
        help="A token of that service; better by the variable.",
        envvar="SAMEHERE_TOKEN",
        show_envvar=True,
    ),
]
Server = Annotated[
    str | None, typer.Option(metavar="URL", help="Run on this service instead of this machine.")
]
OtherServer = Annotated[
    str | None, typer.Option("--server", metavar="URL", help="A service; default: the one of this machine.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@application.command(
    short_help="Run the script of a report, and say what was seen.",
    epilog="Example: samehere reproduce report.md --target cpu@torch-2.13:cpu-isa=compatible,threads=1 --target cpu --repeats 5",
)
def reproduce(
    file: File,
    *,
    form: As = None,
    preset: Annotated[
        str | None, typer.Option(help="A named set of targets; `samehere presets` lists them.")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TARGET", help="DEVICE[*GPUS][/CAPABILITY][@TOOLCHAIN][:SETTING=VALUE,…]; again for more."
        ),
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Targets to add, such as cuda:deterministic.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Targets to leave out, such as 'cpu:*'.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would run, and what it would take.")
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(help="Exactly this many attempts of each cell; default: as many as it takes."),
    ] = None,
    claim: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What should be seen, instead of what the report says.")
    ] = None,
    title: Annotated[str, typer.Option(help="A title, instead of the report's.")] = "",
    server: Server = None,
    token: ServiceToken = None,
    exit_code: Annotated[
        bool,
        typer.Option(
            "--exit-code", help="Exit status for `git bisect run`: 0 absent, 1 seen, 125 can't tell."
        ),
    ] = False,
    isolation: Annotated[
        IsolationName | None,
        typer.Option(
            help="Weaker isolation, or only limits and none: for a file of your own, where nothing better can be had."
        ),
    ] = None,
    wall: Annotated[float | None, typer.Option(metavar="SECONDS", help="Time limit of an attempt.")] = None,
    memory: Annotated[int | None, typer.Option(metavar="MIB", help="Memory limit of an attempt.")] = None,
    bundle: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the run there too, for `samehere import` elsewhere."),
    ] = None,
    json: Json = False,
) -> None:
    """Run the script of a report in a sandbox, on several targets, several times, and say what was seen.

    Exit status: 0 any verdict, 2 bad input or option, 3 no result, 1 a fault of ours.
    """
    from app.command.reproduce import Request
    from app.command.reproduce import reproduce as run
    from app.targets.parse import parse_target
    from app.targets.planning.run_request import RunRequest

    request = Request(
        file=file,
        form=_form(form),
        run=RunRequest(
            preset=preset,
            targets=tuple(map(parse_target, target or ())) or None,
            repeats=repeats,
            include=tuple(include or ()),
            exclude=tuple(exclude or ()),
        ),
        dry_run=dry_run,
        claim=claim,
        title=title,
        as_json=json,
        server=server,
        token=token,
        exit_code=exit_code,
        isolation=None if isolation is None else isolation.value,
        wall_seconds=wall,
        memory_mib=memory,
        bundle=bundle,
    )
    raise typer.Exit(run(request))


@application.command(
    epilog="Example: samehere bisect report.md --over numpy --from 1.26 --to 2.2",
    short_help="Find since which version something happens.",
)
def bisect(
    file: File,
    *,
    over: Annotated[
        str, typer.Option(metavar="AXIS", help="What has an order: a package, python, threads, cpu-isa.")
    ] = "torch",
    begin: Annotated[
        str | None,
        typer.Option("--from", metavar="VALUE", help="Where the series begins; default: the oldest."),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="VALUE", help="Where it ends; default: the newest.")
    ] = None,
    toolchain_: Annotated[
        list[str] | None,
        typer.Option(
            "--toolchain", metavar="NAME", help="Only this toolchain and the others named; again for more."
        ),
    ] = None,
    target: Annotated[
        str, typer.Option(help="The device, and settings that hold everywhere, such as cpu:threads=1.")
    ] = "cpu",
    error: Annotated[float, typer.Option(help="The probability, at most, that the answer is wrong.")] = 0.01,
    most_attempts: Annotated[
        int, typer.Option(help="After so many attempts the answer is what is known by then.")
    ] = 500,
    form: As = None,
    claim: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What should be seen, instead of what the report says.")
    ] = None,
    isolation: Annotated[
        IsolationName | None,
        typer.Option(help="Weaker isolation, or only limits and none: for a file of your own."),
    ] = None,
    wall: Annotated[float | None, typer.Option(metavar="SECONDS", help="Time limit of an attempt.")] = None,
    memory: Annotated[int | None, typer.Option(metavar="MIB", help="Memory limit of an attempt.")] = None,
    server: Server = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """Find since which version (or up to which number of threads, …) something happens, or in which it was fixed.

    A reproducer may be flaky. What can't be built or can't show it is skipped. Exit status: 0 any answer, 2 bad input, 3 nothing could be
    told, 1 a fault of ours.
    """
    from app.command.bisect_report import Request
    from app.command.bisect_report import bisect as run

    request = Request(
        file=file,
        over=over,
        begin=begin,
        end=end,
        toolchains=tuple(toolchain_ or ()),
        target=target,
        error=error,
        most_attempts=most_attempts,
        form=_form(form),
        claim=claim,
        isolation=None if isolation is None else isolation.value,
        wall_seconds=wall,
        memory_mib=memory,
        as_json=json,
        server=server,
        token=token,
    )
    raise typer.Exit(run(request))


@application.command(
    epilog="Example: samehere read report.md --json",
    short_help="Show what is taken from a report; nothing is run.",
)
def read(file: File, *, form: As = None, json: Json = False) -> None:
    """Show what is taken from a report (scripts, claim, environment) and what would be asked; nothing is run."""
    from app.command.read_report import read_report

    raise typer.Exit(read_report(file, form=_form(form), as_json=json))


@application.command(
    epilog="Example: samehere export 01k1v3q4x5y6z7a8b9c0d1e2f3 -o run.json --server https://samehere.example",
    short_help="Take a run out of a service, as one file.",
)
def export(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The id of a run that ended.", show_default=False)
    ],
    *,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write it; default: standard output."),
    ] = None,
    server: OtherServer = None,
    token: ServiceToken = None,
) -> None:
    """Take a run out of a service as a bundle: one file with the report, every attempt and every environment."""
    from app.command.exchange import export as run_export

    raise typer.Exit(run_export(run, out=out, server=server, token=token))


@application.command(
    "import",
    epilog="Example: samehere import run.json --by 'Ada, who has the card' --server https://samehere.example",
    short_help="Give such a file to a service.",
)
def import_bundle(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A bundle, or - for standard input.", show_default=False)
    ],
    *,
    by: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who contributes it; with a token its name stands beside."),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The report it belongs to; default: found by its text or address."),
    ] = None,
    server: OtherServer = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """Give a bundle to a service. It is judged anew there, marked as contributed, and decides no verdict alone; twice is harmless."""
    from app.command.exchange import bring

    raise typer.Exit(bring(file, by=by, report=report, server=server, token=token, as_json=json))


@application.command(
    epilog="Example: samehere import-issues issues.json --server https://samehere.example",
    short_help="Submit a tracker's issues, and print what is new.",
)
def import_issues(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="The JSON of `gh issue list --json …`, or - for standard input.",
            show_default=False,
        ),
    ],
    *,
    preset: Annotated[
        str | None, typer.Option(help="A named set of targets, instead of the service's default.")
    ] = None,
    told: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Remembers what was told; default: FILE.told.json beside the issues."
        ),
    ] = None,
    server: OtherServer = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """Submit the issues of a tracker behind all that others wait for, and print only what is new since the last time.

    The JSON is that of `gh issue list --limit 1000 --json number,title,body,url,author,comments,state`; fields may be missing. Closed
    issues are not run. Again with the same issues: nothing is run twice.
    """
    from app.command.import_issues import import_issues as run

    raise typer.Exit(run(file, server=server, token=token, preset=preset, told_file=told, as_json=json))


@application.command(epilog="Example: samehere serve --port 8080", short_help="Start the service and a node.")
def serve(
    *,
    host: Annotated[
        str | None, typer.Option(help="Address of the web; any but loopback is refused until a token exists.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port of the web; 0 takes a free one.")] = None,
    no_node: Annotated[bool, typer.Option("--no-node", help="Without a node on this machine.")] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Beside the ordinary one, with recorded runs as its history.")
    ] = False,
) -> None:
    """Start the service: web, recorder, dispatcher, beat and a node, with a Postgres and a Valkey of their own."""
    from app.command.service.serve import serve as run

    raise typer.Exit(run(host=host, port=port, no_node=no_node, demo=demo))


@application.command(
    context_settings=PASS_ON, add_help_option=False, short_help="Offer this machine to a service."
)
def node(words: typer.Context) -> None:
    """Offer this machine to a service, as a node."""
    _become_worker("node", words)


@application.command(
    context_settings=PASS_ON, add_help_option=False, short_help="Make and list the interpreters for scripts."
)
def toolchain(words: typer.Context) -> None:
    """Build, adopt, list and remove the interpreters that scripts run in."""
    _become_worker("toolchain", words)


@application.command(
    context_settings=PASS_ON, add_help_option=False, short_help="Say what this machine can do as a node."
)
def doctor(words: typer.Context) -> None:
    """Say what this machine can do as a node, and what is missing."""
    _become_worker("doctor", words)


@application.command(
    epilog="Example: samehere probe > probe.py", short_help="Print probe.py, for a reporter's own Python."
)
def probe() -> None:
    """Print probe.py: one file that shows what a script does in a reporter's own Python."""
    from worker.contract.programs.probe import probe_program

    sys.stdout.write(probe_program())


@application.command(
    epilog="Example: samehere judge-again --all", short_help="Show which verdicts flip by the rules of today."
)
def judge_again(
    *,
    report: Annotated[str | None, typer.Option(metavar="ID", help="The runs of one report.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All finished runs.")] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="Keep the new verdicts; without it they are only shown.")
    ] = False,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why, with --apply; kept and shown.")
    ] = None,
    json: Json = False,
) -> None:
    """Judge the stored attempts of this service by the rules of today, and show which verdicts flip."""
    from app.command.judge_again import judge_again as run

    raise typer.Exit(run(report=report, every=every, apply=apply, reason=reason, as_json=json))


@tokens.command(
    "create", epilog="Example: samehere token create --name triage-bot --scope read --scope submit"
)
def create_token(
    *,
    scope: Annotated[list[ScopeName], typer.Option(help="What it may do; again for more.")],
    name: Annotated[str, typer.Option(help="Whose it is.")] = "token",
    json: Json = False,
) -> None:
    """Make a token. It is printed once, and kept as a digest only."""
    from app.command.token import create

    create(name, scope, as_json=json)


@tokens.command("list", epilog="Example: samehere token list --json")
def list_tokens(*, json: Json = False) -> None:
    """Show the tokens there are, without their secrets."""
    from app.command.token import show_all

    show_all(as_json=json)


@tokens.command("revoke", epilog="Example: samehere token revoke 06b4k1m3…")
def revoke_token(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As `token list` shows it.")],
) -> None:
    """Make a token invalid."""
    from app.command.token import revoke

    revoke(token_id)


def _form(name: FormName | None) -> Literal["auto", "script", "report"]:
    return "auto" if name is None else "script" if name is FormName.SCRIPT else "report"


def _become_worker(command: str, context: typer.Context) -> None:
    from app.command.node_work import become_worker

    become_worker([command, *context.args])


def main() -> None:
    """The entry point: errors that we know are one line each."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that lacks a character must not end the answer.
            stream.reconfigure(errors="backslashreplace")
    try:
        application()
    except SamehereError as error:
        errors().print(f"samehere: {error.message}", style="red", soft_wrap=True)
        sys.exit(status_of_error(error))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
