"""Reads claims that two dtypes, two versions, or the CPU and MPS differ. Every pattern is linear."""

from __future__ import annotations

import re

from app.intake.claim.claims import Check, CheckKind, Over, Where
from app.intake.words.vocabulary import DTYPE, FLAGS

_SHORT = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "double": "float64",
}
_NAME = re.compile(rf"(?<![\w.])(?:{DTYPE}|bf16|fp16|fp32|fp64|half|double)(?!\w)", FLAGS)
_DIFFER = re.compile(
    r"\bdiffer(?:s|ed|ence|ent)?\b|\binconsisten\w*|\bmismatch\w*|\bdisagree\w*"
    r"|\bnot (?:the )?(?:same|equal)\b|\bdiverge\w*|\bdiscrepanc\w*|\bdo(?:es)?(?:n['’]t| not) match\b"
    r"|\bunequal\b|\banother result\b",
    FLAGS,
)
_ALIKE = re.compile(
    r"\b(?:no|without(?: any)?) difference|\bnot? (?:differ|diverge)|\bboth\b.{0,40}\bsame\b|\bindifferent\b",
    FLAGS,
)
_OF_RESULTS = re.compile(
    r"\b(?:results?|outputs?|values?|answers?|behaviou?rs?|numbers?|gives?|returns?|prints?|produces?"
    r"|differ|predictions?|loss(?:es)?|gradients?)\b",
    FLAGS,
)
_IN_ONE_CALL = re.compile(
    r"\b(?:between|different|same|mismatch(?:ed)?) (?:d?types?|dtypes)\b|\b(?:expected|scalar type)\b", FLAGS
)
_VERSIONED = re.compile(
    r"\b(?:(?:py)?torch|numpy|versions?|releases?|v(?=\d)|between|from|in|on|with|vs\.?|and"
    r"|to)[ -]?v?(?P<version>\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]*\d)",
    FLAGS,
)
_ABOUT_VERSIONS = re.compile(
    r"\b(?:(?:py)?torch|numpy|versions?|releases?|upgrad\w+|update[ds]?|updating)\b|\bv\d", FLAGS
)
_CPU, _MPS = re.compile(r"\bcpu\b", FLAGS), re.compile(r"\bmps\b", FLAGS)
_ONE_OTHER = re.compile(
    r"\b(?:works?|fine|correct(?:ly)?|ok)\b[^.;\n]{0,30}\bcpu\b[^.;\n]{0,30}\b(?:fails?|wrong"
    r"|incorrect|broken|not|n['’]t|errors?)\b[^.;\n]{0,30}\bmps\b"
    r"|\b(?:fails?|wrong|incorrect|broken|errors?)\b[^.;\n]{0,30}\bmps\b[^.;\n]{0,30}\b(?:works?|fine"
    r"|correct(?:ly)?|ok|right)\b[^.;\n]{0,30}\bcpu\b",
    FLAGS,
)

# Matches `x.grad is None`, `out.requires_grad is False`, `the dtype is torch.float32`.
_ATTRIBUTE = re.compile(
    r"(?<![\w.])`?(?P<name>[A-Za-z_]\w{0,40}(?:\.[A-Za-z_]\w{0,40}){1,4}(?:\(\))?"
    r"|(?:\w{1,30} )?(?:d?type|shape|grad(?:ient)?(?: of \w{1,30})?))`? (?:is|was|are|becomes?|became"
    r"|stays?|remains?|==?) (?:always |still |silently |suddenly |actually )?`?(?P<value>None|True"
    rf"|False|torch\.Size\(\[[\d, ]{{0,60}}\]\)|\([\d, ]{{1,60}}\)|{DTYPE})(?!\w)",
    FLAGS,
)
_CONDITION = re.compile(
    r"\b(?:if|when|unless|whether|while|until|should|expect\w*|want|must|assume[ds]?|assuming|since"
    r"|because|ensure|check that)\b[^.;,\n]{0,30}$",
    FLAGS,
)
# Matches `the loss becomes nan`, `the output contains inf`, `gradients are NaN`.
_NOT_FINITE = re.compile(
    r"\b(?:becom(?:es?|ing)|became|contains?|containing|is|are|turns? (?:in)?to|goes to|gets?|gives?"
    r"|has|have|produces?|yields?|return(?:s|ed|ing)|giving|producing|yielding|outputs?|getting|got"
    r"|results? in|leads? to) (?:all |a |an |only |suddenly "
    r"|some )?`?(?P<value>[-+]?(?:nan|inf))(?:s"
    r"|inity)?\b(?!\s*(?:[:=/]|True\b|False\b|or|and|check|mask"
    r"|values? (?:are|is) (?:ignored|masked)))",
    FLAGS,
)
_NO_NAN = re.compile(
    r"\b(?:no|not|never|without|n['’]t|should|must|ha(?:s|ve) to|ought|expect\w*|would"
    r"|supposed)\b[^.;,\n]{0,30}$|\b(?:if|when|unless|where|input|contain)\b[^.;,\n]{0,20}$",
    FLAGS,
)


def two_sides(sentence: str) -> list[Check]:
    """The check of a sentence that says so; empty for any other."""
    if _ONE_OTHER.search(sentence) or (
        _DIFFER.search(sentence) and _CPU.search(sentence) and _MPS.search(sentence)
    ):
        return [Check(text=sentence, kind=CheckKind.DIFFERS, sides=("cpu", "mps"), where=Where(device="mps"))]
    if _DIFFER.search(sentence) is None or _ALIKE.search(sentence):
        return []
    return _dtypes(sentence) or _versions(sentence)


def _dtypes(sentence: str) -> list[Check]:
    dtypes = dict.fromkeys(dtype_named(match[0]) for match in _NAME.finditer(sentence))
    if len(dtypes) != 2 or _IN_ONE_CALL.search(sentence) or not _OF_RESULTS.search(sentence):
        return []
    return [Check(text=sentence, kind=CheckKind.DIFFERS, sides=tuple(dtypes))]


def dtype_named(name: str) -> str:
    """A dtype by its canonical name."""
    last = name.rsplit(".", 1)[-1].lower()
    return _SHORT.get(last, last)


def _versions(sentence: str) -> list[Check]:
    if not _ABOUT_VERSIONS.search(sentence):
        return []
    versions = dict.fromkeys(match["version"] for match in _VERSIONED.finditer(sentence))
    if len(versions) != 2:
        return []
    return [
        Check(text=sentence, kind=CheckKind.DIFFERS, over=Over.PAIR, sides=tuple(versions), where=Where())
    ]


def attribute_value(sentence: str) -> tuple[str, str] | None:
    """(name, value) if a sentence states the value of an attribute."""
    match = _ATTRIBUTE.search(sentence)
    if match is None or _CONDITION.search(sentence[max(0, match.start() - 50) : match.start()]):
        return None
    return match["name"], match["value"]


def not_finite(sentence: str) -> str | None:
    """`nan` or `inf`, if a sentence says that something is."""
    match = _NOT_FINITE.search(sentence)
    if match is None or _NO_NAN.search(sentence[max(0, match.start() - 50) : match.start()]):
        return None
    value = match["value"].lower()
    others = {hit.lower() for hit in re.findall(r"\b(?:nan|inf)", sentence, FLAGS)}
    return value if len(others) == 1 else None
