"""Sentences that say that repeats of a script give different results."""

from __future__ import annotations

import re

from app.intake.words.vocabulary import EXPECT, FLAGS, MODALS, any_of

_A_RUN = r"(?:run|start|launch|execution|session|invocation|restart|try)"
_RUNS = (
    rf"(?:from {_A_RUN} to {_A_RUN}|from one {_A_RUN}|between runs|across runs"
    r"|between (?:identical|repeated|two|different) runs|run[- ]to[- ]run)"
)
_EACH_RUN = rf"(?:every|each)\s+(?:time|single time|{_A_RUN})"
OVER_RUNS = re.compile(rf"\b{_RUNS}\b", FLAGS)
_VARIES = re.compile(
    rf"\b(?:another|different|other|new|changing|varying|inconsistent)\b[^.;\n]{{0,40}}\b{_EACH_RUN}\b"
    rf"|\b{_EACH_RUN}\b[^.;\n]{{0,30}}\b(?:another|different|differs|other|new|changes|something else)\b"
    rf"|\b(?:changes?|var(?:y|ies)|differs?|different|inconsistent)\b[^.;\n]{{0,40}}\b(?:{_RUNS}"
    rf"|{_EACH_RUN})\b"
    r"|\b(?:not|non|n['’]t)[- ]?(?:be )?(?:deterministic|repeatable)\b"
    r"|\bnon-?deterministic\b|\bnon-?determinism\b"
    r"|\b(?:results?|outputs?|values?|numbers?|loss|training|runs?)\b[^.;\n]{0,40}\bnot reproducible\b"
    r"|\b(?:non|un|ir)-?reproducible (?:results?|outputs?|values?|numbers?|loss(?:es)?|training"
    r"|behaviou?r)\b"
    r"|\b(?:results?|outputs?|values?|numbers?|loss(?:es)?|training) (?:are|is) (?:non|un"
    r"|ir)-?reproducible\b"
    r"|\b(?:two|consecutive|successive|identical|repeated|several|multiple|three) (?:\w+ )?(?:runs"
    r"|executions|invocations)\b[^.;\n]{0,20}\b(?:(?:do not|don['’]t|never) (?:agree|match)|disagree"
    r"|differ|are (?:different|not (?:the same|equal|identical)))\b"
    r"|\bsometimes\b(?! (?:i|we|you) (?:use|try|run|need|want|have))[^.;\n]{1,50}\b(?:comes?|prints?"
    r"|gives?|returns?|get|is|shows?|outputs?|first|wins)\b[^.;\n]{0,30}\bsometimes\b"
    r"|\b(?:prints?|gives?|returns?|get|is|shows?|outputs?) sometimes\b[^.;\n]{1,50}\bsometimes\b"
    r"|\bnot reproducible\b[^.;\n]{0,20}\bruns?\b"
    rf"|\b(?:not|n['’]t) (?:always )?(?:the same|identical|equal)\b[^.;\n]{{0,30}}\b{_RUNS}",
    FLAGS,
)
# `is supposed to print the same number at every start` is said where it does not.
_SHOULD_BE_STEADY = re.compile(
    rf"\b{any_of(MODALS, EXPECT)}\b[^.;,\n]{{0,40}}\b(?:same|identical|equal)\b[^.;,\n]{{0,40}}"
    r"\b(?:every|each) (?:start|run|execution|launch|time (?:i|we|you|it|the \w{1,12}) (?:starts?|runs?))",
    FLAGS,
)
# `never changes between runs` is the opposite.
_NEVER_VARIES = re.compile(r"(?:\b(?:never|not|no longer|hardly)|n['’]t) (?:\w+ )?$", FLAGS)
# `must give another number each time` is an expectation.
# Nobody complains that numbers vary `of course`.
SHOULD_VARY = re.compile(
    rf"\b{any_of(MODALS, EXPECT, 'want', 'of course', 'naturally', 'obviously', 'understandably')}"
    r"\b[^.;,\n]{0,30}$",
    FLAGS,
)
_NEAR = 40


def says_it_varies(sentence: str) -> bool:
    """Whether a sentence says that results differ from run to run, or that they should not."""
    match = _VARIES.search(sentence)
    before = "" if match is None else sentence[max(0, match.start() - _NEAR) : match.start()]
    if match is None or SHOULD_VARY.search(before) or _NEVER_VARIES.search(before):
        return _SHOULD_BE_STEADY.search(sentence) is not None
    return True
