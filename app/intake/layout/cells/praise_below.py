"""Finds code that works by the words below it: `That is as expected. However:` above the next code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from app.intake.snippets.parts import Part, PartKind
from app.intake.words.praise import is_rightly_so

_SUBJECT = (
    r"(?:(?:and|so|up to here|so far),? )?"
    r"(?:(?:that|this|it|which|all (?:of )?(?:that|this)|everything|all|the (?:above|first)(?: one| code)?)"
    r"(?: (?:one|part|all|much|still))?"
    r"(?:['’]s| is| was| looks| works| worked| behaves| runs| ran| passes| passed| goes)"
    r"|so far|up to here|still|works|runs|passes|again)"
)
_FINE = (
    r"(?:fine|ok(?:ay)?|good|right|correct|perfect|well|great|through|correctly|properly"
    r"|without (?:problems|error)"
    r"|as (?:it should(?: be)?|(?:I|we|one|you) (?:would )?expect(?:ed|s)?|expected|documented|intended)"
    r"|(?:exactly )?(?:what|how|as) (?:one|I|we|you|anyone|everybody) (?:would )?"
    r"(?:expect(?:s|ed)?|wants?|hoped(?: for)?)"
    r"|(?:the )?(?:expected|correct|right|desired|wanted) (?:behaviou?r|result|output|message|answer|one)"
    r"|of course|no problem)"
)
# The whole sentence, so that `That is right in 1.2 only` is none.
_PRAISE = re.compile(
    rf"\W{{0,3}}(?:{_SUBJECT},? (?:still |all |also |just |only |perfectly |quite |completely )?"
    rf"(?:{_FINE}(?:,? (?:so far|too|also|here|here too|again|of course|I think|in my eyes|of course))?)"
    r"|so far,? so good|all (?:good|fine|well)(?: so far)?|(?:this|that|it|which) (?:still )?(?:works|passes)"
    r"|no (?:problem|error|complaint)s? (?:here|so far|there|with (?:this|that)))\s?(?:[.!;✓✔✅👍]|$)[)\s]*",
    re.IGNORECASE,
)
_MOST_SENTENCE = 120


def with_praise_below(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which code is praised by the words right below it, where more code follows.

    `This works.` right above a block may be about that one, so other words have to follow.
    """
    result = [*parts]
    last_code = max((at for at, part in enumerate(parts) if part.kind is PartKind.CODE), default=0)
    for at, part in enumerate(parts[:last_code]):
        if part.kind is not PartKind.CODE:
            continue
        below = at + 1
        while parts[below].kind is PartKind.OUTPUT:
            below += 1
        if parts[below].kind is PartKind.PROSE and (
            _begins_with_praise(parts, below) or _announces_what_is_right(parts, below)
        ):
            result[at] = replace(part, praised=True)
            for output in range(at + 1, below):
                result[output] = replace(parts[output], elsewhere=True)
    return result


def _begins_with_praise(parts: Sequence[Part], at: int) -> bool:
    text = parts[at].text.lstrip()
    praise = _PRAISE.match(text[:_MOST_SENTENCE])
    if praise is None:
        return False
    return bool(text[praise.end() :].strip()) or parts[at + 1].kind is PartKind.PROSE


def _announces_what_is_right(parts: Sequence[Part], at: int) -> bool:
    caption = parts[at].text.rstrip().rpartition("\n")[2][-_MOST_SENTENCE:]
    return parts[at + 1].kind is PartKind.OUTPUT and is_rightly_so(caption)
