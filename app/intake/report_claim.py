"""Reads the claim of a report: the strongest evidence decides, and the rest only refines it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claim_text import (
    MOST_LINES_OF_OUTPUT,
    crash_check,
    exception_claim,
    output_check,
    read_claim,
    sides_checks,
    statements,
)
from app.intake.claim.claims import Check, CheckKind, Claim, Role, Where
from app.intake.claim.comments import comment_claim, commented_outputs
from app.intake.claim.expected_elsewhere import find_expected_elsewhere
from app.intake.claim.named_errors import own_message
from app.intake.claim.phrases import expected_check
from app.intake.claim.stated_place import place_of_bug, stated_device, stated_place, with_place
from app.intake.claim.value_mentions import seen_and_expected
from app.intake.claim.vocabulary import (
    ACTUAL,
    DESIRED,
    MODALS,
    RESULTS,
    RIGHT,
    SHOW,
    any_of,
    device_of,
    is_printed_line,
    is_side_error,
    is_timing,
    is_version_line,
    shows_cuda_tensor,
    strip_quotes,
)
from app.intake.snippets.parts import Part, PartKind, is_expectation_heading
from app.intake.snippets.roles import says_it_works

_EXPLICIT = re.compile(
    r"^(?:[^\S\n]|[>*_])*claim[\s*_]*:[\s*_]*(\S.*)", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_VERBS = r"\b(?:prints?|printed|outputs?|gives?|gave|returns?|returned|results? in|shows?|yields?|got|get)"
_GIVES = re.compile(rf"^.{{0,200}}?{_VERBS}[ \t]*:[ \t]+(\S.*)$", re.IGNORECASE)
_INLINE = re.compile(
    rf"{_VERBS}[ \t]*+:?[ \t]*+`([^`\n]{{1,400}})`[ \t]*+[,;:(-]*+[ \t]*+"
    r"([^.`\n]{0,40})",
    re.IGNORECASE,
)
_AS_IT_SHOULD = re.compile(
    r"^(?:which is |as |this is )?(?:it should|expected|correct|right|fine|ok)\b", re.IGNORECASE
)
_OUTPUT_HEADING = re.compile(
    r"\b(?:outputs?|logs?|actual|results?|traceback|stack ?trace|errors?)\b", re.IGNORECASE
)
# Parts beyond this number are not read for the claim.
_MOST_PARTS = 1_000
# `Expected: 3` and `Actual: 2` may be separate paragraphs, so short prose is also read as one text.
_MOST_JOINED = 2_000
_MENTIONS = re.compile(r"^[ \t]*+(?:(?:cc|/cc|ping)[ \t]*)?@[\w-]", re.IGNORECASE)
_ACTUAL_TOO = re.compile(r"\b(?:actual|vs)\b", re.IGNORECASE)
_MARKS = r"[\s*_:>=-]{0,6}"
_RESULT = any_of(RESULTS)
_SEEN_CAPTION = re.compile(
    rf"{_MARKS}(?:(?:the |my |actual(?:ly)? |current |observed |real |wrong |printed |console |program "
    rf"|script |seen ){{0,3}}{_RESULT}|{any_of(ACTUAL)}|stdout|printed"
    r"|(?:what )?(?:i|we|you) (?:actually )?(?:see|get|got|saw)(?: is)?(?: this)?"
    r"|what (?:it|is|the (?:script|code|program)) (?:actually )?(?:prints?|printed|returns?|gives?"
    r"|shows?|seen|shown)|(?:(?:it|this|that|which|and|the (?:script|code|program)) )?(?:prints?"
    rf"|gives?|outputs?|shows?|returns?)(?: me| this)?|what happens){_MARKS}",
    re.IGNORECASE,
)
_EXPECTED_CAPTION = re.compile(
    rf"{_MARKS}(?:(?:the |my )?{any_of(DESIRED, RIGHT)}(?: {_RESULT})?"
    r"|(?:what )?(?:i|we) (?:would )?(?:expect(?:ed)?|want(?:ed)?)(?: is)?"
    rf"|(?:(?:it|this|which|what it) )?{any_of(MODALS)} {any_of(SHOW)})"
    rf"{_MARKS}",
    re.IGNORECASE,
)
_OF_STATUS = re.compile(
    r"\b(?:exit|return|status|error)[- ]?(?:code|status|level|value)\b|\bexits?\b|\$\?", re.IGNORECASE
)
_SHOULD_EXIT = re.compile(
    rf"\b(?:expected|{any_of(MODALS)} {any_of(SHOW, 'exit')})\b[^\d.;\n]{{0,30}}(?<![\w.-])(\d{{1,3}})"
    r"(?![\w.]*\d)",
    re.IGNORECASE,
)
_STATUSES = 256
_QUOTED_LINE = re.compile(r"^\s*`([^`\n]{1,1000})`[.!]?\s*$")
_MOST_LINE = 400
# `… but I expected `Y`` stands in the words that follow the value.
_MOST_AFTER = 200


def claim_of(parts: Sequence[Part], main: str, title: str) -> Claim:
    """The claim of a report about its main script. It has no checks if nothing can be checked."""
    parts = parts[:_MOST_PARTS]
    prose = [part for part in parts if part.kind == PartKind.PROSE]
    explicit = next(
        (match[1] for part in prose for match in [_EXPLICIT.search(part.text)] if match), None
    ) or comment_claim(main)
    if explicit:
        return read_claim(explicit)
    outputs = _outputs(parts)
    relevant = [part for part in prose if not part.about_environment or not _lists_values(part.text)]
    texts = [_plain(part.text) for part in relevant if not _is_expectation(part)]
    should = [
        f"Expected: {line}"
        for part in relevant
        if _is_expectation(part)
        for line in _plain(part.text).split("\n")
        if line.strip()
    ]
    checks = (
        _exit_status_checks(parts, outputs, [title, *texts])
        or _failure_checks(outputs, prose)
        or _checks_of_sides(outputs, several=sum(part.kind == PartKind.CODE for part in parts) > 1)
        or _comment_checks(main)
        or _inline_checks(parts)
        or _output_checks([part for part in outputs if not _only_times(part)])
        or statements([title, *texts, "\n".join(texts)[:_MOST_JOINED]])
        or _output_checks(outputs)
    )
    checks = [_limit_to_cuda(check, main) for check in checks]
    checks = with_place(
        [*checks, *find_expected_elsewhere(checks, [*should, *texts])], place_of_bug([title, *texts])
    )
    return Claim(checks=tuple(checks), text=title[:1000])


def _limit_to_cuda(check: Check, main: str) -> Check:
    """The check, limited to CUDA where it shows a CUDA tensor and the main script uses no CUDA.

    In this case another script printed the tensor.
    """
    if (
        check.role is not Role.BUG
        or check.where.device
        or "cuda" in main
        or not shows_cuda_tensor(check.lines)
    ):
        return check
    return check.model_copy(update={"where": check.where.model_copy(update={"device": "cuda"})})


def _only_times(part: Part) -> bool:
    """True if the output holds nothing but durations. The prose then states the claim."""
    return all(is_timing(line) for line in _lines(part))


def _is_expectation(part: Part) -> bool:
    """True if the prose stands under a heading for the expected behaviour, so it describes no bug."""
    return is_expectation_heading(part.heading) and _ACTUAL_TOO.search(part.heading) is None


def _plain(text: str) -> str:
    """The text without the marks of bold type."""
    return text.replace("**", "").replace("__ ", " ")


def _lists_values(text: str) -> bool:
    return text.count(":") > 2


def _outputs(parts: Sequence[Part]) -> list[Part]:
    """The outputs in the report, from blocks and from prose. `before` holds the words that introduce each."""
    outputs: list[Part] = []
    introduction = ""
    for part in parts:
        if part.kind == PartKind.CODE:
            introduction = part.before
        if part.kind == PartKind.OUTPUT and not part.quoted and not part.about_environment:
            outputs.append(part if part.before else _with_introduction(part, introduction))
        elif part.kind == PartKind.PROSE:
            outputs += [_with_introduction(output, introduction) for output in _output_in_prose(part)]
    return outputs


def _with_introduction(part: Part, before: str) -> Part:
    return Part(PartKind.OUTPUT, part.text, part.heading, part.before or before, transcript=part.transcript)


def _output_in_prose(part: Part) -> list[Part]:
    lines = [line for line in part.text.split("\n") if not _MENTIONS.match(line)]
    text = "\n".join(lines)
    if "Traceback (most recent call last)" in text:
        return [Part(PartKind.OUTPUT, text, part.heading)]
    values = [match[1] for line in lines for match in [_GIVES.match(line[:2000])] if match]
    printed_values = [line for line in values if "`" not in line and is_printed_line(line)]
    if printed_values:
        return [Part(PartKind.OUTPUT, "\n".join(printed_values), part.heading)]
    if output := _output_below_caption(part, [line.strip() for line in lines if line.strip()]):
        return [output]
    is_output = bool(lines) and all(is_printed_line(line) for line in lines if line.strip())
    if is_output and _OUTPUT_HEADING.search(part.heading) and not part.about_environment:
        return [Part(PartKind.OUTPUT, text, part.heading)]
    stripped_lines = [line.strip() for line in lines if line.strip()]
    if is_output and (sides_checks(stripped_lines) or all(map(is_side_error, stripped_lines))):
        return [Part(PartKind.OUTPUT, text, part.heading)]
    return []


def _failure_checks(outputs: Sequence[Part], prose: Sequence[Part]) -> list[Check]:
    for part in outputs:
        if not part.expected and not says_it_works(part.before):
            checks = exception_claim(part.text) or crash_check(part.text)
            if checks:
                return checks
    for part in prose:
        # A message counts on a line of its own, also between backticks, and not inside a sentence.
        lines = [line for line in part.text.split("\n") if not line.lstrip().startswith(("-", "*", "|"))]
        checks = exception_claim("\n".join(_QUOTED_LINE.sub(r"\1", line) for line in lines))
        if checks and not part.expected:
            is_quoted = any(map(_QUOTED_LINE.match, lines)) or "Traceback (most recent" in part.text
            return (
                checks
                if is_quoted
                else [
                    check.model_copy(update={"message": own_message(check.message or "")}) for check in checks
                ]
            )
    return []


def _output_below_caption(part: Part, lines: Sequence[str]) -> Part | None:
    """Printed lines below a caption such as `Output:`, which may stand in the paragraph above."""
    above = part.before.strip().split("\n")
    for caption, output in ((lines[:1], lines[1:]), (above[-1:] if len(above) == 1 else [], lines)):
        if not caption or not output or part.about_environment or not all(map(is_printed_line, output)):
            continue
        expected, seen = _EXPECTED_CAPTION.fullmatch(caption[0]), _SEEN_CAPTION.fullmatch(caption[0])
        if expected or seen:
            return Part(
                PartKind.OUTPUT, "\n".join(output), part.heading, "Expected:" if expected else "Output:"
            )
    return None


def _exit_status_checks(parts: Sequence[Part], outputs: Sequence[Part], texts: Sequence[str]) -> list[Check]:
    """The exit status that a shell answered: a crash, or a status that the words of the report are about."""
    status = next((part.text for part in reversed(parts) if part.kind == PartKind.STATUS), None)
    if status is None:
        return []
    if crash := crash_check(f"exit code {status}"):
        return crash
    if not any(_OF_STATUS.search(text) for text in texts) or not 0 <= int(status) < _STATUSES:
        return []
    bug = Check(text=f"exit status {status}", kind=CheckKind.EXIT_STATUS, exit_status=int(status))
    expected_status = next(
        (int(match[1]) for text in texts for match in [_SHOULD_EXIT.search(text)] if match), None
    )
    expected_check = Check(
        text=f"exit status {expected_status}",
        kind=CheckKind.EXIT_STATUS,
        role=Role.EXPECTED,
        exit_status=expected_status,
    )
    details = [
        output_check(lines, role=Role.DETAIL)
        for part in outputs
        if (lines := _lines(part)) and all(map(is_printed_line, lines))
    ]
    return [bug, *([expected_check] if expected_status not in {None, int(status)} else []), *details[:1]]


def _checks_of_sides(outputs: Sequence[Part], *, several: bool) -> list[Check]:
    """Checks of two sides: from lines that name a device, or from two blocks, one for each device.

    Two blocks count only if one script printed both.
    """
    line_of_device: dict[str, str] = {}
    for part in outputs:
        if part.expected:
            continue
        lines = _lines(part)
        checks = sides_checks(lines)
        if checks:
            return checks
        device = device_of(part.introduction)
        if device and len(lines) == 1 and not part.transcript and not several:
            line_of_device.setdefault(device, lines[0])
    if len(line_of_device) == 2:
        return sides_checks([f"{device} {line}" for device, line in sorted(line_of_device.items())])
    return []


def _lines(part: Part) -> list[str]:
    """The lines of a part, without versions of packages: these differ between machines."""
    lines = [line.strip() for line in part.text.split("\n") if line.strip() and not _MENTIONS.match(line)]
    return [line for line in lines if not is_version_line(line)] or lines


def _comment_checks(main: str) -> list[Check]:
    wrong, right = commented_outputs(main)
    if not wrong:
        return []
    bug = output_check(wrong)
    return [bug, output_check(right, role=Role.EXPECTED)] if not set(right) <= set(wrong) else [bug]


def _inline_checks(parts: Sequence[Part]) -> list[Check]:
    """Checks of sentences such as `prints `X`, wrong`. Empty unless exactly one value is the wrong one."""
    wrong: dict[str, None] = {}
    right: dict[str, None] = {}
    before = after = ""
    control = False
    for part in parts:
        if part.kind == PartKind.CODE:
            control = says_it_works(part.before)
        if part.kind != PartKind.PROSE or control or _is_expectation(part):
            continue
        for match in _INLINE.finditer(part.text):
            both = seen_and_expected(_line_at(part.text, match.start()))
            if both and strip_quotes(both[1]) == match[1].strip():
                # The sentence holds more than its first value, so another rule reads it.
                return []
            if _AS_IT_SHOULD.match(match[2].strip()):
                right[match[1].strip()] = None
            elif is_printed_line(match[1].strip()):
                wrong[match[1].strip()] = None
                after = part.text[match.end(1) + 1 : match.end(1) + _MOST_AFTER].partition("\n")[0]
                before = (
                    part.text[max(0, match.start() - _MOST_AFTER) : match.start(1)]
                    .rpartition("\n")[2]
                    .rpartition(". ")[2]
                )
    if len(wrong) != 1:
        return []
    error_checks = exception_claim(next(iter(wrong)))
    expected = expected_check(after.strip(" .,;:"), behind=True) if not right and not error_checks else None
    instead = [output_check((line,), role=Role.EXPECTED) for line in right] or (
        [expected] if expected else []
    )
    checks = [*(error_checks or [output_check(tuple(wrong))]), *instead]
    # In `On the GPU it prints `X``, the device stands before the value.
    return with_place(with_place(checks, stated_device(before)), stated_place(before, about_it=True))


def _line_at(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    return text[start : start + _MOST_LINE].partition("\n")[0]


def _output_checks(outputs: Sequence[Part]) -> list[Check]:
    """Checks of literal output. The first block that shows any is the bug."""
    seen: list[Check] = []
    expected: list[Check] = []
    for part in outputs:
        lines = _lines(part)
        if not lines or len(lines) > MOST_LINES_OF_OUTPUT or not any(is_printed_line(line) for line in lines):
            continue
        if part.expected or says_it_works(part.before):
            expected.append(output_check(lines, role=Role.EXPECTED))
            continue
        device = device_of(part.introduction)
        check = output_check(lines)
        seen.append(check.model_copy(update={"where": Where(device=device)}) if device else check)
    if not seen:
        return []
    details = [check.model_copy(update={"role": Role.DETAIL}) for check in seen[1:3]]
    return [seen[0], *expected[:1], *details]
