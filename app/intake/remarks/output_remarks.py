"""Reads remarks behind printed lines, such as `# good`, `<--- WRONG` and `<- should be 3`.

A remark is no output. It says which value is wrong, and which one would be right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.intake.words.vocabulary import FLAGS, MODALS, NUMBER, SHOW, any_of, strip_quotes

_GOOD = (
    r"(?:(?:this |that |it )?(?:is |was |looks )?(?:good|ok|okay|fine|correct|right|as expected"
    r"|as it should be|expected(?=[\s.!)]{0,4}$)|works|richtig|stimmt|correcto|correct[ae])|✓|✔|✅|👍)"
)
_SHOULD = (
    rf"(?:expected:?|expect|correct(?: value)?(?: is|:)|right(?: value)?(?: is|:)|{any_of(MODALS)}"
    rf"(?: (?:actually|really|also|still))? {any_of(SHOW)}|sollte?|müsste|devrait être|debería ser"
    r"|должно быть|应该是)"
)
_BAD = (
    r"(?:(?:this |that |it |here )?(?:is |was |looks )?(?:the )?(?:bad|wrong|incorrect|bug|broken|not ok"
    r"|not right|not correct|not good|unexpected|oops|falsch|faux|incorrecto|sbagliato|неверно)"
    r"|✗|❌|👎|\?{2,}|!{2,})"
)
_VALUE = (
    r"(?:\[[\[\]\d\s,.e+-]{1,200}\]|\"[^\"\n]{1,80}\"|`[^`\n]{1,80}`|'[^'\n]{1,80}'"
    rf"|(?:True|False|None|null|NaT|NA)\b|{NUMBER}(?!\.?\w))"
)
_MARK = r"(?:[ \t]{1,40}(?:#{1,3}|//)|[ \t]{0,40}(?:<[-=]{1,8}(?!\d)|←|⟵))[ \t]{0,8}"
# With an arrow, or as a comment far behind the value or behind its last sign, whatever follows is a remark.
_ARROW = (
    r"(?:(?<=[\])\"'`\d])[ \t]{1,3}#{1,3}[ \t]{1,4}(?=[^\W\d_]{2})"
    r"|[ \t]{1,40}<[-=](?=[ \t]{1,8}(?:should|must|ought|wrong|expected|bug|why|unexpected|here)\b(?! not\b))"
    r"|[ \t]{1,40}(?:#{1,3}[ \t]{0,4})?(?:<[-=]{2,8}|←|⟵)|[ \t]{4,60}#{1,3}(?=[ \t]))[ \t]{0,8}"
)
_BEHIND = r"(?:[\s,;:.!()–-][^\n]{0,200})?$"
_BUT = r"(?![^\n]{0,200}\b(?:but|not|wrong|though|except|should|until|instead)\b)"
_REMARK = re.compile(
    rf"(?<=[^\s<#])(?:{_MARK}(?P<words>(?P<should>[^\n]{{0,30}}?(?<!\w){_SHOULD}[\s:=]{{1,3}}{_VALUE}[^\n]{{0,200}}$)"
    rf"|(?P<good>{_GOOD}){_BUT}{_BEHIND}|(?P<bad>{_BAD}){_BEHIND})"
    rf"|{_ARROW}(?P<note>[^\n<>]{{1,200}})$)",
    FLAGS,
)
_RIGHT = re.compile(rf"{_SHOULD}[\s:=]{{1,3}}(?P<value>{_VALUE})", FLAGS)
_NUMBERS = re.compile(rf"(?<![\w.]){NUMBER}", FLAGS)
_MISSING = frozenset(("null", "nat", "na", "none"))
_LAST_NUMBER = re.compile(rf"(?<![\w.]){NUMBER}$", FLAGS)
_LITERAL = re.compile(rf"(?:True|False|None|'[^'\n]{{0,80}}'|{NUMBER})", FLAGS)
_MOST_LINE = 400
_MOST_LINES_OF_VALUE = 40


@dataclass(frozen=True, slots=True)
class OutputRemarks:
    """Printed lines without their remarks. `right`: the lines as they should be, if the remarks say so."""

    lines: tuple[str, ...]
    right: tuple[str, ...] = ()
    # Whether all of them are called right.
    is_right: bool = False


def without_remark(line: str) -> str:
    """A printed line without the remark behind it."""
    match = _find(line)
    return line if match is None else line[: match.start()].rstrip()


def read_remarks(lines: Sequence[str], script: str) -> OutputRemarks:
    """The printed lines, and what their remarks say of them. Words that the script holds are printed ones."""
    marks = [_find(line) for line in lines]
    matches = [
        match if match and (match["words"] or match["note"]).strip() not in script else None
        for match in marks
    ]
    own = tuple(
        line[: match.start()].rstrip() if match else line for line, match in zip(lines, matches, strict=True)
    )
    if not any(matches):
        return OutputRemarks(own)
    right: list[str] = []
    all_good, complete = True, True
    for start, end in _values(own):
        here = [match for match in matches[start:end] if match]
        wrong = [match for match in here if not match["good"]]
        all_good &= bool(here) and not wrong
        right_here = (
            _right_lines(own[start:end], wrong[0]["words"] or wrong[0]["note"]) if len(wrong) == 1 else ()
        )
        complete &= not wrong or bool(right_here)
        right += right_here or own[start:end]
    is_other = complete and tuple(right) != own
    return OutputRemarks(own, tuple(right) if is_other else (), is_right=all_good)


def _find(line: str) -> re.Match[str] | None:
    if len(line) > _MOST_LINE or not ("#" in line or "<" in line or "←" in line or "//" in line):
        return None
    return _REMARK.search(line)


def _values(lines: Sequence[str]) -> list[tuple[int, int]]:
    """The first line of each value and the one below it. A value ends where its brackets are closed."""
    values: list[tuple[int, int]] = []
    start = depth = 0
    for at, line in enumerate(lines):
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        if depth <= 0 or at - start >= _MOST_LINES_OF_VALUE or at == len(lines) - 1:
            values.append((start, at + 1))
            start, depth = at + 1, 0
    return values


def _right_lines(lines: Sequence[str], remark: str) -> tuple[str, ...]:
    """The lines with the numbers of the right value; empty if the remark names none, or of another form."""
    match = _RIGHT.search(remark)
    if match is None:
        return ()
    value = match["value"]
    numbers = iter(own := _NUMBERS.findall(value))
    text = "\n".join(lines)
    if own and len(_NUMBERS.findall(text)) == len(own):
        return tuple(_NUMBERS.sub(lambda _: next(numbers), text).split("\n"))
    is_one = len(own) == 1 or (not own and value.lower() in _MISSING)
    if is_one and len(lines) == 1 and (last := _LAST_NUMBER.search(lines[0])):
        # The arrow stands behind the one number that is wrong.
        return (lines[0][: last.start()] + (own[0] if own else value),)
    return (strip_quotes(value),) if len(lines) == 1 and _LITERAL.fullmatch(lines[0].strip()) else ()
