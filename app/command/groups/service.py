"""Commands of the service's operator: `serve`, `judge-again`, `read-again`, `dump`, `restore`, and keys."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from app.command.groups.options import GROUP_SETTINGS, Json

service = typer.Typer(**GROUP_SETTINGS)
tokens = typer.Typer(help="Tokens of the service's API.", **GROUP_SETTINGS)
service.add_typer(tokens, name="token")
node_keys = typer.Typer(help="Keys with which nodes reach the broker.", **GROUP_SETTINGS)
service.add_typer(node_keys, name="node-key")
Signing = Annotated[bool, typer.Option("--signing", help="The signing keys instead.")]
NodeName = Annotated[str, typer.Argument(metavar="NAME", help="The node's name, as in SAMEHERE_NODE_NAME.")]


class ScopeName(StrEnum):
    """The rights of a token; each includes the ones before it."""

    READ = "read"
    SUBMIT = "submit"
    MAINTAIN = "maintain"
    ADMIN = "admin"


@service.command(epilog="Example: samehere serve --port 8080", short_help="Start the service and a node.")
def serve(
    *,
    host: Annotated[
        str | None, typer.Option(help="Address of the web; any but loopback is refused until a token exists.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port of the web; 0 takes a free one.")] = None,
    no_node: Annotated[bool, typer.Option("--no-node", help="Don't start a node on this machine.")] = False,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Start a separate service, with recorded runs as its sample history."),
    ] = False,
) -> None:
    """Start the service: web, recorder, beat and a node, with its own Postgres and Valkey."""
    from app.command.service.serve import serve as run

    run(host=host, port=port, no_node=no_node, demo=demo)


@service.command(
    "judge-again",
    epilog="Example: samehere judge-again --all",
    short_help="Show which verdicts flip by today's rules.",
)
def judge_again(
    *,
    report: Annotated[str | None, typer.Option(metavar="ID", help="The runs of one report.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All finished runs.")] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="Store the new verdicts; without it they are only shown.")
    ] = False,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The reason, for --apply; stored and shown.")
    ] = None,
    json: Json = False,
) -> None:
    """Judge the stored attempts of this service by today's rules, and show which verdicts flip."""
    from app.command import rejudge

    raise typer.Exit(
        rejudge.judge_again(report=report, every=every, apply=apply, reason=reason, as_json=json)
    )


@service.command(
    "read-again",
    epilog="Example: samehere read-again --all --preview",
    short_help="Read stored reports again by today's rules.",
)
def read_again(
    *,
    report: Annotated[str | None, typer.Option(metavar="ID", help="One report.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All reports.")] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show what would change; store nothing.")
    ] = False,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The reason; stored with every claim that changes.")
    ] = None,
    after: Annotated[
        str | None, typer.Option(metavar="ID", help="Go on after this report, as an earlier call printed it.")
    ] = None,
    json: Json = False,
) -> None:
    """Read stored reports again by today's rules, and judge their stored attempts by the new claims."""
    from app.command import rejudge

    raise typer.Exit(
        rejudge.read_again(
            report=report, every=every, preview=preview, reason=reason, after=after, as_json=json
        )
    )


@service.command(epilog="Example: samehere dump samehere-2026-11-29.dump")
def dump(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")], *, json: Json = False
) -> None:
    """Write the whole database of this service into one file. The service may run."""
    from app.command import backup

    backup.dump(file, as_json=json)


@service.command(epilog="Example: samehere restore samehere-2026-11-29.dump")
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `samehere dump` wrote.")],
    *,
    json: Json = False,
) -> None:
    """Read a dump into an empty database, or into a new home. The service must not run."""
    from app.command import backup

    backup.restore(file, as_json=json)


@tokens.command(
    "create", epilog="Example: samehere token create --name triage-bot --scope read --scope submit"
)
def create_token(
    *,
    scope: Annotated[list[ScopeName], typer.Option(help="A right of the token; repeat it for more rights.")],
    name: Annotated[str, typer.Option(help="The name of its owner.")] = "token",
    json: Json = False,
) -> None:
    """Make a token. It is printed once, and stored as a digest only."""
    from app.command import tokens as command

    command.create(name, scope, as_json=json)


@tokens.command("list", epilog="Example: samehere token list --json")
def list_tokens(*, json: Json = False) -> None:
    """Show all tokens, without their secrets."""
    from app.command import tokens as command

    command.show_all(as_json=json)


@tokens.command("revoke", epilog="Example: samehere token revoke 06b4k1m3…")
def revoke_token(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As `token list` shows it.")],
) -> None:
    """Make a token invalid."""
    from app.command import tokens as command

    command.revoke(token_id)


@node_keys.command("create", epilog="Example: samehere node-key create lab-h100 > secrets/lab-h100")
def create_node_key(
    node: NodeName,
    *,
    signing: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Make its signing key instead; the private half goes into this new file.",
        ),
    ] = None,
    public: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Register a signing key from elsewhere, by its public half in PEM."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make the key of one node. It is printed once, and stored as a digest only, in the broker.

    A signing key is another one: whoever holds it vouches for the bundles that it signs.
    """
    if signing is not None or public is not None:
        from app.command.doors.signing import create

        create(node, private_file=signing, public_file=public, as_json=json)
        return
    from app.command import node_keys as command

    command.create(node, as_json=json)


@node_keys.command("list", epilog="Example: samehere node-key list")
def list_node_keys(*, signing: Signing = False, json: Json = False) -> None:
    """Show the nodes that have a key."""
    if signing:
        from app.command.doors.signing import show_all

        show_all(as_json=json)
        return
    from app.command import node_keys as command

    command.show_all(as_json=json)


@node_keys.command("revoke", epilog="Example: samehere node-key revoke lab-h100")
def revoke_node_key(node: NodeName, *, signing: Signing = False) -> None:
    """Make the key of a node invalid, and end its connections."""
    if signing:
        from app.command.doors.signing import revoke

        revoke(node)
        return
    from app.command import node_keys as command

    command.revoke(node)
