"""Separates warnings from printed lines. Warnings go to stderr, and values to stdout."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from app.intake.claim.claim_text import sentences_in
from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.sessions.warning_lines import numbers_of_lines, warnings_shown
from app.intake.snippets.parts import Part, PartKind

# torch and glog print warnings of their C++ part in this form.
_LOGGED = re.compile(
    r"\s*\[?[WIE]\d{0,8}[ \d:.]{0,24}(?:\w[\w./-]{0,80}:\d{1,7}\]?).{0,400}|\s*WARNING:.{0,400}"
)
_WARNS = re.compile(r"\bwarn(?:s|ed|ings?)?\b|\w(?:Warning)s?\b", re.IGNORECASE)
_MOST_TEXT = 300
_NO_WARNING = re.compile(
    r"\b(?:expect\w*|should|must)\b[^.\n]{0,30}?\b(?:no|without(?: any| a)?) (?:\w{1,20} )?warnings?\b",
    re.IGNORECASE,
)
_MOST_WARNINGS = 3
_THE_WARNING = (
    r"(?:(?:the|that|this|these|those|its|a|such|any) )?(?:\w{1,20} )?`?(?P<NAME>\w{0,40}Warning|warning)s?`?"
    r"(?: (?:itself|alone|above|here))?"
)
_IS_FINE = (
    r"(?:ok|okay|fine|all right|alright|good|right|correct|justified|legitimate|reasonable|understandable"
    r"|understood|expected|intended|welcome|clear|no (?:problem|issue|bug)"
    r"|not (?:the|my|a|what) (?:problem|issue|point|bug|concern|complaint|question|matter))"
)
# `The warning is OK for me`, `I do not mind the warning`, `that it warns is right`, `warning aside`.
_FINE_WARNING = re.compile(
    rf"\b{_THE_WARNING.replace('NAME', 'one')} (?:is|are) (?:of course |certainly |quite |totally |also )?"
    rf"{_IS_FINE}(?!\w)"
    rf"|\b{_THE_WARNING.replace('NAME', 'two')} (?:does(?:n['’]t| not)|do(?:n['’]t| not)) "
    r"(?:bother|disturb|trouble|worry|matter)\b"
    r"|\b(?:do(?:n['’]t| not) (?:mind|care about)|(?:can|could) (?:well )?(?:live with|accept|understand)"
    r"|am (?:aware of|(?:fine|ok|okay) with)|have nothing against|have no (?:problem|issue|quarrel) with"
    rf"|never ?mind|disregard|leav(?:e|ing) aside) {_THE_WARNING.replace('NAME', 'three')}"
    r"|\bthat (?:it|numpy|python|the \w{1,20}|\w{1,20}) warns(?: here| me| about \w{1,20})? is "
    rf"(?:of course |certainly |quite )?{_IS_FINE}(?!\w)"
    rf"|\b{_IS_FINE} that (?:it|\w{{1,20}}|the \w{{1,20}}) warns\b"
    r"|\bwarnings? aside\b",
    re.IGNORECASE,
)
# Words by which a report may still be about its warnings.
_COMPLAINS = re.compile(
    r"\b(?:annoying\w*|nois[ey]\w*|spam\w*|flood\w*|clutter\w*|twice|times|repeated\w*|every|each"
    r"|misleading|wording|duplicate[sd]?|stacklevel|why|unwanted|not wanted|suppress\w*|silenc\w*|get rid)\b"
    r"|\b(?:if|whether|unless|think|believe)\b[^.;\n]{0,40}\bwarning|\?",
    re.IGNORECASE,
)
_NEEDLESS = re.compile(
    r"\b(?:spurious|needless|unneeded|unnecessary|false|superfluous|wrong|misleading|annoying|unwanted|bogus"
    r"|no|without|unexpected|strange|weird)\b[^.\n]{0,30}?\b\w{0,20}warnings?\b",
    re.IGNORECASE,
)
_ANY = "warning"
_MOST_SENTENCES = 300
_MOST_SENTENCE = 600


def split_warnings(lines: Sequence[str]) -> tuple[list[str], list[Check]]:
    """The lines without warnings and the source lines below them, and a check of each warning.

    `lines` keep their indent.
    """
    warnings = list(warnings_shown(lines))
    taken = numbers_of_lines(warnings)
    rest = [line for at, line in enumerate(lines) if at not in taken and not _LOGGED.fullmatch(line)]
    checks = [
        Check(
            text=lines[each.start].strip()[:_MOST_TEXT],
            kind=CheckKind.EXCEPTION,
            role=Role.DETAIL,
            exception_type=each.type,
            message=each.message,
        )
        for each in warnings
    ]
    return rest, checks


def warning_checks(outputs: Sequence[Part], title: str, should: Sequence[str] = ()) -> list[Check]:
    """The warnings that the outputs show, where the title is about warnings: the values may be right.

    Some of the texts `should` may say so: `Expected: no warning`.
    """
    if not _WARNS.search(title) and not any(map(_NO_WARNING.search, should)):
        return []
    warnings = [check for part in outputs if not part.expected for check in warnings_in(part)]
    return [check.model_copy(update={"role": Role.BUG}) for check in warnings[:1]] + warnings[
        1:_MOST_WARNINGS
    ]


def warnings_in(part: Part) -> list[Check]:
    return split_warnings(part.text.split("\n"))[1]


def fine_warnings(parts: Sequence[Part], title: str) -> frozenset[str]:
    """The types of warnings that the prose calls fine, `warning` for any: the bug is something else.

    Empty where other words say that the warnings are not wanted.
    """
    prose = [part.text for part in parts if part.kind is PartKind.PROSE and _WARNS.search(part.text)]
    sentences = [each[:_MOST_SENTENCE] for text in prose for each in sentences_in(text)][:_MOST_SENTENCES]
    names = {
        next((name for name in match.groupdict().values() if name), _ANY)
        for each in sentences
        if not _COMPLAINS.search(each) and (match := _FINE_WARNING.search(each))
    }
    types = {name for name in names if name.lower() != _ANY}
    if types == names or any(map(_NEEDLESS.search, (title, *sentences))):
        return frozenset(types)
    return frozenset({_ANY})


def is_fine_warning(checks: Sequence[Check], fine: frozenset[str]) -> bool:
    """Whether the bug is nothing but a warning that is called fine."""
    bugs = [check.exception_type or "" for check in checks if check.role is Role.BUG]
    return bool(fine and bugs) and all(map(_is_of(fine), bugs))


def without_fine_warnings(outputs: Sequence[Part], fine: frozenset[str]) -> list[Part]:
    """The outputs without warnings that are called fine."""
    if not fine:
        return [*outputs]
    shorter = [replace(part, text=_without_warnings(part.text, fine)) for part in outputs]
    return [part for part in shorter if part.text.strip()]


def _without_warnings(text: str, fine: frozenset[str]) -> str:
    """The lines of an output without warnings of these types and their lines of code."""
    lines = text.split("\n")
    taken = numbers_of_lines(each for each in warnings_shown(lines) if _is_of(fine)(each.type))
    return "\n".join(line for at, line in enumerate(lines) if at not in taken)


def _is_of(fine: frozenset[str]) -> Callable[[str], bool]:
    return lambda name: name in fine or (_ANY in fine and name.endswith("Warning"))
