"""Runs pip in the Python that a toolchain is for, without leave to start programs: what it can't build from source can't run anything.

`--only-binary` does not hold for a dependency that a wheel names by an address. Python 3.8 syntax; the first argument is pip's own runner.
"""

import os
import runpy
import sys

# It asks for credentials.
ALLOWED = {"keyring"}


def refuse(event: str, arguments: "tuple[object, ...]") -> None:
    """An audit hook."""
    if event in {"os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system"}:
        raise PermissionError("pip may not start programs here: only wheels are taken")
    if event == "subprocess.Popen" and os.path.basename(str(arguments[0])) not in ALLOWED:
        # What pip asks for in passing, such as lsb_release, it can do without.
        raise PermissionError(
            "pip may not start %s: only wheels are taken" % os.path.basename(str(arguments[0]))
        )


if __name__ == "__main__":
    runner = sys.argv.pop(1)
    sys.addaudithook(refuse)
    runpy.run_path(runner, run_name="__main__")
