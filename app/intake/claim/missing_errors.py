"""Reads claims that an expected error is not raised. Every pattern is linear."""

from __future__ import annotations

import re

from app.intake.claim.claims import Check, CheckKind, Role, Where
from app.intake.words.vocabulary import EXPECT, FLAGS, INSTEAD, MODALS, TYPE, any_of, both_devices, device_of

_ERROR = rf"(?:an? |any |the )?(?:(?i:errors?|exceptions?)|`?{TYPE}`?)"
_RAISE = r"(?:raise|throw|give|report|produce|fail with|error)"
_TYPE = re.compile(rf"(?<![\w.])(?P<type>{TYPE})(?!\w)")
# Matches `no error is raised`, `without any exception`, `doesn't raise`, `it does not throw ValueError`,
# `raises nothing`.
_NOTHING_RAISED = re.compile(
    rf"\b(?:no|without|zero) (?:an? |any )?(?:errors?|exceptions?|warning|{TYPE})\b"
    rf"|\b(?:does|did|do|is|was|are|were)(?: not|n['’]t)(?: even)? (?:{_RAISE}\b|rejected\b|raised\b"
    r"|thrown\b|detected\b|error\b)|\b(?:never|not) (?:raises?|raised|throws?|thrown|rejected)\b"
    rf"|\bfails? to {_RAISE}\b"
    r"|\bbut (?:it|this|that|the \w+)? ?(?:just |simply )?(?:runs|works|passes|succeeds|completes"
    r"|returns)\b|\bnothing (?:happens|is raised|is thrown|gets raised)\b|\braises nothing\b"
    r"|\bsilently (?:succeeds?|accepts?|accepted|passes|passed|returns?|ignores?|ignored|works|runs"
    r"|completes|gives|produces|does)\b"
    r"|\b(?:is|are|was|were|gets?) (?:just |simply )?(?:silently accepted|accepted silently)\b"
    r"|\b(?:succeeds|passes|runs|returns|completes) (?:silently"
    r"|without (?:an? |any )?(?:error|complaint|problem)s?)\b"
    r"|\b(?:but|yet|though) (?:it|this|that)? ?(?:does(?:n['’]t| not)"
    r"|did(?:n['’]t| not))\b(?! (?:crash|hang|fail))",
    FLAGS,
)
# Matches `it should raise ValueError`, `expected a TypeError`, `must be rejected`, `instead of raising an
# error`.
_ERROR_EXPECTED = re.compile(
    rf"\b(?:{any_of(MODALS)}|(?:would(?: have)? )?expect(?:ed)?(?: it)? to)(?: have)?(?: be)? ?"
    rf"(?:{_RAISE}|raised?|throw[ns]?|thrown|rejected|fail|errors? out)\b"
    r"|\b(?:docs?|documentation|manual|spec\w*)\b[^.;\n]{0,30}"
    r"\b(?:announce|promise|say|document|demand|require|state)s?\b"
    rf"|\b{EXPECT}:? (?:to (?:see|get|have) )?{_ERROR}(?!\w)"
    rf"|\b{any_of(INSTEAD)} (?:(?:raising|throwing|giving|reporting|producing) )?{_ERROR}(?!\w)"
    rf"|(?<![\w.]){_ERROR} (?:is |was |were |would be |to be )?expected\b"
    rf"|\b(?:there )?should be {_ERROR}(?!\w)",
    FLAGS,
)
# A sentence about another environment, another time or a fix is no complaint.
_ELSEWHERE = re.compile(
    r"\bno longer\b|\bany ?more\b|\bfixed\b|\bresolved\b|\bworks (?:fine|well|as expected)\b|\bif i\b"
    r"|\bwhen i (?:remove|change|set|use)\b|\bworkaround\b|\bgoes away\b",
    FLAGS,
)
_NAMED_MISSING = re.compile(
    r"(?:\b(?:does|did)(?: not|n['’]t) (?:raise|throw)|\b(?:never|not) (?:raises?|throws?)"
    rf"|\bfails to (?:raise|throw)) (?:an? |any |the )?`?(?P<type>{TYPE})",
)
_SEEN_INSTEAD = re.compile(rf"(?<![\w.]){TYPE}\b[^.;\n]{{0,60}}\b{any_of(INSTEAD)}\b")


# Matches `it should not raise ValueError`.
_OUGHT_NOT = re.compile(
    r"\b(?:(?:should|must|ought to|supposed to|expected to|needs to)(?:n['’]t| not| never)"
    r"|(?:not|n['’]t) (?:be )?(?:supposed|expected|meant) to)"
    r" (?:ever )?(?:raise|throw|fail with|give|produce)\b",
    FLAGS,
)
_WORTH_READING = re.compile(r"rais|throw|reject|error|exception|silent|nothing|fail|warn", FLAGS)
_INSTEAD = re.compile(
    rf"\b{any_of(INSTEAD)} (?:(?:raising|throwing|getting) )?(?:an? |the )?`?(?P<type>{TYPE})(?!\w)"
)
_EXPECTED_TYPE = re.compile(
    rf"\b[Ee]xpect(?:s|ed|ing)?:? (?:an? |the |to (?:see|get|raise) (?:an? )?)?`?(?P<type>{TYPE})(?!\w)"
    rf"|(?<!not )\b{any_of(MODALS)} (?:just |simply |only |instead |always )?(?:be|raise|throw"
    rf"|give|produce|get"
    rf"|report|have been|have raised|fail with|end in)(?: an?| the)? `?(?P<should>{TYPE})(?!\w)"
    rf"|\b[Dd]ocumented `?(?P<documented>{TYPE})(?!\w)"
    rf"|\b(?i:should)n['’]t (?:it|this|that|there) (?:rather |not )?(?:be|raise|throw|give)(?: an?| the)?"
    rf" `?(?P<question>{TYPE})(?!\w)"
    rf"|(?<![\w.])(?P<right>{TYPE})`? (?:is|was|would be|would have been) (?:the )?(?:expected|right"
    r"|correct|documented|better|appropriate)\b"
)
# `It runs without an error although the column is not there`.
_THOUGH = re.compile(
    r"\b(?:without|no) (?:an? |any |even an? )?(?:errors?|exceptions?)\b[^.;\n]{0,40}?,? "
    r"\b(?:although|even though|though|despite)\b[^.;\n]{0,80}"
    r"(?:\bnot\b|n['’]t\b|\bno\b|\bmissing\b|\binvalid\b|\bwrong\b|\bunknown\b|\babsent\b)",
    FLAGS,
)
_NOT_EXPECTED = re.compile(r"(?:\b(?:not|never)|n['’]t) (?:\w{1,12} )?$", FLAGS)


def missing_error(sentence: str) -> list[Check]:
    """The check that an error is missing, and the expected error. Empty for other sentences."""
    if not _WORTH_READING.search(sentence) or _ELSEWHERE.search(sentence) or _SEEN_INSTEAD.search(sentence):
        return []
    if _OUGHT_NOT.search(sentence):
        # The error occurs, and is the bug.
        kind = _only_type(sentence)
        return (
            [Check(text=sentence, kind=CheckKind.EXCEPTION, exception_type=kind, message="")] if kind else []
        )
    expectation, absence = _ERROR_EXPECTED.search(sentence), _NOTHING_RAISED.search(sentence)
    expectation = expectation or _THOUGH.search(sentence)
    match = _NAMED_MISSING.search(sentence)
    if not (expectation and absence) and not (
        match and not both_devices(sentence) and device_of(sentence) is None
    ):
        return []
    kind = _only_type(sentence)
    device = device_of(sentence)
    where = Where(device="cuda") if device == "cuda" else Where()
    return [
        Check(text=sentence, kind=CheckKind.NO_ERROR, exception_type=kind, where=where),
        *([_expected_error_check(sentence, kind)] if kind else []),
    ]


def _only_type(sentence: str) -> str | None:
    """The error type that a sentence names, if it names exactly one."""
    types = {match["type"].rsplit(".", 1)[-1] for match in _TYPE.finditer(sentence)}
    return types.pop() if len(types) == 1 else None


def _expected_error_check(sentence: str, kind: str) -> Check:
    """The check of an error that is expected."""
    return Check(
        text=sentence,
        kind=CheckKind.EXCEPTION,
        role=Role.EXPECTED,
        exception_type=kind.rsplit(".", 1)[-1],
        message="",
    )


def expected_error(sentence: str) -> Check | None:
    """The error that a sentence expects: `TypeError instead of ValueError`, `expected a ValueError`."""
    match = _INSTEAD.search(sentence) or _EXPECTED_TYPE.search(sentence)
    if match is None or _NOT_EXPECTED.search(sentence, max(0, match.start() - 20), match.start()):
        return None
    return _expected_error_check(sentence, next(group for group in match.groups() if group))
