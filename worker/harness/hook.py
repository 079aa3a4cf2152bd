"""Starts the harness when there is one, which is only so inside a sandbox; written into every toolchain as `samehere_hook`."""

import os


def start():
    path = "/run/samehere/harness.py"
    try:
        if not os.path.exists(path):
            return
        with open(path, "rb") as file:
            source = file.read()
        exec(compile(source, path, "exec"), {"__name__": "samehere_harness"})  # noqa: S102
    except Exception:
        # Whatever is wrong with us, the script runs as it would without us.
        return
