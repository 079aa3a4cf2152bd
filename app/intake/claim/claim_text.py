"""Reads free text into checks. A sentence that is not certain gives no check: nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from app.intake.claim.claims import Check, CheckKind, Claim, Role, Where
from app.intake.claim.endings import crash_signal
from app.intake.claim.missing_errors import expected_error
from app.intake.claim.named_errors import own_message
from app.intake.claim.phrases import expected_check, phrase_checks
from app.intake.claim.right_bounds import out_of_bounds
from app.intake.claim.stated_place import stated_place, with_place
from app.intake.words.vocabulary import (
    ACTUAL,
    EXCEPTION_LINE,
    FLAGS,
    QUOTED,
    RESULTS,
    TYPE,
    any_of,
    both_devices,
    device_of,
    is_printed_line,
    is_side_error,
    is_timing,
    side_of_line,
    sides_of,
    strip_quotes,
)

# Text beyond this is not read. Every rule is linear in the length of its text.
MOST_CHARACTERS = 100_000
MOST_LINES_OF_OUTPUT = 60
_MOST_LINE = 2_000
_MOST_TEXT = 300
_MOST_SENTENCES = 200
_MOST_WHOLE = 400
_RAISE = re.compile(rf"raise (?P<type>{TYPE})\((?P<quote>['\"])(?P<message>[^\n]{{4,400}})(?P=quote)\)")
_TRACEBACK = "Traceback (most recent call last)"
_HEADER = re.compile(rf"\s*(?P<type>[A-Za-z_][\w.]{{0,80}}) {{2,}}{re.escape(_TRACEBACK)}")
# Short names are those of many functions.
_LIBRARY_FRAME = re.compile(
    r"\s*File \"[^\"\n]{0,300}(?:site|dist)-packages[^\"\n]{0,300}\", line \d{1,7},"
    r" in (?P<name>[a-z_]\w{7,80})$"
)
_SIDE_NAME = re.compile(
    r"(?:,?\s{0,20}device=)?'?(?<![a-z])(?:cpu|gpu|cuda|eager|compiled|inductor)(?![a-z])(?::\d+')?",
    re.IGNORECASE,
)
_ACTUAL = re.compile(rf"{any_of(ACTUAL)}(?: {any_of(RESULTS)})?\s*:\s*(\S.*)", FLAGS)
# A line with these words is a person's sentence, and no output.
_TELLS = re.compile(
    r"\b(?:but|must|ought|has to|i|we|prints?|printed|gives?|returns?|says?|shows?|yields?|drops?"
    r"|jumps?|changes?|comes out)\b(?!\s*[:=])",
    re.IGNORECASE,
)
_ONLY_A_TYPE = re.compile(rf"{TYPE}[.!?]?")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z\"'`(])")
_SIGN_OF_TEST = re.compile(r"E {2,}")
_FRAME = re.compile(r'\s*File "[^"\n]{1,400}", line \d{1,9}, in (?P<name>\S{1,200})')
# The end of a test in the output of pytest, and its lines about the failure.
_END_OF_TEST = re.compile(rf"[^\s:]{{1,200}}\.py:\d{{1,6}}: (?P<type>{TYPE})")
_LINE_OF_TEST = re.compile(r"\s*E {2,}\S")
# Its summary: `FAILED test_a.py::test_sum[1] - ValueError: too few values`.
_SUMMARY_OF_TEST = re.compile(
    rf"\s{{0,20}}(?:FAILED|ERROR) [^\s:]{{1,200}}::\S{{1,200}} - "
    rf"(?:(?P<type>{TYPE})(?:: (?P<message>.{{0,400}}))?$|assert )"
)


def read_claim(text: str) -> Claim:
    """The claim that a text makes."""
    lines = lines_in(text)
    if not lines:
        return Claim()
    checks = (
        _traceback(lines)
        or sides_checks(lines)
        or _literal_output(lines)
        or _single(lines)
        or statements([text])
        or out_of_bounds(text, ())
    )
    return Claim(checks=tuple(checks), text=text[: 4 * _MOST_LINE])


def lines_in(text: str) -> list[str]:
    """The lines of a text that are not blank, up to the limits."""
    return [line.strip()[:_MOST_LINE] for line in text[:MOST_CHARACTERS].splitlines() if line.strip()]


def cut(text: str) -> str:
    """The text, shortened for display in a check."""
    return text if len(text) <= _MOST_TEXT else text[:_MOST_TEXT] + "…"


def exception_claim(text: str) -> list[Check]:
    """The error that a text shows, as a traceback or as a line `SomeError: message`."""
    lines = _without_signs_of_test(lines_in(text))
    if any(line.startswith("^C") for line in lines) and "KeyboardInterrupt" in text:
        # The interrupt caused what was raised after it.
        return [_interruption(lines)]
    traceback = _traceback(lines)
    if traceback:
        return traceback
    for at, line in enumerate(lines):
        check = _exception_check(line, lines[at + 1 : at + 2])
        if check is not None:
            return [check]
    return _failed_test(lines) or [check for line in lines[-1:] if (check := _raised_by(line))]


def _without_signs_of_test(lines: list[str]) -> list[str]:
    """The lines without the `E` with which pytest marks the lines of a failure, if all have it."""
    marked = [_SIGN_OF_TEST.match(line) for line in lines if line.strip()]
    return [_SIGN_OF_TEST.sub("", line) for line in lines] if marked and all(marked) else lines


def _interruption(lines: Sequence[str]) -> Check:
    """The check of a script that somebody had to interrupt, with the function in which it was then."""
    text = next((line for line in lines if "KeyboardInterrupt" in line), "KeyboardInterrupt")
    frames = [match["name"] for line in lines if (match := _FRAME.match(line))]
    name = next((each for each in reversed(frames) if each.isidentifier()), None)
    return Check(text=cut(text), kind=CheckKind.HANG, message=name and f"in {name}")


def _failed_test(lines: Sequence[str]) -> list[Check]:
    """The error that pytest shows: `test_a.py:2: AssertionError` below lines that begin with `E`.

    Without these lines, it is that of the first line of the summary.
    """
    ends = [match for line in lines if (match := _END_OF_TEST.fullmatch(line.strip()))]
    if len(ends) != 1 or not any(_LINE_OF_TEST.match(line) for line in lines):
        return _failed_in_summary(lines)
    name = ends[0]["type"].rsplit(".", 1)[-1]
    first = next((line for line in lines if _LINE_OF_TEST.match(line)), "")
    message = first.strip()[1:].strip().removeprefix(f"{name}:").strip()
    if name == "AssertionError" and message.startswith("assert "):
        # The words of pytest, which are no message.
        message = ""
    return [Check(text=cut(ends[0][0]), kind=CheckKind.EXCEPTION, exception_type=name, message=message)]


def _failed_in_summary(lines: Sequence[str]) -> list[Check]:
    match = next((match for line in lines if "::" in line and (match := _SUMMARY_OF_TEST.match(line))), None)
    if match is None:
        return []
    name = (match["type"] or "AssertionError").rsplit(".", 1)[-1]
    # pytest cuts long messages off.
    message = (match["message"] or "").removesuffix("...").strip()
    return [Check(text=cut(match[0]), kind=CheckKind.EXCEPTION, exception_type=name, message=message)]


def _raised_by(line: str) -> Check | None:
    """The error of a line `raise SomeError("message")`, which somebody shows in place of the traceback."""
    match = _RAISE.fullmatch(line.strip())
    if match is None:
        return None
    name = match["type"].rsplit(".", 1)[-1]
    return Check(text=cut(line), kind=CheckKind.EXCEPTION, exception_type=name, message=match["message"])


def is_raise_line(text: str) -> bool:
    """Whether a text is nothing but the line that raises an error."""
    return _RAISE.fullmatch(text.strip()) is not None


def crash_check(text: str) -> list[Check]:
    """A crash, in the words of a shell or an interpreter."""
    is_crash, signal = crash_signal(text[:MOST_CHARACTERS])
    return [Check(text=cut(text.strip()), kind=CheckKind.CRASH, signal=signal)] if is_crash else []


def _exception_check(line: str, following: Sequence[str]) -> Check | None:
    """The check of a line `SomeError: message`, or None. The message may begin on the next line."""
    match = EXCEPTION_LINE.fullmatch(line)
    if match is None:
        return None
    name = (match["type"] or match["dotted"]).rsplit(".", 1)[-1]
    message = (match["message"] or match["text"] or "").strip()
    if name == "KeyboardInterrupt":
        # Somebody interrupted the script, so it did not end by itself.
        return Check(text=cut(line), kind=CheckKind.HANG)
    if not message and ":" in line and following:
        message = following[0]
    return Check(text=cut(line), kind=CheckKind.EXCEPTION, exception_type=name, message=message)


def _traceback(lines: Sequence[str]) -> list[Check]:
    """The check of a printed traceback. Lines before it are a detail."""
    starts = [at for at, line in enumerate(lines) if _TRACEBACK in line]
    if not starts:
        return []
    for at in range(starts[-1] + 1, len(lines)):
        check = _exception_check(lines[at], lines[at + 1 : at + 2])
        if check is not None:
            if check.kind is CheckKind.HANG:
                check = check.model_copy(update={"message": _busy_function(lines[starts[-1] : at])})
            before = tuple(line for line in lines[: starts[0]] if is_printed_line(line))[
                :MOST_LINES_OF_OUTPUT
            ]
            return [check, output_check(before, role=Role.DETAIL)] if before else [check]
    return []


def _busy_function(lines: Sequence[str]) -> str | None:
    """The function of a library in which somebody interrupted the script, as a list of stacks names it."""
    frames = [match for line in lines if (match := _LIBRARY_FRAME.match(line))]
    return f"in {frames[-1]['name']}" if frames else None


def type_above_traceback(text: str) -> list[Check]:
    """The error of a traceback whose end is missing: IPython names its type above it."""
    header = next(filter(None, map(_HEADER.match, lines_in(text))), None)
    if header is None:
        return []
    name = header["type"].rsplit(".", 1)[-1]
    return [Check(text=cut(header[0]), kind=CheckKind.EXCEPTION, exception_type=name, message="")]


def lacks_its_end(text: str) -> bool:
    """Whether a text is a traceback whose last lines, with the error, are missing."""
    return _TRACEBACK in text and not exception_claim(text)


def sides_checks(lines: Sequence[str]) -> list[Check]:
    """Checks of lines that name a device each: the difference is the bug, and each line is a detail."""
    lines = list(lines)
    if lines and all(map(is_timing, lines)):
        # Durations are read by the rule for slowness.
        return []
    if not 2 <= len(lines) <= MOST_LINES_OF_OUTPUT or not all(is_printed_line(line) for line in lines):
        return []
    lines_with_sides = list(zip(sides_of(lines), lines, strict=True))
    lines_of_side: dict[str, list[str]] = {}
    for side, line in lines_with_sides:
        if side is not None:
            lines_of_side.setdefault(side, []).append(line)
    if len(lines_of_side) != 2 or any(
        side is None and not both_devices(line) for side, line in lines_with_sides
    ):
        return []
    by_tensors = any(side_of_line(line) is None for side, line in lines_with_sides if side is not None)
    if by_tensors and any(len(each) > 1 for each in lines_of_side.values()):
        # With several unnamed tensors a side, their pairs would be a guess.
        return []
    differing = next(
        (
            pair
            for pair in zip(*lines_of_side.values(), strict=False)
            if _without_side(pair[0]) != _without_side(pair[1])
        ),
        None,
    )
    if differing is None:
        return []
    first = dict(zip(lines_of_side, differing, strict=True))
    where = Where(device="cuda") if "cuda" in first else Where()
    bug = Check(
        text=cut("\n".join(lines)),
        kind=CheckKind.DIFFERS,
        sides=tuple(first),
        side_lines=tuple(first.values()),
        where=where,
    )
    return [bug, *(_detail(line, side) for side, line in lines_with_sides)]


def _detail(line: str, side: str | None) -> Check:
    where = Where(device="cuda") if side in {"cuda", None} else Where()
    return Check(text=cut(line), kind=CheckKind.OUTPUT, role=Role.DETAIL, lines=(line,), where=where)


def _without_side(line: str) -> str:
    """The rest of a line without the name of its side."""
    return _SIDE_NAME.sub("", line).strip(" :=,)")


def _literal_output(lines: Sequence[str]) -> list[Check]:
    """The check of a text that is nothing but printed lines."""
    if (
        len(lines) < 2
        or len(lines) > MOST_LINES_OF_OUTPUT
        or not all(is_printed_line(line) for line in lines)
    ):
        return []
    return [output_check(lines)]


def _single(lines: Sequence[str]) -> list[Check]:
    """The check of a single line that is an error or an output."""
    check = next((check for line in lines for check in [_exception_check(line, ())] if check), None)
    if check is not None:
        message = own_message(check.message or "")
        place = stated_place("\n".join(lines)) if not check.message or message != check.message else Where()
        return with_place([check.model_copy(update={"message": message})], place)
    if len(lines) == 1 and re.fullmatch(QUOTED, lines[0]):
        return [output_check([strip_quotes(lines[0])])]
    if len(lines) == 1 and (actual := _ACTUAL.fullmatch(lines[0])):
        return _single([actual[1]])
    if len(lines) == 1 and is_side_error(lines[0]):
        return [
            output_check(lines).model_copy(
                update={"where": Where(device="cuda") if device_of(lines[0]) == "cuda" else Where()}
            )
        ]
    if (
        len(lines) != 1
        or phrase_checks(lines[0])
        or both_devices(lines[0])
        or _TELLS.search(lines[0])
        or not is_printed_line(lines[0])
    ):
        return []
    where = Where(device="cuda") if device_of(lines[0]) == "cuda" else Where()
    return [output_check(lines).model_copy(update={"where": where})]


def sentences_in(text: str) -> list[str]:
    """The sentences of a text. A sentence may span several lines."""
    return [
        part.strip()
        for line in _join_lines(lines_in(text))
        for part in _SENTENCE_END.split(line)
        if part.strip()
    ]


def statements(texts: Sequence[str], kinds: Collection[CheckKind] = frozenset(CheckKind)) -> list[Check]:
    """The checks of the first sentence that claims a bug of these kinds.

    A short text is also read as one sentence.
    """
    sentences: list[str] = []
    for text in texts:
        lines = lines_in(text)
        sentences += sentences_in(text)
        whole = " ".join(lines)
        if len(whole) <= _MOST_WHOLE:
            sentences.append(whole)
    # A title that only names an error is the weakest, so it comes last.
    sentences = sorted(sentences[:_MOST_SENTENCES], key=lambda each: _ONLY_A_TYPE.fullmatch(each) is not None)
    for at, sentence in enumerate(sentences):
        checks = list(phrase_checks(sentence[:_MOST_LINE]))
        if checks and all(check.kind in kinds for check in checks if check.role is Role.BUG):
            checks += _expected_nearby(checks, sentences[max(0, at - 2) : at] + sentences[at + 1 : at + 3])
            return [check.model_copy(update={"text": cut(check.text)}) for check in checks]
    return []


def _expected_nearby(checks: Sequence[Check], sentences: Sequence[str]) -> list[Check]:
    """The expected value or error in a neighbouring sentence, if the sentence itself has none."""
    if len(checks) == 1 and checks[0].kind is CheckKind.EXCEPTION:
        error = next(
            (check for sentence in sentences if (check := expected_error(sentence[:_MOST_LINE]))), None
        )
        return [error] if error is not None and error.exception_type != checks[0].exception_type else []
    if len(checks) != 1 or checks[0].kind not in {CheckKind.VALUE, CheckKind.OUTPUT}:
        return []
    expected = next(
        (check for sentence in sentences if (check := expected_check(sentence[:_MOST_LINE]))), None
    )
    same = expected is not None and (expected.number, expected.lines) == (checks[0].number, checks[0].lines)
    return [] if expected is None or same else [expected]


def _join_lines(lines: Sequence[str]) -> list[str]:
    """The lines as one paragraph, in pieces of limited length."""
    text = " ".join(lines)
    return [text[at : at + _MOST_LINE] for at in range(0, min(len(text), MOST_CHARACTERS), _MOST_LINE)]


def output_check(lines: Sequence[str], *, role: Role = Role.BUG) -> Check:
    """A check of literal output."""
    return Check(text=cut("\n".join(lines)), kind=CheckKind.OUTPUT, role=role, lines=tuple(lines))
