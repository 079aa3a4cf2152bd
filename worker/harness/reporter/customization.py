"""Starts the harness in the process of a reporter's script.

`program.py` writes it as `sitecustomize`, first on the path.

The report goes to a file, line by line: not every system can hand on a descriptor, and the script must not
meet ours. `program.py` writes its config as a Python literal to the file `watched` beside it:

    path     str | None  the script's own PYTHONPATH
    sources  str         folder with `watch.py`, `values.py` and `elements.py`
    report   str         path of the file for the report
    bytes    int         bytes that the report may have
"""

import os
import sys


class File:
    """A report channel that appends to a file; has the interface of `watch.Channel`."""

    # Any number from 0 on means that there is a channel.
    fd = 0

    def __init__(self, path):
        self.path, self.pid, self.sent = path, os.getpid(), 0

    def is_ours(self):
        """Whether this is the process that opened the channel, and not a fork of it."""
        return os.getpid() == self.pid

    def send(self, message):
        """Write one message, a dict, as a line of JSON."""
        import json

        line = json.dumps(message, allow_nan=False) + "\n"
        self.sent += len(line)
        with open(self.path, "a", encoding="ascii") as file:
            file.write(line)


def start(folder):
    """Start the harness, after restoring `sys.path` and PYTHONPATH for the script and its child processes."""
    with open(os.path.join(folder, "watched"), encoding="utf-8") as file:
        # `program.py` wrote it. Importing json here would show in the script's sys.modules.
        config = eval(file.read(), {"__builtins__": {}})  # noqa: S307
    if config["path"] is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = config["path"]
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]
    names = {"__name__": "samehere_customization"}
    source = os.path.join(config["sources"], "watch.py")
    with open(source, "rb") as file:
        exec(compile(file.read(), source, "exec"), names)  # noqa: S102
    # `watch.py` loads the other programs from here.
    names["FOLDER"] = os.path.join(config["sources"], "")
    names["Watch"]().begin({"report_bytes": config["bytes"]}, File(config["report"]))


def import_own_customization():
    """Import the user's own `sitecustomize`, if there is one. This file took its name."""
    ours = sys.modules.pop("sitecustomize", None)
    try:
        __import__("sitecustomize")
    except ImportError:
        sys.modules["sitecustomize"] = ours


try:
    start(os.path.dirname(os.path.abspath(__file__)))
except Exception:
    # An error of the harness must not change how the script runs.
    pass
import_own_customization()
