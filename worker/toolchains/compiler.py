"""Compiles modules to bytecode, the same bytes each time: runs by path in a toolchain's own Python, and imports none of what it compiles.

What marshal writes depends on what else the process holds. So a file is compiled in a process of its own kind: the same files before it in
the same order, with the same hash seed, whatever the number of cores. Python 3.8 syntax.
"""

import importlib.util
import json
import os
import sys
import warnings

# How many processes share a package: a constant, since another number would give other bytes.
PARTS = 8


def compile_part(names: "list[str]", shown: str, part: int) -> None:
    """Every PARTS-th of the named files, for the folder in which they will be seen; what this Python can't compile stays as it is."""
    from py_compile import PycInvalidationMode, compile  # noqa: A004

    warnings.simplefilter("ignore")
    for name in names[part::PARTS]:
        try:
            cached = importlib.util.cache_from_source(name)
            # The folder is shown read-only and never changes: nothing has to be looked up before the bytecode is trusted.
            compile(
                name,
                cached,
                shown + "/" + name,
                doraise=True,
                invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
            )
        except Exception:
            continue


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    os.chdir(asked["folder"])
    compile_part(asked["names"], asked["shown"], asked["part"])
