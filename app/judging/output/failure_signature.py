"""The signature of a failure: a signal, or an exception's type with its message.

Parts of the message that change between runs, such as addresses and paths, are masked.
"""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Iterator

from worker.contract import ExceptionFacts, Outcome, Result

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_PATH = re.compile(r"(?:[A-Za-z]:\\|\.{0,2}/)[^\s'\"`:,)]{2,}")
# Shapes in messages of torch, as in `2x3 and 3x4`.
_SHAPE = re.compile(r"(?<![\w.])\d+(?:x\d+)+(?!\w)")
_QUOTES = str.maketrans('‘’“”`"', "''''''")
_NUMBER = re.compile(r"(?<![A-Za-z_])[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SPACE = re.compile(r"\s+")
_ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b|^Traceback \(most recent")
_WARNING = re.compile(r":\d+: (?P<type>(?:\w+\.){0,8}\w*Warning): (?P<message>.+)")
_TYPE = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*\.)*[A-Z][A-Za-z0-9_]*")

# Removed functions such as `torch.symeig` still exist, but they only raise this message.
_REMOVED = re.compile(
    r"\b(?:is now|has been|have been|was) removed\b"
    r"|\bis no longer (?:available|supported) in (?:torch|numpy|version)",
    re.IGNORECASE,
)
_NOT_ANY_MORE = re.compile(r"\bis no longer (?:available|supported)\b", re.IGNORECASE)

# A message with this many characters does not match by chance.
_TELLING = 16
_LONGEST = 20_000
_LIMITED = {Outcome.TIMED_OUT, Outcome.OUTPUT_EXCEEDED, Outcome.OUT_OF_MEMORY}
# Types that have other names in other versions or modules.
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
# Newer, narrower types. Older versions raise RuntimeError with the same message.
_NARROWED = {
    "OutOfMemoryError",
    "AcceleratorError",
    "TorchRuntimeError",
    "BackendCompilerFailed",
    "InternalTorchDynamoError",
}


def last_name(exception_type: str) -> str:
    """The name of a type without its module. A renamed type always has the same name here."""
    name = exception_type.rsplit(".", 1)[-1].strip()
    return _SAME_TYPE.get(name, name)


def mask(message: str) -> str:
    """The message on one line, in lower case, with masked addresses, paths, shapes and numbers."""
    text = _ADDRESS.sub("<address>", message.translate(_QUOTES))
    text = _PATH.sub("<path>", text)
    text = _SHAPE.sub("<n>", text)
    text = _NUMBER.sub("<n>", text)
    return _SPACE.sub(" ", text).strip().rstrip(".").lower()


def same_type(claimed: str, seen: str) -> bool:
    """Whether two type names may mean the same failure. The messages must agree too."""
    one, other = last_name(claimed), last_name(seen)
    return one == other or ({one, other} <= _NARROWED | {"RuntimeError"} and "RuntimeError" in {one, other})


def same_message(claimed: str, seen: str) -> bool:
    """Whether the seen message agrees with the claimed one, both masked.

    They agree if they are equal, if one begins with the other, or if the claimed one begins a line of the
    seen one. An empty claimed message agrees with every message.
    """
    expected = mask(claimed)
    if not expected:
        return True
    whole = mask(seen)
    if _same_first_line(claimed, seen):
        return True
    if whole == expected or _begins(whole, expected):
        return True
    if len(whole) >= _TELLING and _begins(expected, whole):
        # The reporter's sentence continues after the end of the message.
        return True
    expected = expected.removesuffix("...").removesuffix("…").rstrip()
    if len(expected) >= 12 and _begins(whole, expected):
        return True
    return len(expected) >= 12 and any(_begins(mask(line), expected) for line in seen.splitlines())


def _same_first_line(claimed: str, seen: str) -> bool:
    """Whether the first lines agree. A line that ends with a colon, as `… raised:`, does not count."""
    lines = [
        next((line.strip() for line in text.splitlines() if line.strip()), "") for text in (claimed, seen)
    ]
    return len(lines[0]) >= _TELLING and not lines[0].endswith(":") and mask(lines[0]) == mask(lines[1])


def _begins(text: str, beginning: str) -> bool:
    """Whether the text begins with `beginning` and the word ends there."""
    return text.startswith(beginning) and (
        len(text) == len(beginning) or not (text[len(beginning)].isalnum() and beginning[-1].isalnum())
    )


def matches_exception(claimed_type: str | None, claimed_message: str | None, seen: ExceptionFacts) -> bool:
    """Whether a seen exception is the claimed one, by type and by message."""
    if claimed_type is not None and not same_type(claimed_type, seen.type):
        return False
    if claimed_type is not None and {last_name(claimed_type), last_name(seen.type)} == {"OutOfMemoryError"}:
        # The rest of the message describes the card, and its wording differs between versions.
        return True
    renamed = claimed_type is not None and last_name(claimed_type) != last_name(seen.type)
    if renamed and not (claimed_message or "").strip():
        return False
    return same_message(claimed_message or "", seen.message)


def exceptions_in(stderr: str) -> list[ExceptionFacts]:
    """The exceptions at the end of printed tracebacks, for example of a child process or a thread."""
    exceptions: list[ExceptionFacts] = []
    inside = False
    for line in stderr.splitlines():
        if line.startswith("Traceback (most recent call last)"):
            inside = True
        elif inside and line and not line[0].isspace():
            kind, _, message = line.partition(": ")
            if _TYPE.fullmatch(kind):
                exceptions.append(ExceptionFacts(type=kind, message=message))
            inside = False
    return exceptions


def warnings_in(stderr: str) -> list[ExceptionFacts]:
    """Warnings as Python prints them: `/home/u/script.py:2: UserWarning: message`."""
    matches = (_WARNING.search(line[:_LONGEST]) for line in stderr.splitlines())
    return [ExceptionFacts(type=match["type"], message=match["message"]) for match in matches if match]


def failures_of(result: Result) -> list[ExceptionFacts]:
    """All exceptions that an attempt showed: the uncaught one, its child processes' and the printed ones."""
    seen = result.observation
    raised = [] if seen.exception is None else [seen.exception, *exceptions_in(seen.exception.message)]
    return raised + exceptions_in(seen.stderr) + exceptions_in(seen.stdout)


def prints_exception(claimed_type: str | None, claimed_message: str | None, stdout: str) -> bool:
    """Whether the script itself printed the exception: the type with the message, or a long message alone."""
    expected = mask(claimed_message or "")
    if not expected:
        return False
    if claimed_type is None or len(expected) >= _TELLING:
        return any(expected in mask(line) for line in stdout.splitlines() if len(line) < _LONGEST)
    name = claimed_type.rsplit(".", 1)[-1]
    return any(matches_exception(name, claimed_message, facts) for facts in _named_in(stdout, name))


def _named_in(stdout: str, name: str) -> Iterator[ExceptionFacts]:
    for line in stdout.splitlines():
        before, match, after = line.partition(name)
        if match and not (before and (before[-1].isalnum() or before[-1] == "_")):
            yield ExceptionFacts(type=name, message=after.lstrip(" :('\""))


def printed_failure(result: Result) -> bool:
    """Whether the output has a traceback or names an error, also if the attempt ended well."""
    seen = result.observation
    return bool(exceptions_in(seen.stderr)) or any(_ERROR.search(line) for line in seen.stdout.splitlines())


def crashed_as(signal: str | None, result: Result) -> bool:
    """Whether an attempt or its child died by this signal, or by any crash signal if `signal` is None."""
    if result.outcome in _LIMITED:
        return False
    seen = result.observation
    names = [signal] if signal else ["SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL", "SIGBUS", "SIGTRAP"]
    if seen.signal is not None and (signal is None or seen.signal == signal):
        return True
    output = seen.stderr + seen.stdout + (seen.exception.message if seen.exception is not None else "")
    return any(_names_signal(name, output, seen.stderr) for name in names)


def _names_signal(name: str, output: str, stderr: str) -> bool:
    """Whether the output says that a child process died by this signal.

    It may say so by the words of a library or a shell, or by Python's exit code for such a child. An exit
    status of 139 alone does not count, since a script can choose it.
    """
    if any(word.format(name) in output for word in ("terminated with signal {}", "died with <Signals.{}")):
        return True
    if name in _SHELL_WORDS and re.search(
        rf"^(?:.{{1,80}}: )?{_SHELL_WORDS[name]}(?: \(core dumped\).{{0,80}})?$", stderr, re.MULTILINE
    ):
        return True
    number = int(signals.Signals[name]) if name in signals.Signals.__members__ else 0
    code = rf"\b(?:exit|return)[ _-]?code\b[^\d\n-]{{0,5}}(?:-{number}|<Signals\.{name}\b)(?!\d)"
    return bool(number) and re.search(code, output, re.IGNORECASE) is not None


def says_it_is_removed(message: str) -> bool:
    """Whether an error only says that this version does not have a part of the library any more."""
    return _REMOVED.search(message[:_LONGEST]) is not None


def refuses_what_was_allowed(message: str) -> bool:
    """Whether an error says that something was allowed in an older version."""
    return says_it_is_removed(message) or _NOT_ANY_MORE.search(message[:_LONGEST]) is not None
