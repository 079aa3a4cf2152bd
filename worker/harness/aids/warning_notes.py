"""Notes the warnings that are shown while a script runs, without a filter or a hook that the script can see.

The interpreter makes a `warnings.WarningMessage` of each warning that its filters let through, right before
it shows it. Its constructor makes a note here and returns, so that no frame of ours is on the stack while
anything is shown. Warnings that the filters ignore are not noted: they are not shown without us either.
"""

import sys

SCRIPT = "/home/u/script.py"
# The limits of `worker.contract.observation`.
MOST_WARNINGS = 40
MOST_TEXT = 1000
MOST_NAME = 200
MOST_FRAMES = 200
MOST_LINE = 2**31 - 1


class Notes:
    """The warnings so far. Equal warnings of one place are one note with a count."""

    def __init__(self):
        self.notes = {}
        self.omitted = 0

    def take(self, message):
        """Note a WarningMessage that was just made."""
        # 0 is this function, 1 the constructor. Formatting a warning makes another message of it.
        frame = sys._getframe(2)
        if frame.f_globals.get("__name__") in ("warnings", "_py_warnings"):
            return
        category = message.category
        key = (
            name_of(category),
            next((base.__name__ for base in category.__mro__ if base.__module__ == "builtins"), ""),
            text_of(message.message),
            message.filename[:MOST_NAME] if type(message.filename) is str else "",
            line_of(message.lineno),
            script_line(frame),
        )
        if key in self.notes:
            self.notes[key] += 1
        elif len(self.notes) < MOST_WARNINGS:
            self.notes[key] = 1
        else:
            self.omitted += 1


def name_of(category):
    """The qualified name of a category, as a traceback writes types."""
    module = category.__module__
    plain = type(module) is not str or module in ("builtins", "__main__")
    return (category.__qualname__ if plain else module + "." + category.__qualname__)[:MOST_NAME]


def text_of(message):
    """The text of a warning; "" if code of the script would have to compose it."""
    parts = getattr(message, "args", ())
    return parts[0][:MOST_TEXT] if type(parts) is tuple and parts and type(parts[0]) is str else ""


def line_of(number):
    """A line number, 0 if it is none."""
    return number if type(number) is int and 0 < number <= MOST_LINE else 0


def script_line(frame):
    """The line of the script that led to this frame; 0 if there is none."""
    for _ in range(MOST_FRAMES):
        if frame is None:
            return 0
        if frame.f_code.co_filename == SCRIPT:
            return frame.f_lineno or 0
        frame = frame.f_back
    return 0


def watch(notes):
    """Have each warning noted from now on. The module `warnings` must be imported."""
    module = sys.modules.get("warnings")
    message = getattr(module, "WarningMessage", None)
    if message is None:
        return
    plain = message.__init__

    def noting(self, *arguments, **named):
        plain(self, *arguments, **named)
        try:
            notes.take(self)
        except Exception:
            pass

    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(noting, attribute, getattr(plain, attribute))
    # `torch.compile` leaves code of this file alone, and does not see that it is ours.
    noting.__code__ = noting.__code__.replace(co_filename=plain.__code__.co_filename)
    noting.__wrapped__ = plain
    message.__init__ = noting


def start(call_after_import):
    """Note warnings as soon as the script or a library imports `warnings`. Returns the notes."""
    notes = Notes()
    if "warnings" in sys.modules:
        watch(notes)
    else:
        call_after_import("warnings", lambda: watch(notes))
    return notes


def messages(notes):
    """The `warning` lines of the report and the `warnings` line."""
    for (category, base, text, file, line, of_script), count in list(notes.notes.items()):
        yield {
            "kind": "warning",
            "category": category,
            "base": base,
            "text": text,
            "file": file,
            "line": line,
            "script_line": of_script,
            "count": count,
        }
    yield {"kind": "warnings", "omitted": notes.omitted}
