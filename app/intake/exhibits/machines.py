"""Reads outputs of several machines, and of repeated runs: the claim is that these differ."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claim_text import cut
from app.intake.claim.claims import Check, CheckKind, Over
from app.intake.exhibits.shown_outputs import lines_of
from app.intake.sessions.shell_sessions import REPEATED
from app.intake.snippets.parts import Part
from app.intake.words.vocabulary import MACHINE, any_of

_CAPTION = re.compile(
    rf"[\s*_`-]{{0,4}}(?:(?:on|with|under) )?(?:(?:the|my|our|an?) )?(?P<name>(?:[\w.+-]{{1,20}} ){{0,3}}?"
    rf"{any_of(MACHINE)}(?: [\w.+-]{{1,20}}){{0,3}})(?: \([^()\n]{{1,40}}\))?"
    r"(?: (?:it|this|that|i|we) (?:says?|said|prints?|printed|gives?|gave|shows?|showed|gets?|got|is|was))?"
    r"[\s*_`]{0,4}:?[\s*_`]{0,4}",
    re.IGNORECASE,
)
_MOST_TEXT = 400
_DIFFER = re.compile(
    r"\bdiffer\w*|(?:\bnot|n['’]t) (?:\w+ ){0,2}(?:the )?(?:same|equal|identical|match|deterministic)\b"
    r"|\binconsisten\w*|\bdisagree\w*|\bmismatch\w*|\bdiverge\w*"
    r"|\b(?:another|other) (?:results?|values?|outputs?)\b|\bdiscrepanc\w*",
    re.IGNORECASE,
)


def machine_checks(outputs: Sequence[Part], texts: Sequence[str]) -> list[Check]:
    """The check that two machines print different lines; empty if the report says nothing of the kind."""
    lines_of_machine: dict[str, str] = {}
    for part in outputs:
        caption = _CAPTION.fullmatch(part.before.strip().rpartition("\n")[2])
        lines = lines_of(part)
        if caption and lines and not part.expected:
            lines_of_machine.setdefault(caption["name"].casefold(), "\n".join(lines))
    if len(lines_of_machine) != 2 or len(set(lines_of_machine.values())) != 2:
        return []
    if not any(_DIFFER.search(text) for text in texts):
        return []
    text = "\n".join(f"{name}: {line}" for name, line in lines_of_machine.items())
    return [
        Check(
            text=cut(text),
            kind=CheckKind.DIFFERS,
            over=Over.PAIR,
            sides=tuple(lines_of_machine),
            side_lines=tuple(lines_of_machine.values()),
        )
    ]


def repeated_runs_checks(outputs: Sequence[Part]) -> list[Check]:
    """The check that runs differ, where a session shows runs of one command with different outputs."""
    texts = [part.text.strip() for part in outputs if part.before == REPEATED]
    if len(set(texts)) < 2:
        return []
    outputs_seen = tuple(dict.fromkeys(texts))
    return [Check(text="\n".join(outputs_seen)[:_MOST_TEXT], kind=CheckKind.VARIES, lines=outputs_seen)]
