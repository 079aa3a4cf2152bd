"""What the sandbox adds to a cold run by hand: both in turn, the medians compared.

python bench/sandbox_overhead.py PYTHON [ROUNDS]   (PYTHON of a toolchain with torch)
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from worker.sandbox import Bind, Sandbox, SandboxJob

SCRIPT = "import torch\nprint((torch.ones(64, 64) @ torch.ones(64, 64)).sum().item())\n"


def binds_of(python: str) -> tuple[Bind, ...]:
    """The toolchain's own folder and that of the interpreter it was made from."""
    prefixes = subprocess.check_output([python, "-c", "import sys; print(sys.prefix, sys.base_prefix, sep='\\n')"], text=True).splitlines()
    return tuple(Bind(prefix, prefix) for prefix in dict.fromkeys(prefixes))


def main() -> None:
    python, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 15
    binds = binds_of(python)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        sandbox = Sandbox(slot=0, home=Path(folder))
        script = Path(folder, "script.py")
        script.write_text(SCRIPT)
        job = SandboxJob(argv=(python, "/home/u/script.py"), files={"/home/u/script.py": SCRIPT.encode()}, binds=binds)
        nothing = SandboxJob(argv=("/usr/bin/env", "true"))
        taken: dict[str, list[float]] = {"by hand": [], "sandbox": [], "/usr/bin/env true in the sandbox": []}
        for _ in range(rounds + 1):
            for name, run in (
                ("by hand", lambda: subprocess.run([python, str(script)], check=True, capture_output=True)),
                ("sandbox", lambda: sandbox.run(job, cancelled=threading.Event())),
                ("/usr/bin/env true in the sandbox", lambda: sandbox.run(nothing, cancelled=threading.Event())),
            ):
                began = time.perf_counter()
                run()
                taken[name].append(time.perf_counter() - began)
        base = statistics.median(taken["by hand"][1:])
        print(f"level {sandbox.level.value}, {rounds} rounds")
        for name, times in taken.items():
            median = statistics.median(times[1:])
            print(f"{name:34} median {median * 1000:7.1f} ms   least {min(times[1:]) * 1000:7.1f} ms   {median / base:6.3f} of by hand")


if __name__ == "__main__":
    main()
