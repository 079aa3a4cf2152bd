"""Recognises well-known error messages without their type. Every pattern is linear."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import ANY_ERROR, Check, CheckKind
from app.intake.words.vocabulary import FLAGS, INSTEAD, MODALS, any_of

_BEGINNINGS = (
    r"Expected all tensors to be on the same device",
    r"CUDA error: [a-z][\w -]{5,60}",
    r"mat1 and mat2 (?:shapes cannot be multiplied|must have the same dtype)",
    r"Trying to backward through the graph a second time",
    r"one of the variables needed for gradient computation has been modified",
    r"element \d+ of tensors does not require grad",
    r"The size of tensor a \(\d+\) must match",
    r"index (?:-?\d+ is )?out of (?:range in self|bounds for (?:axis|dimension) \d+ with size \d+)",
    r"\"\w{2,60}\" not implemented for '\w+'",
    r"Input type \([\w.]{3,60}\) and (?:weight|bias) type",
    r"expected scalar type \w+ but found \w+",
    r"expected m1 and m2 to have the same dtype",
    r"shape '\[[\d, -]{1,60}\]' is invalid for input of size",
    r"operands could not be broadcast together",
    r"Could not run 'aten::[\w.]{1,60}' (?:with|from)",
    r"The operator 'aten::[\w.]{1,60}' is not currently implemented",
    r"Given groups=\d+, weight of size",
    r"a leaf Variable that requires grad is being used in an in-place operation",
    r"grad can be implicitly created only for scalar outputs",
    r"Can't call numpy\(\) on Tensor that requires grad",
    r"can't convert cuda:\d+ device type tensor to numpy",
    r"Sizes of tensors must match except in dimension",
    r"maximum recursion depth exceeded",
    r"(?:module )?'[\w.]{1,60}'(?: object)? has no attribute '\w{1,60}'",
    r"got an unexpected keyword argument '\w{1,60}'",
    r"could not broadcast input array from shape",
    r"setting an array element with a sequence",
    r"Default process group has not been initialized",
)
_MESSAGE = re.compile("|".join(f"(?:{beginning})" for beginning in _BEGINNINGS))
_NOT_SEEN = re.compile(
    rf"\b(?:should(?: raise| say| be)?|expected|{any_of(INSTEAD)}|no longer|not|n['’]t"
    r"|without)\s+[^.;\n]{0,30}$|\bif\s[^.;\n]{0,30}$",
    FLAGS,
)
_ENDS = re.compile(r"[`\"”\n]|(?<=[a-z!)])[.!?](?=\s+[A-Z])|\s[—–]\s|, (?:while|even|which|when)\b")
_MOST_MESSAGE = 400
# `fails with "the message"`, `the error is `the message``, `complains about "the message"`.
_SAYS = (
    r"(?:(?:fails?|failed|failing|crash(?:es|ed)?|dies|died|blows? up|errors? out|stops?|stopped"
    r"|aborts?|aborted|ends?|breaks?|exits?)"
    r"(?: \w{1,12}){0,4}? (?:with|saying|by saying|and says|and prints|because of|due to)"
    r"|(?:raises?|raised|throws?|threw|complains?|complained"
    r"|rejects? it)(?: \w{1,12}){0,3}?(?: about| that| with| saying)?"
    r"|(?:error(?: message)?|exception|error text)(?: \w{1,12}){0,3}?(?: is| was| says| reads| being)?)"
)
_QUOTED = (
    r"(?:\"(?P<a>[^\"\n]{8,400})\"|`(?P<b>[^`\n]{8,400})`|“(?P<c>[^”\n]{8,400})”"
    r"|'(?P<d>[^'\n]{8,400})'(?!\w))"
)
_QUOTED_MESSAGE = re.compile(
    rf"\b{_SAYS}:? (?:(?:the|an?|this|following|error|exception|message)[: ]{{1,2}}){{0,4}}"
    rf"{_QUOTED}",
    FLAGS,
)
# `I get "tuple index out of range"`: words that only errors use tell it from a printed text.
_GETS_MESSAGE = re.compile(
    r"\b(?:gets?|got|getting|gives?(?: me)?|receive|see|prints?|says|shows?|returns?|ends in|results? in):? "
    r"(?:(?:the|an?|this|following|error|exception|message)[: ]{1,2}){0,4}"
    rf"{_QUOTED}",
    FLAGS,
)
_WORDS_OF_ERRORS = re.compile(
    r"\b(?:out of (?:range|bounds)|cannot|can['’]t|could not|unable to|invalid|unsupported|unexpected"
    r"|not supported|not implemented|not found|no such|no attribute|is not|are not|does not|do not|must be"
    r"|must have|has to be|failed to|missing|mismatch|already exists|not callable|not iterable"
    r"|not subscriptable|not defined|expected)\b",
    FLAGS,
)
_LINE_OF_MESSAGE = re.compile(
    r"^\W{0,3}(?:the )?(?:full )?(?:error(?: message)?|exception"
    r"|message)\W{0,3}: (?P<message>[A-Z'][^\n]{8,400})$",
    FLAGS,
)
# A message is a sentence: at least two words of letters, and no call or assignment.
_WORDS = re.compile(r"(?<![\w.(\[])[A-Za-z][a-z'’]{1,20}(?![\w.(=\]])")
_CODE = re.compile(r"^[\w.]+\(|^[\w.]+ ?= ?|^\[|^\d[\d.]*$")
_FEWEST_WORDS = 2
# `this raises an error`, `fails with an exception`, `I get an error`, `it errors out`.
_AN_ERROR = re.compile(
    r"\b(?:(?:raises?|raised|throws?|threw|gives?(?: me)?|gave(?: me)?|gets?|got|getting|produces?|causes?"
    r"|caused"
    r"|results? in|ends? (?:in|with)|leads? to|fails? with|crash(?:es)? with|dies with|stops? with|returns?)"
    r" (?:an?|the|this|some|that)(?: \w{1,16})? (?:error|exception|traceback)\b"
    r"(?! bars?\b| code\b| term\b| rate\b| of \d)"
    r"|errors? out\b|(?:an?|the) (?:error|exception) (?:is|was|gets) (?:raised|thrown)|error is thrown)",
    FLAGS,
)
_NO_ERROR = re.compile(
    rf"\b(?:{any_of(MODALS)}|expect(?:ed|s)?|would|could|might|may|if|unless|whether|no longer|not|never"
    r"|without|instead of|rather than|used to|docs?|documentation|correctly|rightly)\b[^.;\n]{0,40}$"
    r"|n['’]t\b[^.;\n]{0,20}$",
    FLAGS,
)
# `an error of 0.1`, `the error is 3`, `an error when I pass nothing, as it should`.
_GOES_ON = re.compile(
    r"[`'\"]? (?:of|is|was|between|bound|estimate|norm|in the (?:result|value|output)|around|about"
    r"|above|below)\b"
    r"|[^.;\n]{0,60}\b(?:as (?:it should|expected|documented)"
    r"|which is (?:right|fine|correct|expected))\b",
    FLAGS,
)
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_MOST_SENTENCES = 200
_MOST_OUTPUT = 20_000
# The lines that functions such as `assert_allclose` print for a failed comparison, without their traceback.
_FAILED_COMPARISON = re.compile(
    r"(?P<message>Mismatched elements: \d+ / \d+|Tensor-likes are not (?:close|equal)!"
    r"|(?:Scalars|Booleans) are not (?:close|equal)!|(?:Arrays|Items) are not (?:almost |approximately )?"
    r"equal|Not equal to tolerance|(?:DataFrame|Series|Index)[\w.\[\]() \"=-]{0,80} are different)"
)


def known_message(sentence: str) -> list[Check]:
    """The check of an error that a sentence quotes by its message alone."""
    match = _MESSAGE.search(sentence)
    if match is None or _NOT_SEEN.search(sentence[max(0, match.start() - 50) : match.start()]):
        return []
    end = _ENDS.search(sentence, match.end())
    message = (
        sentence[match.start() : end.start() if end else len(sentence)][:_MOST_MESSAGE]
        .strip(" `'\"")
        .rstrip()
    )
    return [Check(text=sentence, kind=CheckKind.EXCEPTION, message=message)]


def quoted_message(sentence: str) -> list[Check]:
    """The check of an error that a sentence quotes without its type: `fails with "index out of range"`."""
    has_quotes = any(sign in sentence for sign in "\"`“'")
    match = _QUOTED_MESSAGE.search(sentence) if has_quotes else None
    if match is None and ":" in sentence and any(word in sentence for word in ("rror", "xception", "essage")):
        match = _LINE_OF_MESSAGE.search(sentence)
    if match is None and has_quotes and (gets := _GETS_MESSAGE.search(sentence)):
        match = gets if _WORDS_OF_ERRORS.search(gets[gets.lastgroup or 0]) else None
    if match is None or _NOT_SEEN.search(sentence[max(0, match.start() - 50) : match.start()]):
        return []
    message = next(text for text in match.groups() if text).strip()
    if len(_WORDS.findall(message)) < _FEWEST_WORDS or _CODE.search(message):
        return []
    return [Check(text=sentence, kind=CheckKind.EXCEPTION, message=message)]


def unnamed_error(texts: Sequence[str]) -> list[Check]:
    """The check of an error of which a text says only that it comes: `this raises an error`.

    Its type is `Exception`. `does not work` is no such text: a wrong value does not work either.
    """
    for text in texts:
        if not any(word in text for word in ("rror", "xception", "raceback")):
            continue
        for sentence in _SENTENCES.split(text[:_MOST_OUTPUT])[:_MOST_SENTENCES]:
            match = _AN_ERROR.search(sentence[:_MOST_MESSAGE])
            if (
                match
                and not _NO_ERROR.search(sentence[: match.start()])
                and not _GOES_ON.match(sentence, match.end())
            ):
                sentence_text = sentence.strip()[:_MOST_MESSAGE]
                return [
                    Check(text=sentence_text, kind=CheckKind.EXCEPTION, exception_type=ANY_ERROR, message="")
                ]
    return []


def failed_comparison(text: str) -> list[Check]:
    """The check of an output that shows what a failed comparison prints, without the name of the error."""
    match = _FAILED_COMPARISON.search(text[:_MOST_OUTPUT])
    if match is None:
        return []
    return [
        Check(
            text=match["message"],
            kind=CheckKind.EXCEPTION,
            exception_type=AssertionError.__name__,
            message=match["message"].partition(":")[0],
        )
    ]
