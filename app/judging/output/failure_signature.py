"""What identifies a failure: a signal, or the exception's type and its message with everything masked that changes from run to run."""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Iterator

from worker.contract import ExceptionFacts, Outcome, Result

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_PATH = re.compile(r"(?:[A-Za-z]:\\|\.{0,2}/)[^\s'\"`:,)]{2,}")
# `2x3 and 3x4`: the shapes that torch names in its messages.
_SHAPE = re.compile(r"(?<![\w.])\d+(?:x\d+)+(?!\w)")
_QUOTES = str.maketrans('‘’“”`"', "''''''")
_NUMBER = re.compile(r"(?<![A-Za-z_])[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SPACE = re.compile(r"\s+")
_ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b|^Traceback \(most recent")
_WARNING = re.compile(r":\d+: (?P<type>(?:\w+\.){0,8}\w*Warning): (?P<message>.+)")
_TYPE = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*\.)*[A-Z][A-Za-z0-9_]*")

# A message of so many characters is no chance word.
_TELLING = 16
_LONGEST = 20_000
_LIMITED = {Outcome.TIMED_OUT, Outcome.OUTPUT_EXCEEDED, Outcome.OUT_OF_MEMORY}
# One failure under several names, by version or by module.
_SAME_TYPE = {
    "OutOfMemoryError": "OutOfMemoryError",
    "AcceleratorError": "AcceleratorError",
    "IOError": "OSError",
    "EnvironmentError": "OSError",
    "ModuleNotFoundError": "ImportError",
}
_SHELL_WORDS = {
    "SIGSEGV": "Segmentation fault",
    "SIGABRT": "Aborted",
    "SIGFPE": "Floating point exception",
    "SIGILL": "Illegal instruction",
    "SIGBUS": "Bus error",
}
# A newer, narrower type that older versions raised as RuntimeError, with the same message.
_NARROWED = {
    "OutOfMemoryError",
    "AcceleratorError",
    "TorchRuntimeError",
    "BackendCompilerFailed",
    "InternalTorchDynamoError",
}


def last_name(exception_type: str) -> str:
    """The type without its module; renamed types under one name."""
    name = exception_type.rsplit(".", 1)[-1].strip()
    return _SAME_TYPE.get(name, name)


def masked(message: str) -> str:
    """The message with addresses, paths, shapes and numbers masked and one kind of quotes, on one line, in lower case."""
    text = _ADDRESS.sub("<address>", message.translate(_QUOTES))
    text = _PATH.sub("<path>", text)
    text = _SHAPE.sub("<n>", text)
    text = _NUMBER.sub("<n>", text)
    return _SPACE.sub(" ", text).strip().rstrip(".").lower()


def same_type(claimed: str, seen: str) -> bool:
    """Whether the two names may be one failure; the message must then agree as well."""
    one, other = last_name(claimed), last_name(seen)
    return one == other or ({one, other} <= _NARROWED | {"RuntimeError"} and "RuntimeError" in {one, other})


def same_message(claimed: str, seen: str) -> bool:
    """Whether the seen message is the claimed one: the same once masked, or its beginning, or a whole line of it.

    An empty claimed message says nothing and agrees with any.
    """
    wanted = masked(claimed)
    if not wanted:
        return True
    whole = masked(seen)
    if _same_first_line(claimed, seen):
        return True
    if whole == wanted or _begins(whole, wanted):
        return True
    if len(whole) >= _TELLING and _begins(wanted, whole):
        # The reporter's sentence goes on where the message ends.
        return True
    wanted = wanted.removesuffix("...").removesuffix("…").rstrip()
    if len(wanted) >= 12 and _begins(whole, wanted):
        return True
    return len(wanted) >= 12 and any(_begins(masked(line), wanted) for line in seen.splitlines())


def _same_first_line(claimed: str, seen: str) -> bool:
    """Whether two messages of several lines begin alike; a line that only introduces what follows (`… raised:`) says nothing."""
    lines = [
        next((line.strip() for line in text.splitlines() if line.strip()), "") for text in (claimed, seen)
    ]
    return len(lines[0]) >= _TELLING and not lines[0].endswith(":") and masked(lines[0]) == masked(lines[1])


def _begins(text: str, beginning: str) -> bool:
    """Whether the text begins so, at the end of a word."""
    return text.startswith(beginning) and (
        len(text) == len(beginning) or not (text[len(beginning)].isalnum() and beginning[-1].isalnum())
    )


def matches_exception(claimed_type: str | None, claimed_message: str | None, seen: ExceptionFacts) -> bool:
    """Whether a seen exception is the claimed one, by type and by message."""
    if claimed_type is not None and not same_type(claimed_type, seen.type):
        return False
    if claimed_type is not None and {last_name(claimed_type), last_name(seen.type)} == {"OutOfMemoryError"}:
        # The rest of the message tells of the card, and every version words it in its own way.
        return True
    renamed = claimed_type is not None and last_name(claimed_type) != last_name(seen.type)
    if renamed and not (claimed_message or "").strip():
        return False
    return same_message(claimed_message or "", seen.message)


def exceptions_in(stderr: str) -> list[ExceptionFacts]:
    """Exceptions that a printed traceback ends with: what a child process or a thread raised."""
    found: list[ExceptionFacts] = []
    inside = False
    for line in stderr.splitlines():
        if line.startswith("Traceback (most recent call last)"):
            inside = True
        elif inside and line and not line[0].isspace():
            kind, _, message = line.partition(": ")
            if _TYPE.fullmatch(kind):
                found.append(ExceptionFacts(type=kind, message=message))
            inside = False
    return found


def warnings_in(stderr: str) -> list[ExceptionFacts]:
    """Warnings as Python prints them: `/home/u/script.py:2: UserWarning: message`."""
    found = (_WARNING.search(line[:_LONGEST]) for line in stderr.splitlines())
    return [ExceptionFacts(type=line["type"], message=line["message"]) for line in found if line]


def failures_of(result: Result) -> list[ExceptionFacts]:
    """Every exception that an attempt showed: the uncaught one, those of its children and threads, those it printed."""
    seen = result.observation
    raised = [] if seen.exception is None else [seen.exception, *exceptions_in(seen.exception.message)]
    return raised + exceptions_in(seen.stderr) + exceptions_in(seen.stdout)


def prints_exception(claimed_type: str | None, claimed_message: str | None, stdout: str) -> bool:
    """Whether the script caught the exception and printed it itself: its type and message, or a message that can't be chance."""
    wanted = masked(claimed_message or "")
    if not wanted:
        return False
    if claimed_type is None or len(wanted) >= _TELLING:
        return any(wanted in masked(line) for line in stdout.splitlines() if len(line) < _LONGEST)
    name = claimed_type.rsplit(".", 1)[-1]
    return any(matches_exception(name, claimed_message, facts) for facts in _named_in(stdout, name))


def _named_in(stdout: str, name: str) -> Iterator[ExceptionFacts]:
    for line in stdout.splitlines():
        before, found, after = line.partition(name)
        if found and not (before and (before[-1].isalnum() or before[-1] == "_")):
            yield ExceptionFacts(type=name, message=after.lstrip(" :('\""))


def printed_failure(result: Result) -> bool:
    """Whether an attempt that ended well printed a failure nevertheless."""
    seen = result.observation
    return bool(exceptions_in(seen.stderr)) or any(_ERROR.search(line) for line in seen.stdout.splitlines())


def crashed_as(signal: str | None, result: Result) -> bool:
    """Whether an attempt, or a child of it that it tells of, died by this signal; by any, where none is named."""
    if result.outcome in _LIMITED:
        return False
    seen = result.observation
    names = [signal] if signal else ["SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL", "SIGBUS", "SIGTRAP"]
    if seen.signal is not None and (signal is None or seen.signal == signal):
        return True
    said = seen.stderr + seen.stdout + (seen.exception.message if seen.exception is not None else "")
    return any(_tells_of(name, said, seen.stderr) for name in names)


def _tells_of(name: str, said: str, stderr: str) -> bool:
    """Whether a child's death by this signal is told: by a library, by a shell, or as an exit code that Python gives to such a child.

    An exit status of 139 by itself is only a number that a script chose.
    """
    if any(word.format(name) in said for word in ("terminated with signal {}", "died with <Signals.{}")):
        return True
    if name in _SHELL_WORDS and re.search(
        rf"^(?:.{{1,80}}: )?{_SHELL_WORDS[name]}(?: \(core dumped\).{{0,80}})?$", stderr, re.MULTILINE
    ):
        return True
    number = int(signals.Signals[name]) if name in signals.Signals.__members__ else 0
    code = rf"\b(?:exit|return)[ _-]?code\b[^\d\n-]{{0,5}}(?:-{number}|<Signals\.{name}\b)(?!\d)"
    return bool(number) and re.search(code, said, re.IGNORECASE) is not None
