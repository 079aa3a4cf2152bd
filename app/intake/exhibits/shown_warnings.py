"""Separates warnings from printed lines. Warnings go to stderr, and values to stdout."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.snippets.parts import Part

_WARNING = re.compile(
    r"\s*(?:(?:(?:[A-Za-z]:)?[^\s:]{1,300}(?::\d{1,7})?|<[^<>\n]{1,60}>(?::\d{1,7})?|\[W[^\]\n]{1,200}\]):?\s+)?"
    r"(?P<type>(?:\w{1,60}\.){0,6}\w{0,60}Warning): (?P<message>.{1,1000})"
)
# torch and glog print warnings of their C++ part in this form.
_LOGGED = re.compile(
    r"\s*\[?[WIE]\d{0,8}[ \d:.]{0,24}(?:\w[\w./-]{0,80}:\d{1,7}\]?).{0,400}|\s*WARNING:.{0,400}"
)
_SOURCE = re.compile(r"\s{2,}\S")
_WARNS = re.compile(r"\bwarn(?:s|ed|ings?)?\b|\w(?:Warning)s?\b", re.IGNORECASE)
_MOST_TEXT = 300
_NO_WARNING = re.compile(
    r"\b(?:expect\w*|should|must)\b[^.\n]{0,30}?\b(?:no|without(?: any| a)?) (?:\w{1,20} )?warnings?\b",
    re.IGNORECASE,
)
_MOST_WARNINGS = 3


def split_warnings(lines: Sequence[str]) -> tuple[list[str], list[Check]]:
    """The lines without warnings and the source lines below them, and a check of each warning.

    `lines` keep their indent.
    """
    rest: list[str] = []
    checks: list[Check] = []
    below = False
    for line in lines:
        match = _WARNING.fullmatch(line.rstrip()) if "Warning: " in line else None
        if match:
            checks.append(
                Check(
                    text=line.strip()[:_MOST_TEXT],
                    kind=CheckKind.EXCEPTION,
                    role=Role.DETAIL,
                    exception_type=match["type"].rsplit(".", 1)[-1],
                    message=match["message"].strip(),
                )
            )
        elif not (_LOGGED.fullmatch(line) or (below and _SOURCE.match(line))):
            rest.append(line)
        below = match is not None
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
