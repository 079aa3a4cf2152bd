"""Starts the harness where there is one: inside a sandbox.

Every toolchain has this file as `samehere_hook`.
"""

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
        # An error of the harness must not change how the script runs.
        return
