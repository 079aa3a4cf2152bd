"""Compiles modules to bytecode with the same bytes each time.

Runs in a toolchain's Python; imports none of the modules.

The output of marshal depends on the objects in the process. So each process compiles the same files in the
same order with the same hash seed, whatever the number of cores. Python 3.8 syntax.

Standard input is a JSON object that `worker.toolchains.packages` writes: `folder` with the modules, their
`names` below it, `inside`: the folder's path for attempts, and `part`, the number of this process.
"""

import importlib.util
import json
import os
import sys
import warnings

# The number of processes for a package. Another number would give other bytes.
PARTS = 8


def compile_part(names: "list[str]", inside: str, part: int) -> None:
    """Compile every PARTS-th file, with `inside` as its folder in tracebacks.

    Skips files that this Python can't compile.
    """
    from py_compile import PycInvalidationMode, compile  # noqa: A004

    warnings.simplefilter("ignore")
    for name in names[part::PARTS]:
        try:
            cached = importlib.util.cache_from_source(name)
            # The files never change, so Python need not check them before it trusts the bytecode.
            compile(
                name,
                cached,
                inside + "/" + name,
                doraise=True,
                invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
            )
        except Exception:
            continue


if __name__ == "__main__":
    compile_request = json.load(sys.stdin)
    os.chdir(compile_request["folder"])
    compile_part(compile_request["names"], compile_request["inside"], compile_request["part"])
