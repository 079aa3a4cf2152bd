"""The node's command line: `python -m worker` runs the stream of JSON lines.

`node`, `toolchain` and `doctor` are its commands.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Sequence

from pydantic import ValidationError

from worker.contract import Level
from worker.contract.broker.url import explain_refusal
from worker.contract.log import log_to_stderr
from worker.contract.own_process import leave_current_folder
from worker.machine.settings import NodeSettings
from worker.sandbox.isolation import private_mounts
from worker.toolchains import command as toolchain_command

# `samehere` sets it and then becomes this process, so that the help shows the name that the user typed.
PROGRAM_VARIABLE = "SAMEHERE_PROGRAM"
_BAD_INPUT = 2
_NO_SANDBOX = 3
_NO_BROKER = (
    "SAMEHERE_BROKER_URL is not set: the Redis or Valkey of the service, such as redis://10.0.0.1:6379/0"
)


def main(arguments: Sequence[str] | None = None) -> int:
    parsed = _parser().parse_args(arguments)
    if parsed.command != "toolchain":
        # The words of `toolchain` may be files of the current folder. Its own processes start elsewhere.
        leave_current_folder()
    try:
        settings = _settings(parsed)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # The message of a rule over several settings names them itself.
        where = f"SAMEHERE_{'.'.join(map(str, first['loc'])).upper()}: " if first["loc"] else ""
        return _complain(where + first["msg"].removeprefix("Value error, "))
    # The other commands are run by people, or by `samehere`, which shows the log to people.
    log_to_stderr("node", settings, form=None if parsed.command == "node" else "text")
    match parsed.command:
        case "node":
            return _node(settings)
        case "toolchain":
            return toolchain_command.run(settings, parsed)
        case "health":
            return _health(settings)
        case "doctor":
            return _doctor(settings, as_json=parsed.json)
        case _:
            from worker.node.stream import run_stream

            # Before a second thread starts, since all slots share these mounts of root's folders.
            private_mounts.enter()
            return run_stream(settings)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=os.environ.get(PROGRAM_VARIABLE, "python -m worker"),
        description="Attempts as lines of JSON on stdin, results as lines of JSON on stdout.",
    )
    _add_node_options(parser)
    parser.set_defaults(command="stream")
    commands = parser.add_subparsers(metavar="COMMAND")
    node = commands.add_parser(
        "node",
        help="a node on a broker",
        epilog="SAMEHERE_BROKER_URL=redis://10.0.0.1/0 %(prog)s --name lab-1",
    )
    _add_node_options(node)
    node.set_defaults(command="node")
    doctor = commands.add_parser(
        "doctor",
        help="shows the isolation, cards and toolchains of this machine, and how to fix problems",
        epilog="%(prog)s --json",
    )
    doctor.add_argument("--json", action="store_true")
    doctor.set_defaults(command="doctor")
    health = commands.add_parser(
        "health",
        help="ends with 0 if the broker has a heartbeat of this node, for a health check",
        epilog="SAMEHERE_NODE_NAME=lab-1 %(prog)s",
    )
    health.set_defaults(command="health")
    toolchain_command.add_parser(commands)
    return parser


def _add_node_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--slots", type=int, default=argparse.SUPPRESS, help="attempts at the same time")
    parser.add_argument("--name", default=argparse.SUPPRESS, help="the node's public name")
    parser.add_argument(
        "--level",
        choices=[level.value for level in Level],
        default=argparse.SUPPRESS,
        help="insist on this isolation level",
    )


def _settings(parsed: argparse.Namespace) -> NodeSettings:
    """Options win over the environment."""
    given = {"slots": "slots", "name": "node_name", "level": "level"}
    is_node = parsed.command in {"stream", "node"}
    return NodeSettings(
        **{
            field: getattr(parsed, option)
            for option, field in given.items()
            if is_node and hasattr(parsed, option)
        }
    )


def _node(settings: NodeSettings) -> int:
    from redis import RedisError

    from worker.machine.locks import LockFolderError
    from worker.node.service import run_node
    from worker.node.tasks import ForeignKeyError
    from worker.sandbox import SandboxUnavailableError

    if not settings.reveal_broker_url():
        return _complain(_NO_BROKER)
    # A broker that does not answer is waited for.
    with contextlib.suppress(RedisError):
        refusal = explain_refusal(settings.reveal_broker_url())
        if refusal:
            return _complain(refusal)
    try:
        private_mounts.enter()
        return run_node(settings)
    except ForeignKeyError as error:
        return _complain(str(error))
    except (SandboxUnavailableError, LockFolderError) as error:
        _complain(str(error))
        return _NO_SANDBOX


def _health(settings: NodeSettings) -> int:
    from worker.node.health import problem_of

    if not settings.reveal_broker_url():
        return _complain(_NO_BROKER)
    problem = problem_of(settings)
    if problem is not None:
        sys.stderr.write(problem + "\n")
    return 0 if problem is None else 1


def _doctor(settings: NodeSettings, *, as_json: bool) -> int:
    from worker.node.doctor import examine, is_usable

    examination = examine(settings)
    if as_json:
        _say(json.dumps(examination.as_json(), indent=1))
    else:
        _say(f"level: {examination.level or 'none'}; {examination.means}")
        if examination.more:
            _say(f"to get more: {examination.more}")
        for check in examination.checks:
            cure = f"; {check.cure}" if check.cure else ""
            _say(f"{'ok' if check.ok else 'NO'}  {check.name}: {check.found}{cure}")
    return 0 if is_usable(examination, named=settings.level) else 1


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _complain(text: str) -> int:
    sys.stderr.write(text + "\n")
    return _BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
