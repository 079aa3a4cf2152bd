"""Ends a warm attempt in which the script does something that a warm start would have been too late for.

`pause.py` loads it. The node then runs the attempt again from a cold start.
"""

import os
import sys

# The exit status of a process that ended itself so. `worker.warm.starts` knows the same number.
TRIPPED = 121
# Audit events of functions that show how a forked process differs from one that started by itself.
OBSERVERS = ("gc.get_objects", "gc.get_referrers", "gc.get_referents")
# Audit events of functions that create a path, with the index of the path among the arguments.
PATH_MAKERS = {"open": 0, "os.mkdir": 0, "os.rename": 1, "os.link": 1, "os.symlink": 1}


def may_change_import(event, arguments, imported):
    """Whether an event creates a path at which a cold start would find one of these modules instead.

    `event` and `arguments` are those of an audit hook, `imported` holds names of top-level modules.
    """
    path = arguments[PATH_MAKERS[event]]
    if not isinstance(path, (str, bytes)) or (
        event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR)
    ):
        return False
    stem, _, suffix = os.fsdecode(path).rpartition("/")[2].partition(".")
    return stem in imported and (suffix.endswith(("py", "pyc", "so")) or (event != "open" and not suffix))


def make_trip(channel):
    """A function that reports `tripped` and ends this process at once."""
    # Stored now, before the script can replace them.
    leave, write = os._exit, os.write

    def trip():
        try:
            write(channel.fd, b'{"kind": "tripped"}\n')
        finally:
            leave(TRIPPED)

    return trip


def stretch(trip, *, roots, read_at_start, imported):
    """Call `trip` when the script does such a thing; torch's own code may do it.

    `roots`: site-packages folders, each with a `/` at its end. `read_at_start`: prefixes of environment
    variables that libraries read when they start. `imported`: names of the top-level modules that are
    imported by now.
    """
    getframe, package = sys._getframe, tuple(root + "torch" + os.sep for root in roots)

    def by_torch():
        frame = getframe(2)
        while frame is not None and frame.f_code.co_filename.endswith(("/os.py", "<frozen os>")):
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename.startswith(package)

    def hook(event, arguments):
        if event in ("os.putenv", "os.unsetenv"):
            name = arguments[0]
            if os.fsdecode(name).startswith(read_at_start) and not by_torch():
                trip()
        elif event in OBSERVERS and not by_torch():
            trip()
        elif event in PATH_MAKERS and may_change_import(event, arguments, imported) and not by_torch():
            trip()

    sys.addaudithook(hook)
