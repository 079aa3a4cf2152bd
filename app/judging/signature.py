"""What identifies a failure: the exception's type and its message with everything masked that changes from run to run."""

from __future__ import annotations

import re

from worker.contract import ExceptionFacts

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_PATH = re.compile(r"(?:[A-Za-z]:\\|\.{0,2}/)[^\s'\"`:,)]{2,}")
_NUMBER = re.compile(r"(?<![A-Za-z_])[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SPACE = re.compile(r"\s+")
_TYPE = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*\.)*[A-Z][A-Za-z0-9_]*")

# One failure under several names, by version or by module.
_SAME_TYPE = {
    "OutOfMemoryError": "OutOfMemoryError",
    "AcceleratorError": "AcceleratorError",
    "IOError": "OSError",
    "EnvironmentError": "OSError",
    "ModuleNotFoundError": "ImportError",
}
# A newer, narrower type that older versions raised as RuntimeError, with the same message.
_NARROWED = {"OutOfMemoryError", "AcceleratorError", "TorchRuntimeError", "BackendCompilerFailed", "InternalTorchDynamoError"}


def last_name(exception_type: str) -> str:
    """The type without its module; renamed types under one name."""
    name = exception_type.rsplit(".", 1)[-1].strip()
    return _SAME_TYPE.get(name, name)


def masked(message: str) -> str:
    """The message with addresses, paths and numbers masked, on one line, in lower case."""
    text = _ADDRESS.sub("<address>", message)
    text = _PATH.sub("<path>", text)
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
    if whole == wanted or _begins(whole, wanted):
        return True
    wanted = wanted.removesuffix("...").removesuffix("…").rstrip()
    if len(wanted) >= 12 and _begins(whole, wanted):
        return True
    return len(wanted) >= 12 and any(_begins(masked(line), wanted) for line in seen.splitlines())


def _begins(text: str, beginning: str) -> bool:
    """Whether the text begins so, at the end of a word."""
    return text.startswith(beginning) and (len(text) == len(beginning) or not (text[len(beginning)].isalnum() and beginning[-1].isalnum()))


def matches_exception(claimed_type: str | None, claimed_message: str | None, seen: ExceptionFacts) -> bool:
    """Whether a seen exception is the claimed one, by type and by message."""
    if claimed_type is not None and not same_type(claimed_type, seen.type):
        return False
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
