"""The title of a report that has none: its first heading, unless that is a template's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.markdown import Block

_KIND = (
    r"(?:minimal|short|small|simple|full|complete|reproducible|reproducing|self contained|standalone|working|sample|example|python|my|your"
    r"|the|a|an)"
)
_THING = (
    r"(?:bug|issue|problem|feature|error|behaviou?rs?|results?|outputs?|code|scripts?|snippets?|examples?|repro|reproduction|reproducer|mre|mwe"
    r"|test case|environment|setup|versions?|system|platform|logs?|traceback|stack ?trace|report|request|question|context|details?|info\w*"
    r"|description|summary|solution|fix|workaround|screenshots?|message|statement|type|steps|configuration|installation|hardware|software)"
)
# Every word of such a heading comes from a form: `🐛 Describe the bug`, `Expected behavior`, `To Reproduce`, `Versions`.
_FORM = re.compile(
    rf"(?:(?:please|steps|how|code|way|command|script|instructions)? ?(?:to )?reproduc\w+(?: it| (?:this|the) {_THING})?"
    r"|(?:minimal|min|minimum|short|small) repro\w*"
    rf"|(?:please )?(?:describe|explain) (?:(?:the|your) )?{_THING}"
    rf"|(?:{_KIND} ){{0,3}}(?:(?:expected|actual|current|observed|desired|additional|relevant|possible|suggested|other|bug|issue|error"
    rf"|system|environment|version|feature|problem|log|code|detailed|brief|runtime|output) ){{0,2}}{_THING}(?: of (?:the )?{_THING})?"
    r"|to reproduce(?: the (?:bug|issue|problem|behaviou?r))?|expected|actual|overview|motivation|introduction|background|notes?"
    r"|alternatives|pitch|tl ?dr|checklist|check list|prerequisites?|search before asking|code of conduct|contact details"
    r"|what (?:did|do) (?:you|i) .{0,60}|what (?:has |actually )?happen\w*(?: instead)?"
    r"|what (?:is|was) (?:the )?(?:expected|actual|problem).{0,20}|who can help|information|tasks|custom code|have you .{0,60}"
    r"|os platform.{0,40}|before (?:you )?(?:submit|open|report|ask|fil)\w*.{0,40}|collect env|references?|links?"
    r"|additional \w+|cc|other|questions and help|anything else.{0,40}|are you willing.{0,40})"
)
_MOST = 200


def title_of(blocks: Sequence[Block]) -> str:
    """The first heading, or nothing where a form put it there."""
    first = next((block.text for block in blocks if block.kind == "heading"), "")
    return "" if is_of_a_form(first) else first


def is_of_a_form(heading: str) -> bool:
    """Whether a heading is one of an issue form, and says nothing of this report."""
    words = " ".join(re.sub(r"[\W_]+", " ", heading[:_MOST]).casefold().split())
    return not words or _FORM.fullmatch(words) is not None
