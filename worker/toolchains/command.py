"""The words of `samehere toolchain`."""

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
    """Options may stand between positional words, as in `add NAME --python 3.11 REQUIREMENT`."""

    _asked = False

    # The signature is that of the base class, for the one way in which it is called here.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._asked:
            return super().parse_known_args(args, namespace)
        self._asked = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._asked = False


def add_parser(commands: Any) -> None:
    """Beside the node's other commands."""
    parser = commands.add_parser(
        "toolchain", help="the interpreters that scripts run in", epilog="%(prog)s list --json"
    )
    parser.set_defaults(command="toolchain")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=_AnyOrder)
    add = actions.add_parser("add", help="lock one, and build it from wheels", epilog=_EXAMPLE)
    add.add_argument("name")
    add.add_argument("requirements", nargs="*", metavar="REQUIREMENT")
    add.add_argument(
        "--python", default=None, help="version or path of the interpreter; default: the one that runs this"
    )
    add.add_argument(
        "--lock",
        type=Path,
        default=None,
        metavar="FILE",
        help="build exactly this; what `lock NAME` printed, - is stdin",
    )
    add.add_argument(
        "--no-build", action="store_true", help="only lock it: it is built when it is first needed"
    )
    adopt = actions.add_parser(
        "adopt",
        help="use an environment that is there",
        epilog="%(prog)s torch-2.11-cu130 --python /opt/torch/.venv/bin/python3",
    )
    adopt.add_argument("name")
    adopt.add_argument("--python", type=Path, required=True, help="the environment's interpreter")
    build = actions.add_parser(
        "build", help="build what is locked and not built", epilog="%(prog)s torch-2.13-cpu"
    )
    build.add_argument("names", nargs="+", metavar="NAME")
    lock = actions.add_parser(
        "lock", help="print the lock, as a pylock.toml", epilog="%(prog)s torch-2.13-cpu > pylock.torch.toml"
    )
    lock.add_argument("name")
    listing = actions.add_parser("list", help="name, state, packages, interpreter", epilog="%(prog)s --json")
    listing.add_argument("--json", action="store_true")
    remove = actions.add_parser(
        "remove", help="forget one; `prune` gives back its disk", epilog="%(prog)s torch-2.13-cpu"
    )
    remove.add_argument("names", nargs="+", metavar="NAME")
    prune = actions.add_parser(
        "prune", help="remove what was not used for long; locks stay", epilog="%(prog)s --unused-for 30d"
    )
    prune.add_argument(
        "--unused-for",
        type=_seconds,
        default=_seconds("30d"),
        metavar="TIME",
        help="such as 12h, 30d or 0d; default: 30d",
    )
    prune.add_argument("--json", action="store_true")


def run(settings: NodeSettings, parsed: argparse.Namespace) -> int:
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
            raise ToolchainError("Give either requirements or a lock.")
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
            f"There is no lock of {name}: it is not there, or adopted, or of an older version (samehere toolchain build)."
        )
    if recipe.base and store.read_recipe(recipe.base) is None:
        raise ToolchainError(
            f"The lock of {name} is not whole: {recipe.base}, to which it adds packages, has none."
        )
    _say(write_lock(recipe.lock).rstrip("\n"))


def _prune(store: ToolchainStore, parsed: argparse.Namespace) -> None:
    from dataclasses import asdict

    from worker.toolchains.collect import prune

    done = prune(store, unused_seconds=parsed.unused_for)
    if parsed.json:
        _say(json.dumps(asdict(done)))
    else:
        named = f" ({', '.join(done.names)})" if done.names else ""
        _say(
            f"removed: {done.environments} toolchains{named}, {done.packages} packages, {done.bytes / 1e6:.1f} MB"
        )


def _list(found: Sequence[ToolchainFacts], *, as_json: bool) -> None:
    if as_json:
        _say(json.dumps([facts.model_dump(mode="json") for facts in found], indent=1))
        return
    for facts in found:
        detail = facts.detail.splitlines()[-1] if facts.detail else ""
        _say(f"{facts.name:24} {facts.state:9} torch {facts.torch or '-':16} {facts.python or detail}")


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    if found is None:
        raise argparse.ArgumentTypeError("a number and s, m, h, d or w, such as 30d")
    return float(int(found[1]) * _UNITS[found[2]])


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
