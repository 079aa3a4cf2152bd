"""The words that say that code, or another version or machine, works."""

from __future__ import annotations

import re

from app.intake.words.keyed_pattern import keyed_pattern, words_of
from app.intake.words.vocabulary import SHOW, any_of

WORKS = keyed_pattern(
    "work works worked fine passes behaves error errors problem problems crash crashs "  # codespell:ignore
    "workaround comparison should correct right ok okay good correctly expected proper",
    r"(?<!not )(?<!n't )(?<!longer )(?<!never )\b(?:works?|worked|(?:is|was|were) fine|runs fine|passes"
    r"|behaves|no (?:error|problem|crash)s?|(?<!need a )(?<!want a )(?<!any )workaround|for comparison"
    r"|as it should"
    r"|(?:is|was|were) (?:all |still )?(?:correct|right|ok|okay)"
    r"|(?:was|were) (?:all |still )?good(?! (?:for|at|to|enough|idea|reason)\b)"
    r"|(?:the|a) (?:right|correct) (?:thing|answer|value|result|output|one)s?|correctly|as expected"
    # `My old laptop has the correct`, with the value below.
    r"|(?:has|had|have|gets?|got|gives?|gave|prints?|printed|shows?|showed|returns?|returned|see|saw|says?|said"
    r"|yields?|yielded|produces?|produced) (?:me |us |back )?the (?:right|correct|proper|expected)"
    r"(?= ?[:.…]{0,3}\s*$))\b",
)
# `It does not give the correct result`.
_RIGHT_ONE = r"(?:the|a|an) (?:right|correct|proper|expected)\b"
_DENIED = re.compile(
    r"(?:\b(?:not|no longer|cannot|fail(?:s|ed)? to|unable to|far from|hardly)\b|n['’]t\b)"
    r"(?: (?!(?:has|had|gives|gave|gets|got|prints|shows|returns)\b)[\w'’]{1,20}){0,4}?"
    rf" {_RIGHT_ONE}"
    rf"|\b(?:never|none|neither|nobody|nothing|no one)\b(?: [\w'’]{{1,20}}){{0,6}}? {_RIGHT_ONE}",
    re.IGNORECASE,
)
# Where this stands beside words such as "works", they speak of another version or machine, not of the code
# below.
_OTHER_PLACE = re.compile(
    r"\b(?:(?:with|on|in|under|using|for|at|until|till|up to|before|since) (?:[\w-]{1,20} ){0,3}"
    r"v?\d{1,4}\.(?:\d{1,4}|x)(?:\.\d{1,4})?|(?:on|under|with) (?:\w{1,12} ){0,2}(?:windows|linux"
    r"|ubuntu|debian"
    r"|mac ?os|osx|colab|kaggle|wsl|mac|macbook|(?:other|another|older?|previous|earlier|second|old|my|his) "
    r"(?:\w{1,12} )?(?:machines?|computers?|laptops?|servers?|versions?|releases?|builds?))"
    r"|(?:in|with|on|before|until) (?:all |the |any |an? ){0,2}(?:older|previous|earlier|last|former|prior) "
    r"(?:\w{1,12} )?(?:versions?|releases?|builds?)|used to (?:work|be)|worked (?:before"
    r"|previously|earlier)"
    # `NumPy 1.26 is fine, there I get 3`.
    r"|[a-z][\w-]{1,20} v?\d{1,4}\.(?:\d{1,4}|x)(?:\.\d{1,4})? (?:is|was|works?|worked|behaves?|gives"
    r"|gave)|(?<![\w.])v?\d{1,4}\.\d{1,4}\.\d{1,4} (?:is|was|works?|worked|behaves?))\b",
    re.IGNORECASE,
)
# `where it had told me`, `previously it printed`: above an output, as it was before.
AS_IT_WAS = (
    rf"(?:(?:it|this|that|which) used to {any_of(SHOW)}"
    r"|(?:it|this|that|which) (?:had|would have) (?:always )?"
    r"(?:told|printed|given|returned|shown|said|answered)"
    r"|(?:previously|formerly),? (?:it|this|that) (?:told|printed|gave|returned|showed|said|answered|was))"
)
_BEFORE = keyed_pattern(
    "up until till before prior older earlier version versions release releases build builds",
    r"\b(?:(?:up to|until|till|before|prior to|older than|earlier than) (?:[\w-]{1,20} ){0,2}"
    r"v?\d{1,4}\.(?:\d{1,4}|x)"
    r"|(?:in|with|under|on|for) (?:all|every|each|any)(?: of)?(?: the)?"
    r"(?: (?:other|older?|earlier|previous|former))? (?:versions?|releases?)"
    r"|(?:in|with|on|before|until) (?:all |the |any |an? ){0,2}(?:older|previous|earlier|last|former|prior) "
    r"(?:\w{1,12} )?(?:versions?|releases?|builds?))\b",
)
_PAST = re.compile(
    r"\b(?:was|were|gave|printed|returned|raised|showed|warned|worked|did|had|used to)\b", re.IGNORECASE
)
_KEYS_OF_PRAISE = WORKS.keys | _BEFORE.keys
WRONGLY = re.compile(
    r"\b(?:but|fail\w*|wrong\w*|incorrect\w*|crash\w*|error|bug|unexpected\w*|broken|should|mine|off|garbage|nonsense"
    r"|instead|rather than|and not)\b",
    re.IGNORECASE,
)
# In `The first is correct` the words are about one line, not about all of the code.
_OF_ONE_LINE = re.compile(
    r"\b(?:first|second|third|last|former|latter|upper|lower)(?: (?:one|line|value|result|output|number"
    r"|print(?:out)?|call))? (?:is|was) (?:correct|right|ok|okay|fine)\b",
    re.IGNORECASE,
)


# `First order is fine, the second derivative is not`: one thing works, and another does not.
_BUT_NOT = re.compile(
    r"(?:[,;:–—]|\b(?:and|while|whereas|yet)) (?!who\b|whose\b)(?:[\w`-][\w'’`.-]{0,40} ){1,6}?"
    r"(?:(?:is|are|was|were|do|does|did|can)(?: not\b|n['’]t\b)"
    r"|cannot\b|never\b|nicht\b|n['’]est pas\b|ne \w{1,12} pas\b|no (?:funciona|es|va)\b)"
    r"[^.;,\n]{0,20}(?:[.;,:!]|$)",
    re.IGNORECASE,
)
_MOST_WORDS = 300
_AS_IT_SHOULD = re.compile(r"\bas it should(?: be)?\b(?! not)", re.IGNORECASE)
_FAILS_HERE = re.compile(
    r"\W{0,3}(?:(?:I|we) (?:get|got|see)|(?:it|this|that|[\w.]{1,60}(?:\([^()\n]{0,40}\))?`?) (?:gives?|gave"
    r"|returns?|returned|prints?|printed|yields?|produces?|shows?|hands))(?: (?:back|me|us|now|only|just))? "
    r"(?:an? |the )?[\"'`]?(?:nan|inf|errors?|exceptions?|wrong|incorrect|nonsense|garbage|segfault)\b",
    re.IGNORECASE,
)

# `This raises (rightly, I would say):`, `It rightly refuses that:`
_RIGHTLY = re.compile(
    r"(?:\(|, )(?:and )?(?:quite |very )?(?:rightly|correctly|properly|deservedly|justly"
    r"|as it (?:should|ought to|must)|as (?:expected|documented|intended)|of course"
    r"|which (?:is|seems|looks) (?:right|fine|ok|correct|expected|good))(?: so)?"
    r"(?:,? (?:I (?:would |'d )?(?:say|think|guess|believe)|in my (?:opinion|eyes)|be))?(?:\)|,)?\s{0,3}:$"
    r"|\b(?:rightly|correctly|properly) (?:raises|refuses|rejects|throws|complains|fails|gives|prints"
    r"|returns|warns)[^.;,]{0,60}:$",
    re.IGNORECASE,
)

_I_GET = (
    r"(?:what )?(?:I|we|you)(?: (?:now|still|only|just|instead|actually|always))? (?:get|see|have|obtain)"
    r"(?: (?:this|back|instead|the following))?"
    r"|(?:it|this|that|(?:the|my) [\w-]{1,20})(?: (?:now|still|only|just|instead|always))?"
    r" (?:prints?|gives?|returns?|shows?|yields?|outputs?|says?|is)(?: me)?"
    r"(?: (?:this|instead|the following))?"
)
_TODAY = (
    r"(?:now|today|currently|nowadays|these days|(?:ever )?since (?:[\w.-]{1,20} ){0,3}?[\w.-]{1,20}"
    r"|as of (?:[\w.-]{1,20} ){0,2}?[\w.-]{1,20}|after (?:the |an? )?(?:update|upgrade|upgrading|updating))"
)
_LINKS = r"(?:(?:but|and|yet|while|whereas|however|instead|so),? ){0,2}"
# The end of `It worked in 1.4, but now I get:`, `1.4 is fine. Since 2.0 it prints:`, `1.4 is right. Now:`.
_NOW_HERE = re.compile(
    rf"(?:[.;,:!?)–—-] |\b(?=(?:but|and|yet|while|whereas) )){_LINKS}(?:{_TODAY},?(?: (?:{_I_GET}))?"
    r"|(?:I|we|you|it|this|that) (?:now|currently) [a-z]{2,12}(?: me)?"
    r"|(?:the )?current (?:output|result|behaviou?r))(?: is)?\W{0,6}$",
    re.IGNORECASE,
)
# The end of `It worked in 1.4. I get:`, where the tense tells that these are two places.
_HERE = re.compile(rf"[.;!?)] {_LINKS}(?:{_I_GET})\W{{0,6}}$", re.IGNORECASE)


def turns_to_here(words: str) -> bool:
    """True if words about another place end with what happens here: `It worked in 1.4.0. I get:`."""
    words = words[-_MOST_WORDS:]
    if _NOW_HERE.search(words):
        return True
    here = _HERE.search(words)
    return here is not None and _PAST.search(words, 0, here.start()) is not None


def may_praise(text: str) -> bool:
    """False if the text says nothing of what works, elsewhere or earlier. Most lines of a log do not."""
    return not _KEYS_OF_PRAISE.isdisjoint(words_of(text))


def says_it_fails(words: str) -> bool:
    """True if a sentence begins with what is wrong here: `I get nan, where another program gives 1.0`."""
    return _FAILS_HERE.match(words) is not None


def is_rightly_so(caption: str) -> bool:
    """True if a caption ends with words that call what it announces right: `This raises (rightly):`."""
    return _RIGHTLY.search(caption.rstrip()) is not None and not denies_right(caption)


def denies_right(words: str) -> bool:
    """True if the words say that something is not the right one: `it does not give the correct result`."""
    return _DENIED.search(words) is not None


def speaks_of_another_place(text: str) -> bool:
    """True if the words say that it works in another version or on another machine."""
    return WORKS.search(text) is not None and _OTHER_PLACE.search(text) is not None and not denies_right(text)


def tells_the_past(text: str) -> bool:
    """True if the words say what happened in earlier versions, and not that it was wrong there."""
    return (
        _BEFORE.search(text) is not None and _PAST.search(text) is not None and WRONGLY.search(text) is None
    )


def is_only_praise(text: str) -> bool:
    """True if the words praise something, and name nothing that is wrong or right in one line only."""
    return (
        WORKS.search(text) is not None
        and not denies_right(text)
        and WRONGLY.search(text) is None
        and _OF_ONE_LINE.search(text) is None
        and _BUT_NOT.search(text) is None
    )


def praises_another_place(text: str) -> bool:
    """True if the words say that all is right in another version or on another machine."""
    return speaks_of_another_place(text) and is_only_praise(_AS_IT_SHOULD.sub("as expected", text))
