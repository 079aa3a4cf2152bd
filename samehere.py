"""The command `samehere`, and the first program of every Python process that samehere starts.

The packages `app`, `worker` and `migrations` have common names. Here they are always the ones beside this
file, whatever Python would find first.

    python -P samehere.py -m MODULE [WORD…]     runs a module, like `python -m`, in a process of ours
    python -P samehere.py [WORD…]               is the command line
"""

from __future__ import annotations

import runpy
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PACKAGES = ("app", "worker", "migrations")
# Its name is its own, so nobody overwrites it. Programs of others import it, too.
CLIENT = "samehere_client"
# The first lines of each of our packages contain it.
MARK = "samehere"
_BAD_SETUP = 2


class OwnPackages:
    """Finds our packages in our folder."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """The place of one of our packages; None for any other module."""
        return PathFinder.find_spec(name, [str(FOLDER)]) if name in {*PACKAGES, CLIENT} else None


def replaced_packages() -> list[str]:
    """Our packages whose files another package has overwritten, or that are missing."""
    found = []
    for name in PACKAGES:
        try:
            is_ours = MARK in (FOLDER / name / "__init__.py").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            is_ours = False
        if not is_ours:
            found.append(name)
    return found


def main() -> None:
    """Run the command line; with `-m MODULE` first, that module."""
    replaced = replaced_packages()
    if replaced:
        sys.stderr.write(
            f"samehere: the package {' and '.join(replaced)} in {FOLDER} is not samehere's own: another "
            "package of this name was installed over it. Install samehere into a virtual environment of its "
            "own: python3 -m venv samehere-venv && samehere-venv/bin/pip install 'samehere[service,node]'\n"
        )
        sys.exit(_BAD_SETUP)
    sys.meta_path.insert(0, OwnPackages)
    if sys.argv[1:2] == ["-m"] and len(sys.argv) > 2:
        module = sys.argv[2]
        del sys.argv[1:3]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        return
    from app.cli import main as run_command_line

    run_command_line()


if __name__ == "__main__":
    main()
