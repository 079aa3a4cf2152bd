"""Finds words that put an output under a condition which the script does not meet, or in another program.

Examples: `With the last line replaced by `f(3)` I get`, `When anomaly detection is turned on`, `In another
project I once saw`.
"""

from __future__ import annotations

import re

from app.intake.memory import remembers
from app.intake.words.keyed_pattern import key_set, keyed_pattern, words_of

_OPENING = keyed_pattern(
    "if when whenever once with without after by using upon while changing setting passing replacing adding "
    "removing switching turning enabling disabling wenn mit avec si con cuando",
    r"(?:^|[,;:(]\s*|\b(?:but|and|also|then|however|however,|now|interestingly,?"
    r"|note(?: that)?,?|fwiw,?|fyi,?|btw,?|p\.?s\.?:?"
    r"|by the way,?) )"
    r"(?:if|when|whenever|once|with|without|after|by|using|upon|while|changing|setting|passing|replacing|adding"
    r"|removing|switching|turning|enabling|disabling|wenn|mit|avec|si|con|cuando)\b",
)
# Words about other code or another setting than the script has.
_OTHER_CODE = re.compile(
    r"\bin place of\b|\binstead of\b|\binstead\b|\bturn(?:ed|ing)? (?:it |this |that )?(?:on|off)\b"
    r"|\b(?:en|dis)abl(?:e[ds]?|ing)\b|\breplac(?:e[ds]?|ing)\b|\bchang(?:e[ds]?|ing)\b|\bswap(?:ped|ping)?\b"
    r"|\bremov(?:e[ds]?|ing)\b|\badd(?:ed|ing|s)?\b|\bcomment(?:ed|ing)? (?:it |this |that |.{1,40} )?out\b"
    r"|\bun-?comment\w*|\bpass(?:ed|ing)?\b|\bset(?:ting)?\b|\bswitch(?:ed|ing)?\b|\bmodif(?:y|ied|ying)\b"
    r"|\bon top\b|\bin addition\b|\badditionally\b"
    r"|\bstatt\b|\banstelle\b|\bau lieu\b|\ben lugar\b|\bwithout (?:the|it|that|this|`|@)"
    r"|\b(?:side note|by the way|unrelated|incidentally|in passing|apart from that)\b",
    re.IGNORECASE,
)
# `With `python -W error`` and `started with 100000 threads` say how it is run, if the script does not.
_STARTED = re.compile(
    r"\b(?:start(?:ed|ing)?|run(?:ning)?|launch(?:ed|ing)?|call(?:ed|ing)?|invok(?:ed|ing)) "
    r"(?:it |this |that )?(?:with|under|as) (?:an? |the )?(?P<how>[^,.:;\n]{1,60})",
    re.IGNORECASE,
)
_FLAG = re.compile(r"(?<![\w-])-{1,2}[A-Za-z]|\w=\S|^[A-Z][A-Z0-9_]{3,}$")
# `axis=0` in `np.mean(axis=0)`.
_KEYWORD = re.compile(r"(?<![\w-])[a-z_]\w{0,40}\s?=\s?[^=\s,()]{1,60}")
_NUMBERS = re.compile(r"(?<![\w.])\d+(?![\w.])")
_VERSION = re.compile(r"\d\.\d")
# `Inside of `with np.errstate(all="raise"):``, `Under `torch.no_grad()``, `in an `autocast` block`.
_CONTEXTS = key_set(
    "errstate no_grad inference_mode set_grad_enabled autocast catch_warnings localcontext option_context "
    "config_context parallel_config detect_anomaly printoptions rc_context enable_x64 default_device "
    "set_default_device deterministic_algorithms device_scope workprec workdps"
)
_CONTEXT_NAMES = rf"(?:{'|'.join(sorted(_CONTEXTS))})"
_INSIDE = re.compile(
    r"\b(?:inside|within|in|under|with|(?:wrapped|enclosed|surrounded|put|placed) (?:in|into|by|with|inside)"
    r"|innerhalb|unter|mit|dans|sous|avec|dentro|con) (?:of |von |de )?"
    r"(?:an? |the |one |einem |einer |eines |un |une |le |la |bloc |bloque )?"  # codespell:ignore
    rf"(?:`(?P<code>[^`\n]{{2,200}})`"
    rf"|(?P<name>(?:\w{{1,20}}\.){{0,3}}{_CONTEXT_NAMES}\b(?:\([^()\n]{{0,80}}\))?))"
    r"(?P<block> (?:block|context|manager|section|clause|body))?",
    re.IGNORECASE,
)
_WORDS_OF_BLOCKS = _CONTEXTS | key_set("block context manager section clause body async")
_OF_CONTEXT = re.compile(rf"(?:async )?with\s|(?:\w{{1,20}}\.){{0,3}}{_CONTEXT_NAMES}\b", re.IGNORECASE)
_WAY_TO_CONTEXT = re.compile(r"(?:(?:async )?with\s+)?(?:\w{1,20}\.){0,3}", re.IGNORECASE)
_ANOTHER = re.compile(
    r"\b(?:another|a different|a second|a further|some other) (?:error|exception|traceback"
    r"|failure|crash|message"
    r"|problem|result|output|warning)\b",
    re.IGNORECASE,
)
# Words about another program than the script of the report, or about what others saw.
_OTHER_PROGRAM = keyed_pattern(
    "another other different unrelated older earlier anderen autre otro outro другом side sidenote aside "
    "unrelatedly incidentally nebenbei passage somebody someone people colleague coworker friend user users "
    "others",
    r"\b(?:in|with|from|by|for|of) (?:another|some other|(?:a|one) (?:completely |totally |quite )?different"
    r"|an? (?:unrelated|older|earlier)|(?:an)?other) (?:\w{1,12} )?(?:projects?|scripts?|programs?"
    r"|code ?bases?|notebooks?|repositor(?:y|ies)|repos?|apps?|applications?|jobs?"
    r"|issues?|tickets?|tools?|librar(?:y|ies)|reports?|files?)\b"
    r"|\b(?:in einem anderen|mit einem anderen|dans un autre|avec un autre|en otro|con otro|em outro"
    r"|в другом) (?:projekt|skript|programm|projet|script|programme|proyecto|programa|projeto|проекте"
    r"|скрипте)\b"
    r"|^\W{0,3}(?:side ?note|aside|unrelated(?:ly)?|incidentally|nebenbei|au passage)\b"
    r"|\b(?:somebody|someone|some people|a colleague|a coworker|a friend|another user|other users|others)"
    r"(?: else)?(?: of mine| here)? (?:once |also |has |had |have |too )?(?:reported|reports?|saw|sees?|seen"
    r"|gets?|got|hits?|mentioned|ran into)\b",
)
_OTHER_PROGRAM_IN_ASIA = re.compile(
    r"(?:另一个|别的|其他)(?:项目|脚本|程序)|別の(?:プロジェクト|スクリプト|プログラム)"
)
_KEYS_OF_CONDITIONS = _OPENING.keys | _OTHER_PROGRAM.keys | _CONTEXTS
# `Schreibe ich statt dessen `x[0] = "a"``: a statement that the script does not have.
_ASSIGNS = re.compile(r"[\w.]{1,60}(?:\[[^\[\]]{0,40}\])?\s?[-+*/@]?=(?!=)")
_IN_PLACE = re.compile(r"\binstead\b|\bin place of\b|\bstatt(?: ?dessen)?\b", re.IGNORECASE)
_CODE = re.compile(r"``?([^`\n]{2,300})``?")
# `Before that I tried `s.astype(int).sum()`, which ends with`: calls that the script does not have.
_TRIAL = keyed_pattern(
    "tried tries trying attempt attempts attempted played playing experimented around workaround idea detour",
    r"\b(?:tried|tries|trying|attempt(?:s|ed)?|play(?:ed|ing) (?:with|around)|experimented|(?:going"
    r"|go|went|get|got|work(?:ed|ing)?) around|workaround|(?:first|next|other|second|only|my|one) idea"
    r"|detour)\b",
)
_CALLED = re.compile(r"(\w{1,60})\(")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
_SPACE = re.compile(r"\s+|[\"']")
_MOST = 400
# In R, `mean(c(1, 2))` gives 1.5.
_OF_CALL = re.compile(
    r"\W{0,4}(?:(?:in|with|using|and|but|while) (?:[\w.+-]{1,20},? ){0,3})?"
    r"`[^`\n(]{0,80}?(?P<name>\w{1,40})\([^`\n]{0,200}` (?:also |correctly |still )?"
    r"(?:gives?|gave|returns?|returned|prints?|printed|yields?|is|shows?)\b",
    re.IGNORECASE,
)
_IN_OTHER_LANGUAGE = re.compile(
    r"\W{0,4}(?:[Ii]n|[Ww]ith|[Uu]sing) (?:R|MATLAB|Matlab|Octave|Julia|Maple|Mathematica|Excel"
    r"|JavaScript)\b,? `"
)


def condition_of(introduction: str, script: str) -> str:
    """The sentence right above a block, if it names a condition that the script does not meet; else empty."""
    last = introduction.strip().rpartition("\n")[2][-_MOST:]
    sentence = _SENTENCE.split(last.strip())[-1] if last.strip() else ""
    if names_other_program(sentence) or _is_inside_other_block(sentence, script):
        return sentence
    snippets = [match[1] for match in _CODE.finditer(sentence)]
    if _is_trial_of_other_code(last, script):
        return sentence
    if not _OPENING.search(sentence):
        other = [
            snippet for snippet in snippets if _ASSIGNS.match(snippet) and _bare(snippet) not in _bare(script)
        ]
        return sentence if other and _IN_PLACE.search(sentence) else ""
    if not (_OTHER_CODE.search(sentence) or _ANOTHER.search(sentence)):
        return sentence if _is_started_otherwise(sentence, snippets, script) else ""
    return "" if snippets and all(_bare(snippet) in _bare(script) for snippet in snippets) else sentence


def _is_trial_of_other_code(words: str, script: str) -> bool:
    """True if words tell of an attempt, and each piece of code beside them calls what the script does not."""
    if _TRIAL.search(words) is None:
        return False
    own = _bare(script)
    calls = [names for match in _CODE.finditer(words) if (names := _CALLED.findall(match[1]))]
    return bool(calls) and all(any(f"{name}(" not in own for name in names) for names in calls)


def may_name_condition(text: str) -> bool:
    """False if no sentence of the text can name a condition. Most lines of a log do not."""
    return "`" in text or not text.isascii() or not _KEYS_OF_CONDITIONS.isdisjoint(words_of(text))


def names_other_program(condition: str) -> bool:
    """True if a condition is no setting of the script: another program or somebody else shows it."""
    return _OTHER_PROGRAM.search(condition) is not None or (
        not condition.isascii() and _OTHER_PROGRAM_IN_ASIA.search(condition) is not None
    )


def _is_inside_other_block(sentence: str, script: str) -> bool:
    """True if the sentence puts it inside of a `with` block that the script does not have."""
    if "`with" not in sentence and _WORDS_OF_BLOCKS.isdisjoint(words_of(sentence)):
        return False
    for match in _INSIDE.finditer(sentence):
        code = match["code"] or match["name"]
        is_block = match["name"] or match["block"] or _OF_CONTEXT.match(code)
        # `with np.errstate():` may be `numpy.errstate(over="raise")` in the script.
        own = _WAY_TO_CONTEXT.sub("", code.strip(), count=1).rstrip("): ").rstrip("(")
        if is_block and _bare(own) not in _bare(script):
            return True
    return False


def _is_started_otherwise(sentence: str, snippets: list[str], script: str) -> bool:
    """True if the sentence names a flag, a setting or a number of something that the script does not have."""
    for snippet in snippets:
        pairs = [_bare(match) for match in _KEYWORD.findall(snippet)]
        own = _bare(script)
        if _FLAG.search(snippet) and _bare(snippet) not in own and not _all_in(pairs, own):
            return True
    started = _STARTED.search(sentence)
    if started is None or _VERSION.search(started["how"]):
        return False
    numbers = _numbers_of(started["how"])
    return bool(numbers) and numbers.isdisjoint(_numbers_of(script))


def _all_in(pairs: list[str], own: str) -> bool:
    return bool(pairs) and all(pair in own for pair in pairs)


@remembers()
def _numbers_of(text: str) -> frozenset[str]:
    return frozenset(_NUMBERS.findall(text))


@remembers()
def _bare(code: str) -> str:
    return _SPACE.sub("", code)


def is_of_other_call(sentence: str, main: str) -> bool:
    """Whether a sentence is about what a call gives of a function that the script never calls."""
    match = _OF_CALL.match(sentence[:_MOST]) if "`" in sentence and main else None
    if match is not None and _IN_OTHER_LANGUAGE.match(sentence):
        return True
    return match is not None and f"{match['name']}(" not in main
