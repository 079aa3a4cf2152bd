"""Runs pip in a toolchain's Python and forbids it to start programs, so that no package's build code runs.

`--only-binary` is not enough: it does not apply to a dependency that a wheel names by its address. The first
argument is the path of pip's own runner. Python 3.8 syntax.
"""

import os
import runpy
import sys

# Programs that pip may start; keyring gives it credentials.
ALLOWED = {"keyring"}


def refuse(event: str, arguments: "tuple[object, ...]") -> None:
    """An audit hook that raises PermissionError if pip starts a program."""
    if event in {"os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system"}:
        raise PermissionError("pip may not start programs here: samehere installs only wheels")
    if event == "subprocess.Popen" and os.path.basename(str(arguments[0])) not in ALLOWED:
        # pip also works without optional programs such as lsb_release.
        program = os.path.basename(str(arguments[0]))
        raise PermissionError("pip may not start %s: samehere installs only wheels" % program)


if __name__ == "__main__":
    runner = sys.argv.pop(1)
    sys.addaudithook(refuse)
    runpy.run_path(runner, run_name="__main__")
