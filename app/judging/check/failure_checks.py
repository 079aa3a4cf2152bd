"""Checks of a failure: exceptions, crashes, exit statuses, memory, hangs, and errors that are missing."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from app.intake.claim.claims import ANY_ERROR, Check, CheckKind
from app.intake.code.syntax import nodes_of, tree_of
from app.intake.reading import Script
from app.judging.judgement import CheckResult
from app.judging.output.failure_signature import (
    crashed_as,
    failures_of,
    last_name,
    matches_exception,
    printed_failure,
    prints_exception,
    refuses_what_was_allowed,
    warnings_in,
)
from worker.contract import ExceptionFacts, Outcome, Result

# A script that ends with one of these was broken before it came to its point, unless the claim is about that
# error.
BROKEN = {"NameError", "SyntaxError", "IndentationError", "TabError"}
# Errors about what is missing where a script runs.
_OF_THE_PLACE = {
    *("ImportError", "ModuleNotFoundError", "FileNotFoundError", "PermissionError", "NotADirectoryError"),
    *(
        "ConnectionError",
        "URLError",
        "HTTPError",
        "TimeoutError",
        "gaierror",
        "OSError",
        "EOFError",
        "MemoryError",
    ),
}
# A test that a failure comes passes while it is there.
_RAISES = re.compile(r"\b(?:raises|assertRaises\w{0,10}|assert_raises\w{0,10})\(\s{0,20}\(?([\w., ]{1,200})")
# The sandbox gives each script this name.
_LINE_OF_SCRIPT = re.compile(r'File "[^"\n]{0,200}/script\.py", line (\d{1,6}), in <module>')
_COMMENT = re.compile(r"\s#+\s*(?P<text>[^#\n]{2,200})$")
_WORKS = re.compile(
    r"^(?:this |that |it |here )?(?:still )?(?:no (?:problem|error|exception)s?\b|works?\b|fine\b|ok(?:ay)?\b"
    r"|(?:is|runs|goes) (?:fine|ok(?:ay)?|well|through)\b)(?!.*\b(?:but|not|until|except)\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z_]\w+")
_LEAST_NAME = 5
_OUT_OF_MEMORY_TYPES = {"MemoryError", "OutOfMemoryError", "_ArrayMemoryError"}
_OUT_OF_MEMORY_MESSAGES = ("out of memory", "not enough memory", "can't allocate memory")


def judge_exception(check: Check, result: Result) -> CheckResult:
    """An exception, raised or printed; for a type that ends in `Warning` also a warning on stderr."""
    failures = failures_of(result)
    if (check.exception_type or "").endswith("Warning"):
        failures = [*failures, *warnings_in(result.observation.stderr)]
    if not check.message:
        # A type alone is also that of an error about a removed part or option, which is another failure.
        failures = [each for each in failures if not refuses_what_was_allowed(each.message)]
        if check.exception_type == ANY_ERROR:
            return _failure_result(any(not _is_of_the_place(each) for each in failures), result)
    matches = any(matches_exception(check.exception_type, check.message, failure) for failure in failures)
    return _failure_result(
        matches or prints_exception(check.exception_type, check.message, result.observation.stdout), result
    )


def _is_of_the_place(failure: ExceptionFacts) -> bool:
    """Whether an error says that something is missing where the script runs, or in its text."""
    lacks_attribute = last_name(failure.type) == "AttributeError" and failure.message.startswith("module ")
    return last_name(failure.type) in BROKEN | _OF_THE_PLACE or lacks_attribute


def is_another_failure(check: Check, expected: Sequence[Check], result: Result, script: Script) -> bool:
    """Whether a failure like the claimed one is another: wrapped as expected, or of another line."""
    at_other_line = check.kind is CheckKind.EXCEPTION and (
        _fails_where_it_works(result, script)
        or _is_of_other_assertion(check, result, script)
        or _fails_before_the_named_call(check, result, script)
    )
    return at_other_line or is_wrapped(check, expected, result)


def _is_of_other_assertion(check: Check, result: Result, script: Script) -> bool:
    """Whether an assertion of the script failed, and the claim is about another one of its assertions."""
    text = script.script.split("\n")
    seen = _LINE_OF_SCRIPT.findall(result.observation.stderr)
    if check.exception_type != AssertionError.__name__ or check.at is None or not seen:
        return False
    at = int(seen[-1])
    return at < check.at <= len(text) and all("assert" in text[line - 1] for line in (at, check.at))


def _fails_before_the_named_call(check: Check, result: Result, script: Script) -> bool:
    """Whether an error without a type came above the only calls that the claim names.

    `Resampling ends with an error` says nothing about an error above `da.resample(…)`.
    """
    seen = _LINE_OF_SCRIPT.findall(result.observation.stderr)
    tree = tree_of(script.script)
    if check.exception_type != ANY_ERROR or check.message or not seen or tree is None:
        return False
    words = {word.lower() for word in _WORD.findall(check.text)}
    calls = [
        (node.func.attr, node.func.end_lineno or node.lineno)
        if isinstance(node.func, ast.Attribute)
        else (node.func.id, node.lineno)
        for node in nodes_of(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)
    ]
    # `Resampling` is a form of `resample`.
    lines = [
        line
        for name, line in calls
        if len(name) >= _LEAST_NAME and any(word.startswith(name.lower().rstrip("e")) for word in words)
    ]
    return bool(lines) and int(seen[-1]) < min(lines)


def _fails_where_it_works(result: Result, script: Script) -> bool:
    """Whether the failure came at a line of which a comment of the script says that it works."""
    lines = _LINE_OF_SCRIPT.findall(result.observation.stderr)
    text = script.script.split("\n")
    at = int(lines[-1]) if lines else 0
    comment = _COMMENT.search(text[at - 1]) if 0 < at <= len(text) else None
    return comment is not None and _WORKS.search(comment["text"]) is not None


def judge_no_error(check: Check, result: Result) -> CheckResult:
    """A missing error: MET while it is missing, ABSENT when it is raised, OTHER when something else fails."""
    if check.exception_type is not None:
        any_message = check.model_copy(update={"message": ""})
        if judge_exception(any_message, result) is CheckResult.MET:
            return CheckResult.ABSENT
        if _names(check.exception_type, result.observation.stdout):
            return CheckResult.OTHER
    return CheckResult.MET if _ended_well(result) else CheckResult.OTHER


def judge_crash(check: Check, result: Result) -> CheckResult:
    """A crash by the claimed signal."""
    return _failure_result(crashed_as(check.signal, result), result)


def judge_exit_status(check: Check, result: Result) -> CheckResult:
    """The claimed exit status, unless a broken script is the reason for it."""
    status = result.observation.exit_status
    return _failure_result(
        status is not None and status == check.exit_status and not is_broken(result), result
    )


def judge_out_of_memory(_: Check, result: Result) -> CheckResult:
    """A failure whose type or message says that memory ran out."""
    ran_out = any(
        last_name(failure.type) in _OUT_OF_MEMORY_TYPES
        or any(words in failure.message.lower() for words in _OUT_OF_MEMORY_MESSAGES)
        for failure in failures_of(result)
    )
    return _failure_result(ran_out, result)


def judge_hang(check: Check, result: Result) -> CheckResult:
    """A timeout counts if the processes were idle, or if the claimed message is in the stacks."""
    if result.outcome is Outcome.TIMED_OUT:
        is_in_stacks = bool(check.message) and (check.message or "") in result.observation.stacks
        return CheckResult.MET if result.observation.idle or is_in_stacks else CheckResult.UNREACHED
    return _failure_result(is_met=False, result=result)


def asserts_the_failure(check: Check, result: Result, script: Script) -> bool:
    """Whether the script ends well because it catches the claimed failure, as with `pytest.raises`."""
    if check.kind is not CheckKind.EXCEPTION or result.outcome is not Outcome.COMPLETED:
        return False
    caught = {name for types in _RAISES.findall(script.script) for name in re.findall(r"\w+", types)}
    return bool(caught & {check.exception_type, "Exception", "BaseException"})


def is_met_by_any_failure(check: Check) -> bool:
    """Whether the check names no message, so that an unrelated failure of its kind would meet it."""
    return check.kind in {CheckKind.EXIT_STATUS, CheckKind.NO_ERROR} or (
        check.kind is CheckKind.EXCEPTION and not (check.message or "").strip()
    )


def is_wrapped(check: Check, expected: Sequence[Check], result: Result) -> bool:
    """Whether the claimed error is only the cause of another one, where the report asks for another type."""
    exception = result.observation.exception
    return (
        check.kind is CheckKind.EXCEPTION
        and any(other.kind is CheckKind.EXCEPTION and other.exception_type for other in expected)
        and exception is not None
        and not matches_exception(check.exception_type, check.message, exception)
    )


def is_broken(result: Result) -> bool:
    """Whether the script ended with an error of its own text, such as a NameError."""
    exception = result.observation.exception
    return exception is not None and last_name(exception.type) in BROKEN


def _failure_result(is_met: bool, result: Result) -> CheckResult:  # noqa: FBT001 - the one thing it is about
    """MET, or ABSENT if the script ended well, or OTHER if it failed in another way."""
    if is_met:
        return CheckResult.MET
    return CheckResult.ABSENT if _ended_well(result) else CheckResult.OTHER


def _ended_well(result: Result) -> bool:
    return result.outcome is Outcome.COMPLETED and not printed_failure(result)


def _names(exception_type: str, stdout: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(exception_type)}(?!\w)", stdout) is not None
