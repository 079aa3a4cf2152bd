"""The command `samehere toolchain`: arguments, actions and output."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worker.contract import ToolchainFacts
from worker.machine.settings import NodeSettings

if TYPE_CHECKING:
    from worker.toolchains.limits import Budget
    from worker.toolchains.store import ToolchainStore

_BAD_INPUT = 2
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_EXAMPLE = "%(prog)s torch-2.13-cpu --python 3.11 'torch==2.13.0' numpy"


class _AnyOrder(argparse.ArgumentParser):
    """Accepts options between positional arguments, as in `add NAME --python 3.11 REQUIREMENT`."""

    _is_parsing = False

    # The signature is that of the base class. The intermixed parser calls this method again.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._is_parsing:
            return super().parse_known_args(args, namespace)
        self._is_parsing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_parsing = False


def add_parser(commands: Any) -> None:
    """Add the command `toolchain` to the node's commands."""
    parser = commands.add_parser(
        "toolchain", help="manage the interpreters that scripts run in", epilog="%(prog)s list --json"
    )
    parser.set_defaults(command="toolchain")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=_AnyOrder)
    add = actions.add_parser("add", help="lock a toolchain, and build it from wheels", epilog=_EXAMPLE)
    add.add_argument("name")
    add.add_argument("requirements", nargs="*", metavar="REQUIREMENT")
    add.add_argument(
        "--python",
        default=None,
        help="version or path of the interpreter; default: the one that runs this command",
    )
    add.add_argument(
        "--lock",
        type=Path,
        default=None,
        metavar="FILE",
        help="use exactly this lock, a file that `lock NAME` printed; - is stdin",
    )
    add.add_argument(
        "--no-build", action="store_true", help="only lock it; the node builds it when an attempt needs it"
    )
    adopt = actions.add_parser(
        "adopt",
        help="use an existing environment",
        epilog="%(prog)s torch-2.11-cu130 --python /opt/torch/.venv/bin/python3",
    )
    adopt.add_argument("name")
    adopt.add_argument("--python", type=Path, required=True, help="the environment's interpreter")
    build = actions.add_parser(
        "build", help="build toolchains that are only locked", epilog="%(prog)s torch-2.13-cpu"
    )
    build.add_argument("names", nargs="+", metavar="NAME")
    lock = actions.add_parser(
        "lock", help="print the lock, as a pylock.toml", epilog="%(prog)s torch-2.13-cpu > pylock.torch.toml"
    )
    lock.add_argument("name")
    listing = actions.add_parser(
        "list", help="list names, states, packages and interpreters", epilog="%(prog)s --json"
    )
    listing.add_argument("--json", action="store_true")
    remove = actions.add_parser(
        "remove", help="remove a toolchain; `prune` frees its disk space", epilog="%(prog)s torch-2.13-cpu"
    )
    remove.add_argument("names", nargs="+", metavar="NAME")
    prune = actions.add_parser(
        "prune", help="remove builds that were long unused; locks stay", epilog="%(prog)s --unused-for 30d"
    )
    prune.add_argument(
        "--unused-for",
        type=_seconds,
        default=_seconds("30d"),
        metavar="TIME",
        help="a time such as 12h, 30d or 0d; default: 30d",
    )
    prune.add_argument("--json", action="store_true")


def run(settings: NodeSettings, parsed: argparse.Namespace) -> int:
    """Run the command. Returns the exit status: 2 with a message on stderr if the input is bad."""
    from worker.toolchains import ToolchainError, ToolchainStore

    try:
        _act(ToolchainStore(settings.toolchain_folder), settings, parsed)
    except ToolchainError as error:
        sys.stderr.write(f"{error}\n")
        return _BAD_INPUT
    return 0


def _act(store: ToolchainStore, settings: NodeSettings, parsed: argparse.Namespace) -> None:
    from worker.toolchains.adopt import adopt
    from worker.toolchains.build import rebuild
    from worker.toolchains.limits import Budget, BuildLimits

    budget = Budget(BuildLimits(seconds=settings.toolchain_seconds, bytes=settings.toolchain_bytes))
    match parsed.action:
        case "add":
            _add(store, parsed, budget)
        case "adopt":
            adopt(store, parsed.name, python=parsed.python)
            _say(f"{parsed.name} is ready")
        case "build":
            for name in parsed.names:
                rebuild(store, name, budget=budget)
                _say(f"{name} is ready")
        case "lock":
            _print_lock(store, parsed.name)
        case "remove":
            for name in parsed.names:
                store.remove(name)
                _say(f"{name} is removed")
        case "prune":
            _prune(store, parsed)
        case _:
            _list(store.list(), as_json=parsed.json)


def _add(store: ToolchainStore, parsed: argparse.Namespace, budget: Budget) -> None:
    from worker.toolchains import ToolchainError
    from worker.toolchains.build import add
    from worker.toolchains.locking.lock import read_lock

    lock = None
    if parsed.lock is not None:
        if parsed.requirements:
            raise ToolchainError("Give either requirements or a lock, not both.")
        try:
            lock = read_lock(
                sys.stdin.read() if str(parsed.lock) == "-" else parsed.lock.read_text(encoding="utf-8")
            )
        except (OSError, UnicodeDecodeError) as error:
            raise ToolchainError(f"{parsed.lock} can't be read.") from error
    add(
        store,
        parsed.name,
        requirements=parsed.requirements,
        python=parsed.python,
        lock=lock,
        build=not parsed.no_build,
        budget=budget,
    )
    _say(f"{parsed.name} is {'locked' if parsed.no_build and store.find(parsed.name) is None else 'ready'}")


def _print_lock(store: ToolchainStore, name: str) -> None:
    from worker.toolchains import ToolchainError
    from worker.toolchains.locking.lock import write_lock

    recipe = store.read_recipe(name)
    if recipe is None:
        raise ToolchainError(
            f"{name} has no lock. It does not exist, or it is adopted, or an older version built it: "
            "then run `samehere toolchain build`."
        )
    if recipe.base and store.read_recipe(recipe.base) is None:
        raise ToolchainError(
            f"The lock of {name} is not complete: it adds packages to {recipe.base}, which has no lock."
        )
    _say(write_lock(recipe.lock).rstrip("\n"))


def _prune(store: ToolchainStore, parsed: argparse.Namespace) -> None:
    from dataclasses import asdict

    from worker.toolchains.collect import prune

    pruned = prune(store, unused_seconds=parsed.unused_for)
    if parsed.json:
        _say(json.dumps(asdict(pruned)))
    else:
        names = f" ({', '.join(pruned.names)})" if pruned.names else ""
        counts = f"{pruned.environments} toolchains{names}, {pruned.packages} packages"
        _say(f"removed: {counts}, {pruned.bytes / 1e6:.1f} MB")


def _list(toolchains: Sequence[ToolchainFacts], *, as_json: bool) -> None:
    if as_json:
        _say(json.dumps([facts.model_dump(mode="json") for facts in toolchains], indent=1))
        return
    for facts in toolchains:
        detail = facts.detail.splitlines()[-1] if facts.detail else ""
        _say(f"{facts.name:24} {facts.state:9} torch {facts.torch or '-':16} {facts.python or detail}")


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    if match is None:
        raise argparse.ArgumentTypeError("a number and s, m, h, d or w, such as 30d")
    return float(int(match[1]) * _UNITS[match[2]])


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
