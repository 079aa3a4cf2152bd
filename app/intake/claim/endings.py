"""Reads sentences that describe a bad end: a signal, a hang, lack of memory, an exit status.

Every pattern is linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.intake.claim.claims import CheckKind
from app.intake.memory import remembers
from app.intake.words.vocabulary import EXPECT, FLAGS, INSTEAD, MODALS, any_of

_QUIETLY = (
    r"(?:without (?:an? |any |saying )?(?:\w+ )?(?:messages?|tracebacks?|errors?|word|trace"
    r"|exceptions?|anything)|silently|hard)"
)
_CORE = (
    r"\bcore dump\w*|\binterpreter (?:crash\w*|dies)|\bcrash\w* (?:the )?(?:python|interpreter|kernel)\b"
    r"|\bkernel (?:appears to have died|died|dies|crash\w*)|\bhard crash\w*"
    rf"|\b(?:crash(?:es|ed)|dies|died|quits?) {_QUIETLY}\b|\bsilently (?:crash(?:es|ed)|dies|died)\b"
)
# `does not return the right value` is no hang.
_NO_OBJECT = (
    r"(?!\s+(?:(?:the|a|an|any|with|correct\w*|same|expected|right|what|to|nan|true|false|none)\b"
    r"|[\d\"'`\[(]))"
)
_HANG = re.compile(
    r"\b(?:hangs?|hanging|hung|deadlocks?|deadlocked|infinite loop"
    r"|(?:runs?|loops?|waits?|blocks?|spins?|stalls?|sits?|stays?"
    r"|idles?)(?: (?:there|around|idle|idly)){0,2} (?:for ?ever|for good|indefinitely|endlessly"
    r"|eternally|without end|until (?:i|you|it is) (?:kill|interrupt|press))"
    r"|(?:prompt|shell|control|call|it|script|program) (?:never|does(?:n['’]t| not)"
    r"|did(?:n['’]t| not)) (?:come|comes|came|return|returns) back"
    r"|(?:makes|no) (?:further |more )?(?:progress|sign of life)(?= (?:after|any ?more|for|until)"
    r"|[.!,]|$)|stops responding|unresponsive"
    r"|(?:have|had|need(?:ed)?) to (?:kill|ctrl-?c|interrupt|terminate) (?:it|this|the \w{1,20}"
    r"|python)(?! (?:early|because))|(?:gets?|got|is|stays|stuck|remains) (?:stuck|frozen)"
    r"|freezes(?! (?:the|all|layers?|weights?))"
    rf"|never (?:ends?|exits?|terminates?|returns?|finish(?:es)?|stops?|completes?){_NO_OBJECT}"
    rf"|does(?:n['’]t| not) (?:end|exit|quit|terminate|return|finish|complete){_NO_OBJECT}"
    rf"|(?:won['’]t|will not|refuses to) (?:end|exit|quit|terminate|finish|complete){_NO_OBJECT}"
    r"|(?:process|program|script|interpreter|python|it) (?:just )?(?:stays|remains|keeps?)"
    r" (?:there|alive|running|around)|only (?:ctrl|control)[-+ ]?c (?:gets?|helps?|stops?|ends?|kills?))\b",
    FLAGS,
)
_OUT_OF_MEMORY = re.compile(r"\bout[- ]of[- ]memory\b|\boom\b|\boom-?kill\w*|\bnot enough memory\b", FLAGS)
# A shell prints no more than this about a process that the kernel killed.
_KILLED = re.compile(r"\b(?:gets?|got|is|was|process) killed\b|^killed\.?$|\bexit code (?:137|-9)\b", FLAGS)
_EXIT_STATUS = re.compile(
    r"\bexit(?:s|ed)?\s++(?:with\s++)?(?:(?:an? |the )?(?:exit\s++)?(?:code|status))?\s*+[:=]?\s*+(?:is "
    r"|was |of )?(\d{1,3})\b(?!\s*times|\.\d)",
    FLAGS,
)
_NEGATION = re.compile(
    r"(?:\bnot|n['’]t|\bno|\bwithout|\bnever|\bno longer|\binstead of)\s+"
    r"(?:(?:get|gets|see|seen|have|cause|causes|produce|lead to|result in|hit|give|gives|raise|ever)\s+)?"
    r"(?:a\s+|an\s+|any\s+|the\s+|to\s+)?$",
    FLAGS,
)
_BY_KILL = re.compile(r"\bsig ?kill\b|\bsignal 9\b", FLAGS)
_EXIT_WORD = re.compile(r"code|status", FLAGS)
_NO_STATUS = re.compile(
    rf"\b(?:{any_of(MODALS, EXPECT, INSTEAD)}|want|would|not|never|n['’]t|if|unless)\b"
    r"(?:(?!\bbut\b)[^.;,\n]){0,25}$",
    FLAGS,
)
_GONE = re.compile(
    r"\s+(?:no longer|does(?:n['’]t| not) (?:happen|occur|appear)|did(?:n['’]t| not) (?:happen|occur)"
    r"|(?:is|was|are|has been) (?:gone|fixed|resolved)"
    r"|disappear(?:s|ed)|goes away|went away|any ?more)\b",
    FLAGS,
)


def _code(number: int) -> str:
    """A pattern for a signal's exit status: `exit code 139`, `exited with status -11`."""
    return (
        r"\bexit(?:s|ed|ing)?\b[ -]?(?:with )?(?:an? |the )?(?:exit )?(?:code|status)(?: of| is"
        rf"| was)?[: =]{{1,2}}(?:{128 + number}|-{number})(?!\d)"
    )


_SEGV = (
    r"\bsegmentation[ -](?:faults?|violations?)|\bseg[ -]?fault\w*|\bsig ?segv\b|\baccess violation\b"
    r"|\b0xC0000005\b"
    rf"|(?<!\d)-1073741819\b|\bsignal 11\b|{_code(11)}"
)
_ABORT = (
    r"\bsig ?abrt\b|\bzsh: abort\b|\baborted\b|\baborts\b(?! with)|\bcore abort"
    r"|\bterminate called after|\bdouble free\b|\bfree\(\): invalid|\bmalloc\(\):|\bstack smashing"
    rf"|{_code(6)}|\bsignal 6\b"
)
_CRASHES = (
    (_SEGV, "SIGSEGV"),
    (_ABORT, "SIGABRT"),
    (rf"\bsig ?fpe\b|\bfloating point exception\b|{_code(8)}", "SIGFPE"),
    (rf"\bsig ?ill\b|\billegal instruction\b|{_code(4)}", "SIGILL"),
    (rf"\bsig ?bus\b|\bbus error\b|{_code(7)}", "SIGBUS"),
    (r"\bsig ?kill\b|\bsignal 9\b", "SIGKILL"),
    (_CORE, None),
)
_CRASH = tuple((re.compile(pattern, FLAGS), signal) for pattern, signal in _CRASHES)


@dataclass(frozen=True, slots=True)
class Ending:
    """A bad end, and its position in the sentence."""

    kind: CheckKind
    start: int
    signal: str | None = None


@remembers()
def crash_signal(text: str) -> tuple[bool, str | None]:
    """Whether a text describes a crash, and the signal if it is named."""
    for pattern, signal in _CRASH:
        if _unless_negated(pattern, text):
            return True, signal
    return False, None


@remembers()
def ending_of(sentence: str) -> Ending | None:
    """The crash, the hang or the lack of memory that a sentence describes."""
    memory = (_OUT_OF_MEMORY, CheckKind.OUT_OF_MEMORY, None)
    crashes = [(pattern, CheckKind.CRASH, signal) for pattern, signal in _CRASH]
    # The kernel's OOM killer sends a signal, too, so lack of memory is tried first.
    first = (
        [memory, *crashes] if _OUT_OF_MEMORY.search(sentence) and _BY_KILL.search(sentence) else [*crashes]
    )
    for pattern, kind, signal in (
        *first,
        (_HANG, CheckKind.HANG, None),
        memory,
        (_KILLED, CheckKind.OUT_OF_MEMORY, None),
    ):
        if match := _unless_negated(pattern, sentence):
            return Ending(kind, match.start(), signal)
    return None


def exit_status_of(sentence: str) -> int | None:
    """The exit status that a sentence says occurred. An expected status does not count."""
    hits = (
        hit
        for hit in _EXIT_STATUS.finditer(sentence)
        if not _NO_STATUS.search(sentence[max(0, hit.start() - 50) : hit.start()])
    )
    return next((int(hit[1]) for hit in hits), None)


def names_status(sentence: str) -> bool:
    """True if the sentence names a code or a status, and no signal."""
    hit = next(iter(_EXIT_STATUS.finditer(sentence)), None)
    return (
        hit is not None
        and _EXIT_WORD.search(hit[0]) is not None
        and not any(pattern.search(sentence) for pattern, _ in _CRASH)
    )


def _unless_negated(pattern: re.Pattern[str], sentence: str) -> re.Match[str] | None:
    match = pattern.search(sentence)
    return match if match and not _is_negated(sentence, match) else None


def _is_negated(text: str, match: re.Match[str]) -> bool:
    """True if the words around deny it: `no segfault`, `the segfault no longer happens`."""
    before, after = text[max(0, match.start() - 60) : match.start()], text[match.end() : match.end() + 60]
    return _NEGATION.search(before) is not None or _GONE.match(after) is not None
