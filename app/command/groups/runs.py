"""Commands about runs on a service: presets, cells, bundles and whole trackers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from app.command.groups.options import GROUP_SETTINGS, Json, OtherServer, ServiceToken, Sign

runs = typer.Typer(**GROUP_SETTINGS)

Run = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.", show_default=False)]


class CellsName(StrEnum):
    """The cells to run again."""

    FAILED = "failed"
    UNDECIDED = "undecided"
    ALL = "all"


@runs.command(epilog="Example: samehere presets --json", short_help="List the named sets of targets.")
def presets(
    *,
    server: Annotated[str | None, typer.Option(metavar="URL", help="The presets of this service.")] = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """List the named sets of targets: ours, and your own from the file that SAMEHERE_PRESETS names."""
    from app.command.presets import show_presets

    raise typer.Exit(show_presets(server=server, token=token, as_json=json))


@runs.command(
    epilog="Example: samehere cancel 01k1v3q4x5y6z7a8b9c0d1e2f3 --cell 01k1v3q4x5y6z7a8b9c0d1e2f4",
    short_help="Stop a run, or one cell of it.",
)
def cancel(
    run: Run,
    *,
    cell: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Stop only this cell, by the id of its job; the others go on."),
    ] = None,
    server: OtherServer = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """Stop a run, or one cell of it. Recorded attempts stay."""
    from app.command import cells

    raise typer.Exit(cells.cancel(run, cell=cell, server=server, token=token, as_json=json))


@runs.command(
    epilog="Example: samehere rerun 01k1v3q4x5y6z7a8b9c0d1e2f3 --which failed",
    short_help="Run cells of a run again.",
)
def rerun(
    run: Run,
    *,
    which: Annotated[
        CellsName,
        typer.Option(
            help=(
                "failed: stopped, not recorded or not served; "
                "undecided: these, and cells that can't show the claim; all: a new run."
            )
        ),
    ] = CellsName.FAILED,
    server: OtherServer = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """Run cells of a run again. Their recorded attempts stay, but no longer count."""
    from app.command import cells

    raise typer.Exit(cells.rerun(run, which=which.value, server=server, token=token, as_json=json))


@runs.command(
    "add-cell",
    epilog="Example: samehere add-cell 01k1v3q4x5y6z7a8b9c0d1e2f3 cpu@torch-2.13-cu130",
    short_help="Add a target to a run.",
)
def add_cell(
    run: Run,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="As for reproduce --target.", show_default=False)
    ],
    *,
    server: OtherServer = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """Add a missing target to a run. The run is open again until it is judged."""
    from app.command import cells

    raise typer.Exit(cells.add_cell(run, target, server=server, token=token, as_json=json))


@runs.command(
    epilog="Example: samehere export 01k1v3q4x5y6z7a8b9c0d1e2f3 -o run.json --server https://samehere.example",
    short_help="Write a run of a service into one file.",
)
def export(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The id of a run that has ended.", show_default=False)
    ],
    *,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="The file to write; default: standard output."),
    ] = None,
    sign: Sign = None,
    server: OtherServer = None,
    token: ServiceToken = None,
) -> None:
    """Write a run of a service as a bundle: one file with the report, all attempts and all environments."""
    from app.command import bundles

    raise typer.Exit(bundles.export(run, out=out, sign=sign, server=server, token=token))


@runs.command(
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
        typer.Option(metavar="NAME", help="Your name, shown with the run; the token's name is shown too."),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The report of the run; default: found by its text or address."),
    ] = None,
    server: OtherServer = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """Give a bundle to a service. The service judges it again and marks it as contributed.

    A contributed run decides no verdict alone. A second import of the same bundle is harmless.
    """
    from app.command import bundles

    raise typer.Exit(
        bundles.import_bundle(file, by=by, report=report, server=server, token=token, as_json=json)
    )


@runs.command(
    "import-issues",
    epilog="Example: samehere import-issues issues.json --server https://samehere.example",
    short_help="Submit a tracker's issues, and print the news.",
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
    memory_file: Annotated[
        str | None,
        typer.Option(
            "--told",
            metavar="FILE",
            help="State file: what was reported before; default: FILE.told.json beside the issues.",
        ),
    ] = None,
    server: OtherServer = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """Submit the issues of a tracker at low priority, and print only the news since the last import.

    The JSON is that of `gh issue list --limit 1000 --json number,title,body,url,author,comments,state`;
    fields may be missing. Closed issues are not run. A second import of the same issues runs nothing again.
    """
    from app.command import import_issues as command

    raise typer.Exit(
        command.import_issues(
            file, server=server, token=token, preset=preset, memory_file=memory_file, as_json=json
        )
    )


@runs.command(
    epilog="Example: gh issue list --label stale --json url -q '.[].url' | samehere gate --file -",
    short_help="Say whether issues may be closed.",
)
def gate(
    issues: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ISSUE]…",
            help="Addresses of issues, OWNER/REPOSITORY#NUMBER, or ids of reports.",
            show_default=False,
        ),
    ] = None,
    *,
    file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="More issues, one a line; - is standard input."),
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="First run each report again that was not run today.")
    ] = False,
    server: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask this service; default: this machine's history.")
    ] = None,
    token: ServiceToken = None,
    json: Json = False,
) -> None:
    """Say whether issues may be closed: each still happens, is fixed, is not shown here, or is unknown.

    Without --run nothing is run: the answers rest on stored runs, and say when these ended.
    Exit status: 0 all may be closed, 4 one still happens, 5 none does, but one is not known to be fixed;
    2 bad input or option, 1 a fault of ours.
    """
    from app.command.agents.gate import ask_gate

    raise typer.Exit(ask_gate(issues or [], file=file, run=run, server=server, token=token, as_json=json))


@runs.command(
    "workflow-summary",
    epilog="Example: samehere workflow-summary run.json --bundle bundle.json",
    short_help="Write a run, or answers of the gate, as outputs and summary of a workflow's step.",
)
def workflow_summary(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="The output of `reproduce --json` or `gate --json`.", show_default=False
        ),
    ],
    *,
    bundle: Annotated[
        str | None, typer.Option(metavar="FILE", help="The bundle, named as an output if it exists.")
    ] = None,
) -> None:
    """Write a run, or answers of the gate, into GITHUB_OUTPUT and GITHUB_STEP_SUMMARY of a step.

    The Actions of this repository call it. Nothing of a report, a script or its output is written.
    """
    from app.command.doors.workflow import write_summary

    write_summary(file, bundle=bundle)


@runs.command(
    epilog="Example: samehere mcp --server https://samehere.example",
    short_help="Offer the tools of a service to a model, over standard input and output.",
)
def mcp(*, server: OtherServer = None, token: ServiceToken = None) -> None:
    """Offer the tools of a service to a model: an MCP server over standard input and output.

    An agent starts this command itself. The service has the same tools at its address /mcp.
    """
    from app.command.agents.mcp import serve_mcp

    raise typer.Exit(serve_mcp(server=server, token=token))
