"""Which packages a report may bring into a toolchain: the operator's list, read once."""

from __future__ import annotations

import re
from pathlib import Path

# Widely used, from wheels, and of use in scripts about numbers. Whatever they do, they do inside the sandbox.
DEFAULT = (
    "einops networkx numpy opt-einsum packaging pandas pyparsing python-dateutil pytz pyyaml regex scikit-learn scipy six sympy tabulate "
    "threadpoolctl tqdm typing-extensions"
)
_PACKAGE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,60}[a-z0-9])?")
_MOST_FILE = 1024 * 1024


def read(said: str) -> frozenset[str]:
    """Names with spaces or commas between them, or the path of a file with one a line and `#` before remarks. Raise ValueError."""
    if said.startswith("/"):
        try:
            with Path(said).open(encoding="utf-8") as file:
                lines = file.read(_MOST_FILE).splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{said} can't be read") from error
        said = " ".join(line.partition("#")[0] for line in lines)
    names = [re.sub(r"[-_.]+", "-", name).lower() for name in re.split(r"[\s,]+", said) if name]
    wrong = next((name for name in names if not _PACKAGE.fullmatch(name)), None)
    if wrong is not None:
        raise ValueError(f"{wrong[:80]!r} is no name of a package")
    return frozenset(names)
