"""Finds a title for a report without one: its first heading, else its claim."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Claim, Role
from app.intake.text.markdown import Block

# A heading of these words alone comes from an issue form, and does not describe the report.
_WORDS = frozenset(
    """
    a about actual actually additional affected all alternatives and any anything are as ask asking
    background before behavior behaviors behaviour behaviours brief bug build can cannot case cause cc
    checklist checks code collect collected collecting command commands comments complete component
    conduct configuration confirm contact contained context could cuda current custom debug describe
    description desired detail detailed details did distribution do documentation does dr else env
    environment environments error errors example examples existing expect expectation expectations
    expected explain explanation feature files filing first fix for full further got gpu happen happened
    happening happens hardware have help here how i idea if impact in info information input installation
    installed instructions is issue issues it kind know library link linked links list log logs machine
    message messages min mini minimal minimum more motivation mre mwe my name need needed nightly notes
    number observed of on open opening operating or os other output outputs overview package packages
    pitch platform please possible potential prerequisites printed priority problem problems program
    proposal proposed provide python pytorch question questions quick reason references related relevant
    report reporting repro reproduce reproduced reproducer reproducibility reproducible reproducing
    reproduction reproductions request requested result results root run running sample screenshot
    screenshots script scripts search seen self setup severity short should simple small snippet snippets
    software solution solutions source specs stack stacktrace standalone statement step steps submit
    submitting suggested summary system task tasks template tensorflow test tf that the there this tl tldr
    to tool trace traceback tried try trying type use used using version versions want was way were what
    when where which who why willing with workaround working you your
    """.split()  # noqa: SIM905
)
_BOLD_LINE = re.compile(r"\s*(?P<mark>\*\*|__)(?P<words>\w[^*\n]{3,190}[^*\s])(?P=mark)[ \t]*(?:\n|$)")
_MOST = 200
_MOST_OF_CLAIM = 100


def title_of(blocks: Sequence[Block]) -> str:
    """The first heading, or a first line in bold type if there is none; "" if it comes from a form."""
    first = next((block.text for block in blocks if block.kind == "heading"), "")
    if not first and blocks and blocks[0].kind == "prose":
        bold = _BOLD_LINE.match(blocks[0].text)
        first = bold["words"] if bold else ""
    return "" if is_form_heading(first) else first


def title_of_claim(claim: Claim) -> str:
    """The first bug of a claim, as a title of one line."""
    first = next((check.text for check in claim.having(Role.BUG)), "")
    words = " ".join(first[: 2 * _MOST].split())
    return words if len(words) <= _MOST_OF_CLAIM else words[: _MOST_OF_CLAIM - 1] + "…"


def is_form_heading(heading: str) -> bool:
    """True if a heading comes from an issue form: `🐛 Describe the bug`, `To Reproduce`, `Versions`."""
    words = re.findall(r"[^\W\d_]+", heading[:_MOST].casefold())
    # Forms have no heading such as `A bug`, but people write them.
    return words[:1] != ["a"] and all(word in _WORDS for word in words)
