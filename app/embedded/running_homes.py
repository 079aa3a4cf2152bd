"""The homes of this machine whose embedded Postgres runs, as their command lines say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PROC = Path("/proc")


def running_homes(proc: Path = PROC) -> list[Path]:
    """The homes with a running server, in order. Processes of other users count, too, if we may see them."""
    homes = set()
    for path in proc.glob("[0-9]*/cmdline"):
        try:
            argv = path.read_bytes().split(b"\0")
        except OSError:
            # It has ended, or we may not see it.
            continue
        home = home_in([word.decode(errors="replace") for word in argv])
        if home is not None:
            homes.add(home)
    return sorted(homes)


def home_in(argv: Sequence[str]) -> Path | None:
    """The home in the command line of an embedded Postgres; None for any other program."""
    if len(argv) < 3 or Path(argv[0]).name != "postgres" or argv[1] != "-D":
        return None
    folder = Path(argv[2]).parent
    is_ours = f"config_file={folder / 'postgresql.conf'}" in argv and folder.name == "postgres"
    return folder.parent if is_ours else None
