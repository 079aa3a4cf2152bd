"""Takes from the answer of a model what stands in the report, and drops the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import ValidationError

from app.errors import InputError
from app.intake.claim.claim_text import crash_check, cut
from app.intake.claim.claims import Check, CheckKind, Claim, Role, Where
from app.intake.model.prompt import Answer, AnswerReading, Item, ItemWhere, lines_of
from app.intake.snippets.output_marks import without_common_sign
from app.intake.words.vocabulary import TYPE, is_number

MOST_ANSWER = 200_000
_ROLES = {"actual": Role.BUG, "expected": Role.EXPECTED}
_ERROR = re.compile(
    rf"(?:[A-Za-z_]\w{{0,80}}\.){{0,8}}(?P<type>{TYPE})(?::[ \t]{{0,8}}(?P<message>\S.*))?", re.DOTALL
)
_ONLY_TYPE = re.compile(TYPE)
_STATUS = re.compile(r"\d{1,3}")
_PROMPT = re.compile(r"^(?:>>>|\.\.\.|In \[\d{1,6}\]:|>)[ \t]?")
_FENCE = re.compile(r"^(?:`{3,20}|~{3,20})")
# A word goes on, a fraction goes on, or a sign belongs to the number.
_INSIDE_BEFORE = re.compile(r"(?:\w\w|\.\d|(?:^|[^\w)\]])[+-]\d)$")
_INSIDE_AFTER = re.compile(r"\w\w|\d\.\d")
_PACKAGE = re.compile(r"[A-Za-z0-9._-]{1,40}")
_DEVICES = {"cpu", "cuda", "mps", "xpu", "tpu", "npu", "hip"}
_SYSTEMS = {"linux", "windows", "darwin", "macos"}


@dataclass(slots=True)
class ModelReading:
    """One reading of a model: the claim, and the evidence that it says is no bug."""

    why: str
    claim: Claim
    # The evidence of other places, and what nobody calls wrong.
    no_bugs: tuple[Check, ...] = ()


@dataclass(slots=True)
class BelievedAnswer:
    """The parts of an answer that stand in the report, and why others were dropped."""

    readings: list[ModelReading] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)


def believe(answer: str, text: str, script: str) -> BelievedAnswer:
    """The readings of an answer about a report whose main script, as run, is given.

    Raises InputError if the answer has a wrong form.
    """
    parsed, lines, believed = _parse(answer), lines_of(text), BelievedAnswer()
    for number, reading in enumerate(parsed.readings, 1):
        part = _reading(reading, lines, script.split("\n"), believed.dropped, number)
        if part.claim.having(Role.BUG):
            believed.readings.append(part)
    return believed


def _parse(answer: str) -> Answer:
    body = answer.strip()
    if len(body) > MOST_ANSWER:
        raise InputError(f"The model's answer has over {MOST_ANSWER} characters.", code="bad_answer")
    # Some endpoints put the object into a code block.
    if body.startswith("```"):
        body = body.partition("\n")[2].rpartition("```")[0]
    try:
        return Answer.model_validate(json.loads(body))
    except (ValueError, RecursionError) as error:
        place = _place(error) if isinstance(error, ValidationError) else "it is not JSON"
        raise InputError(
            f"The model's answer has not the form that was asked for: {place}.", code="bad_answer"
        ) from None


def _place(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    parts = (str(part) if isinstance(part, int) or part.isidentifier() else "…" for part in first["loc"])
    return f"{'.'.join(parts)[:100]}: {first['msg']}"[:300]


def _reading(
    reading: AnswerReading, lines: Sequence[str], script: Sequence[str], dropped: list[str], number: int
) -> ModelReading:
    checks: list[Check] = []
    no_bugs: list[Check] = []
    for at, item in enumerate(reading.items, 1):
        check, refusal = _check(item, lines, script)
        if check is None:
            dropped.append(f"reading {number}, item {at}: {refusal}")
        else:
            (checks if item.stance in _ROLES else no_bugs).append(check)
    return ModelReading(why=reading.why, claim=Claim(checks=tuple(checks)), no_bugs=tuple(no_bugs))


def _check(item: Item, lines: Sequence[str], script: Sequence[str]) -> tuple[Check | None, str]:
    """The check of an item, or the reason why there is none."""
    last = item.last or item.first
    if not item.first <= last <= len(lines):
        return None, f"the report has no lines {item.first} to {last}"
    span = list(lines[item.first - 1 : last])
    if item.text is not None and not _stands_in(item.text, span):
        return None, "its text does not stand in its lines"
    evidence = _evidence(item, span)
    if evidence is None:
        return None, f"it shows no {item.kind.replace('_', ' ')}"
    role = _ROLES.get(item.stance, Role.DETAIL)
    placed = {"role": role, "where": _where(item.where, span), "at": _line_of(item, lines, script)}
    return evidence.model_copy(update=placed), ""


def _stands_in(text: str, span: Sequence[str]) -> bool:
    """Whether each line of a text is a part of the next lines that does not end within a word."""
    at = 0
    parts = [line.strip() for line in text.split("\n") if line.strip()]
    for part in parts:
        while at < len(span) and not _is_part(part, span[at]):
            at += 1
        if at == len(span):
            return False
        # Two values may stand in one line, but two lines of a text don't.
        at += 1
    return bool(parts)


def _is_part(part: str, line: str) -> bool:
    """Whether a line holds a text without cutting a word or a number: `0.5` and `-5` do not hold `5`."""
    start = line.find(part)
    while start >= 0:
        end = start + len(part)
        cut_before = _INSIDE_BEFORE.search(line[max(0, start - 2) : start] + part[0])
        cut_after = _INSIDE_AFTER.match(part[-1] + line[end : end + 2])
        if not cut_before and not cut_after:
            return True
        start = line.find(part, start + 1)
    return False


def _evidence(item: Item, span: Sequence[str]) -> Check | None:
    evidence_text = item.text if item.text is not None else _whole_lines(span)
    words = cut(evidence_text.strip())
    return _MAKERS[item.kind](evidence_text.strip(), words) if words else None


def _output(text: str, words: str) -> Check:
    lines = tuple(line.strip() for line in text.split("\n") if line.strip())
    return Check(text=words, kind=CheckKind.OUTPUT, lines=lines)


def _value(text: str, words: str) -> Check:
    return Check(text=words, kind=CheckKind.VALUE, number=text) if is_number(text) else _output(text, words)


def _exception(text: str, words: str) -> Check:
    match = _ERROR.fullmatch(text)
    if match is None:
        return Check(text=words, kind=CheckKind.EXCEPTION, message=text)
    name = match["type"].rsplit(".", 1)[-1]
    return Check(text=words, kind=CheckKind.EXCEPTION, exception_type=name, message=match["message"] or "")


def _crash(text: str, words: str) -> Check:
    signal = next((check.signal for check in crash_check(text)), None)
    return Check(text=words, kind=CheckKind.CRASH, signal=signal)


def _exit_status(text: str, words: str) -> Check | None:
    status = _STATUS.search(text)
    return Check(text=words, kind=CheckKind.EXIT_STATUS, exit_status=int(status[0])) if status else None


def _no_error(text: str, words: str) -> Check:
    missing = _ONLY_TYPE.search(text)
    kind = missing[0].rsplit(".", 1)[-1] if missing else None
    return Check(text=words, kind=CheckKind.NO_ERROR, exception_type=kind)


_MAKERS: dict[str, Callable[[str, str], Check | None]] = {
    # One number, such as the nan in a printed table, is a value there.
    "output": _value,
    "value": _value,
    "exception": _exception,
    "crash": _crash,
    "exit_status": _exit_status,
    "no_error": _no_error,
    "hang": lambda _, words: Check(text=words, kind=CheckKind.HANG),
    "out_of_memory": lambda _, words: Check(text=words, kind=CheckKind.OUT_OF_MEMORY),
    "varies": lambda _, words: Check(text=words, kind=CheckKind.VARIES),
}


def _whole_lines(span: Sequence[str]) -> str:
    """Whole lines, without fences and without a sign that all of them share."""
    return without_common_sign("\n".join(line for line in span if not _FENCE.match(line.strip())))


def _where(where: ItemWhere | None, span: Sequence[str]) -> Where:
    """The place of an item, as far as its lines state it."""
    if where is None:
        return Where()
    text = "\n".join(span)
    words = text.casefold()
    device, system = (where.device or "").casefold(), (where.os or "").casefold()
    is_range = _is_stated_range(where.range, text)
    package = where.package if where.package and _PACKAGE.fullmatch(where.package) else None
    return Where(
        device=device if device in _DEVICES and device in words else None,
        os=system if system in _SYSTEMS and system in words else None,
        package=package if is_range else None,
        range=where.range if is_range else None,
    )


def _is_stated_range(text: str | None, lines: str) -> bool:
    """Whether a range of versions is one, and each version of it stands in the lines."""
    if not text:
        return False
    try:
        versions = [specifier.version for specifier in SpecifierSet(text)]
    except InvalidSpecifier:
        return False
    return bool(versions) and all(_is_part(version, lines) for version in versions)


def _line_of(item: Item, lines: Sequence[str], script: Sequence[str]) -> int | None:
    """The line of the script that an item names by its line in the report, if there is one such line."""
    if item.statement is None or item.statement > len(lines):
        return None
    code = _PROMPT.sub("", lines[item.statement - 1].strip()).strip()
    places = [at for at, line in enumerate(script, 1) if code and _is_same_code(code, line.strip())]
    return places[0] if len(places) == 1 else None


def _is_same_code(code: str, line: str) -> bool:
    """Whether a line of a script is this code. A repair may have put `print(…)` around it."""
    return line in {code, f"print(repr({code}))", f"print({code})"}
