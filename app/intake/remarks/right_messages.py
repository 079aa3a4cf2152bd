"""Finds the message that an error should have, where the report is about the words of the message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from app.intake.claim.claim_text import cut, exception_claim, output_check
from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.words.vocabulary import (
    DESIRED,
    FLAGS,
    MODALS,
    RIGHT,
    SHOW,
    TYPE,
    any_of,
    is_printed_line,
    strip_quotes,
)

_HEADING = "Expected: "
_QUOTED = re.compile(r">[ \t]?(?P<cited>\S.*)|`(?P<code>[^`\n]+)`\.?|\"(?P<text>[^\"\n]+)\"\.?")
_SHOULD = re.compile(
    rf"\b(?:{any_of(MODALS)} (?:rather |instead )?{any_of(SHOW)}"
    rf"|{any_of(DESIRED, RIGHT, 'proper')}(?: error)? (?:message|error|exception)"
    r"(?: (?:is|was|would be|should be))?"
    r"|expect(?:s|ed)?(?: (?:to|it))*(?: (?:see|get|have|be|raise))?)\b"
    r"(?P<between>[^\"`.\n]{0,60})(?:\"(?P<text>[^\"\n]{8,300})\"|`(?P<code>[^`\n]{8,300})`)",
    FLAGS,
)
_INTRODUCTION = re.compile(
    rf"\b(?:expect(?:s|ed)?|{any_of(MODALS)} (?:rather |instead )?{any_of(SHOW)})\b", FLAGS
)
_TYPED = re.compile(rf"(?P<type>{TYPE}): (?P<message>\S.*)")
_NEGATION = re.compile(r"\b(?:not|no|never|without|instead|than)\b|n['’]t\b", FLAGS)
_LEAST_WORDS = 3
# So large a part of the words of both messages is the same, or the text is about something else.
_LEAST_SHARE = 0.6
_MOST_LINES = 300
_MOST_LINE = 400


def right_message(bugs: Sequence[Check], texts: Sequence[str]) -> list[Check]:
    """The check of the one error with its right message; empty if the report shows no other message."""
    if len(bugs) != 1 or bugs[0].kind is not CheckKind.EXCEPTION:
        return []
    own = (bugs[0].message or "").split()
    if len(own) < _LEAST_WORDS:
        return []
    messages: dict[str, Check] = {}
    for text in _candidates(texts):
        match = _TYPED.match(text)
        message = match["message"] if match else text
        name = match["type"].rsplit(".", 1)[-1] if match else bugs[0].exception_type
        words = message.split()
        # With its type it is an error in any words.
        if words != own and (match or _share(own, words) >= _LEAST_SHARE):
            messages[" ".join(words)] = Check(
                text=cut(text),
                kind=CheckKind.EXCEPTION,
                role=Role.EXPECTED,
                exception_type=name,
                message=message,
            )
    return list(messages.values()) if len(messages) == 1 else []


def right_of_output(checks: Sequence[Check], outputs: Sequence[str]) -> list[Check]:
    """The right value, or the error with its right message, as the one output called right shows it."""
    if len(checks) == len(outputs) == 1 and checks[0].kind in (CheckKind.VALUE, CheckKind.OUTPUT):
        return _value_of_output(checks[0], outputs[0])
    errors = [error for text in outputs for error in exception_claim(text)[:1]]
    if len(checks) != 1 or len(errors) != 1 or checks[0].exception_type != errors[0].exception_type:
        return []
    is_other = errors[0].message and errors[0].message != checks[0].message
    return [errors[0].model_copy(update={"role": Role.EXPECTED})] if is_other else []


def _value_of_output(claimed: Check, output: str) -> list[Check]:
    """The one line of an output that is called right, as the right one in place of the claimed value."""
    lines = [line.strip() for line in output.split("\n") if line.strip()]
    values = {*claimed.lines, claimed.number or ""}
    is_other = len(lines) == 1 and len(claimed.lines) < 2 and strip_quotes(lines[0]) not in values
    return [output_check(lines, role=Role.EXPECTED)] if is_other and is_printed_line(lines[0]) else []


def _candidates(texts: Sequence[str]) -> Iterator[str]:
    """The quoted texts that the report calls right."""
    for at, text in enumerate(texts[:_MOST_LINES]):
        quoted = _QUOTED.fullmatch(text[:_MOST_LINE].strip())
        above = " ".join(each[-_MOST_LINE:] for each in texts[max(0, at - 2) : at])
        if quoted and _INTRODUCTION.search(above) and not _NEGATION.search(above):
            yield _text_of(quoted)
    for line in [line[:_MOST_LINE] for text in texts for line in text.split("\n")][:_MOST_LINES]:
        is_under_heading = line.startswith(_HEADING)
        quoted = _QUOTED.fullmatch(line.removeprefix(_HEADING).strip()) if is_under_heading else None
        if quoted:
            yield _text_of(quoted)
            continue
        if is_under_heading and _TYPED.fullmatch(bare := line.removeprefix(_HEADING).strip()):
            yield bare
            continue
        for match in _SHOULD.finditer(line):
            before = line[max(0, match.start() - 15) : match.start()]
            if not _NEGATION.search(match["between"]) and not _NEGATION.search(before):
                yield match["text"] or match["code"]


def _text_of(quoted: re.Match[str]) -> str:
    return (quoted["cited"] or quoted["code"] or quoted["text"]).strip("\"`'* ")


def _share(one: Sequence[str], other: Sequence[str]) -> float:
    """The share of words that both have, at their first places."""
    common = len({word.strip(".,:;'\"") for word in one} & {word.strip(".,:;'\"") for word in other})
    return common / max(1, len(set(one)), len(set(other)))
