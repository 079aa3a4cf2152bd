"""The phrases of claims: each pattern is linear, and each has examples that it must and must not catch in the tests."""

from __future__ import annotations

import re

from app.intake.claims import Check, CheckKind, Over, Role, Where

# The name of an exception type as it stands at the start of a line.
_TYPE = r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Iteration|Failed|Warning|NotImplemented)"
EXCEPTION_LINE = re.compile(rf"(?P<type>{_TYPE}|(?:[a-z_]\w*\.)+[A-Z]\w+)(?::\s*(?P<message>.*))?\.?", re.DOTALL)
_EXCEPTION_NAMED = re.compile(rf"(?<![\w.])(?P<type>{_TYPE})(?![\w])(?::\s*(?P<message>[^\n]+))?")

_NUMBER = r"[-+]?(?:nan|inf|\d[\d_]*\.?\d*(?:e[-+]?\d+)?|\.\d+)j?(?![\w])"
_QUOTED = r"[\"'`“”‘’]([^\"'`“”‘’\n]{1,500})[\"'`“”‘’]"
_FLAGS = re.IGNORECASE

_CRASHES = (
    (r"segmentation fault|segfault\w*|sig ?segv|access violation", "SIGSEGV"),
    (r"\bsig ?abrt\b|\baborted\b|\baborts\b(?! with)|\bcore abort", "SIGABRT"),
    (r"\bsig ?fpe\b|floating point exception", "SIGFPE"),
    (r"\bsig ?ill\b|illegal instruction", "SIGILL"),
    (r"\bsig ?bus\b|\bbus error\b", "SIGBUS"),
    # What the shell adds to any of these; alone it means the commonest.
    (r"core dumped", "SIGSEGV"),
)
_CRASH = tuple((re.compile(pattern, _FLAGS), signal) for pattern, signal in _CRASHES)
_HANG = re.compile(
    r"\b(?:hangs?|hanging|hung|deadlocks?|deadlocked|never (?:ends?|terminates?|returns?|finish(?:es)?|stops?)"
    r"|does(?:n't| not) (?:end|terminate|return|finish)|stuck forever|freezes)\b",
    _FLAGS,
)
_VARIES = re.compile(
    r"\b(?:another|different|other|new|changing|varying)\b[^.;\n]{0,40}\b(?:every|each)\s+(?:time|run)\b"
    r"|\b(?:every|each)\s+(?:time|run)\b[^.;\n]{0,30}\b(?:another|different|other|new)\b"
    r"|\b(?:changes?|var(?:y|ies)|differs?|different)\b[^.;\n]{0,40}\b(?:from run to run|between runs|across runs|in each run|every run)\b"
    r"|\b(?:not|non|n't)[- ]?(?:be )?(?:deterministic|reproducible|repeatable)\b|\bnondeterministic\b|\bnon-deterministic\b",
    _FLAGS,
)
_OUT_OF_MEMORY = re.compile(r"\b(?:out[- ]of[- ]memory|oom|oom-killed|runs? out of memory|memory leak|not enough memory)\b", _FLAGS)
_EXIT_STATUS = re.compile(r"\bexit(?:s|ed)?\s+(?:with\s+)?(?:code|status)?\s*(\d{1,3})\b", _FLAGS)
_CPU = re.compile(r"(?<![A-Za-z])cpus?(?![A-Za-z])", _FLAGS)
_GPU = re.compile(r"(?<![A-Za-z])(?:gpus?|cuda)(?![A-Za-z])", _FLAGS)
_ALIKE = re.compile(r"\bboth\b|\bas well as\b|\balike\b|\beither\b|\bcpu[- ]only\b|\bneither\b", _FLAGS)
_CONTRAST = re.compile(
    r"\bdiffer\w*|\binconsisten\w*|\bmismatch\w*|\bdisagree\w*|\bnot (?:the )?(?:same|equal)\b|\bdiverge\w*|\bdrifts?\b|\bunequal\b"
    r"|\bwhile\b|\bwhereas\b|\bwhere the\b|\bbut\b|\bvs\.?\b|\bversus\b",
    _FLAGS,
)
_EACH_ON = re.compile(r"\bon (?:the )?(?:cpu|gpu|cuda)\b", _FLAGS)
_GIVES_EACH = re.compile(r"\b(?:the )?(?:cpu|gpu|cuda)\b[^.;\n]{0,80}\b(?:gives?|returns?|prints?|raises?|is)\b", _FLAGS)
_COMPILED = re.compile(r"\b(?:compil\w+|inductor|dynamo)\b", _FLAGS)
_EAGER = re.compile(r"\beager\b", _FLAGS)

_IS = r"(?:is|was|are|gives?|gave|returns?|returned|prints?|printed|outputs?|shows?|yields?|got|get)"
_EXPECTED_AFTER = re.compile(
    rf"(?P<seen>{_QUOTED[:-1]}]|{_NUMBER})[^\n]{{0,40}}?\b(?:expected|instead of|should (?:be|have been)|but expected|rather than)\b"
    rf"[^\"'`\d\n+-]{{0,30}}(?P<wanted>{_QUOTED[:-1]}]|{_NUMBER})",
    _FLAGS,
)
_EXPECTED_BEFORE = re.compile(
    rf"\b(?:expected|should (?:be|print|return|give))\b[^\"'`\d\n+-]{{0,30}}(?P<wanted>{_QUOTED[:-1]}]|{_NUMBER})"
    rf"[^\n]{{0,40}}?\b(?:but |got|gets?|is|was|actual(?:ly)?|returns?|prints?|gives?)\b"
    rf"[^\"'`\d\n+-]{{0,30}}(?P<seen>{_QUOTED[:-1]}]|{_NUMBER})",
    _FLAGS,
)
_PRINTS = re.compile(rf"\b(?:prints?|printed|outputs?|shows?)\s*:?\s*{_QUOTED}", _FLAGS)
_GIVES_NUMBER = re.compile(rf"\b(?:prints?|gives?|returns?|outputs?|yields?|is|value)\s*:?\s*(?P<number>{_NUMBER})", _FLAGS)
_LAST = re.compile(r"\b(?:last|final)\b", _FLAGS)
_FIRST = re.compile(r"\bfirst\b", _FLAGS)

# A line of output rather than of prose: it holds a number, a bracket, or a `name: value`.
_VALUE_MARK = re.compile(rf"(?<![\w.]){_NUMBER}|[\[\](){{}}=]|\b(?:True|False|None)\b", _FLAGS)
_PROSE = re.compile(r"\b(?:the|is|are|when|because|which|that|should|expected|instead|every|each|between|with|happens?|and then)\b", _FLAGS)


def is_output_line(line: str) -> bool:
    """Whether a line looks like something a program printed."""
    if EXCEPTION_LINE.fullmatch(line) or re.search(rf"\b{_TYPE}\b", line):
        return True
    return _VALUE_MARK.search(line) is not None and len(_PROSE.findall(line)) < 2


def device_of(text: str) -> str | None:
    """The one device that a text speaks of: "cpu" or "cuda"; None for none or both."""
    cpu, gpu = _CPU.search(text) is not None, _GPU.search(text) is not None
    return None if cpu == gpu else ("cpu" if cpu else "cuda")


def both_devices(text: str) -> bool:
    """Whether a text speaks of the CPU and of the GPU."""
    return _CPU.search(text) is not None and _GPU.search(text) is not None


def side_of_line(line: str) -> str | None:
    """The side that a printed line begins with or names alone."""
    start = re.match(r"\s*(cpu|cuda|gpu|eager|compiled|inductor)\b", line, _FLAGS)
    if start:
        word = start[1].lower()
        return {"gpu": "cuda", "inductor": "compiled"}.get(word, word)
    return device_of(line)


def phrase_checks(sentence: str) -> list[Check]:
    """The checks of one sentence; an empty list when it says nothing that can be checked."""
    for rule in (_expected, _differs, _named_exception, _crash, _hang, _varies, _out_of_memory, _exit_status, _prints):
        checks = rule(sentence)
        if checks:
            return checks
    return []


def _where(sentence: str) -> Where:
    return Where(device="cuda") if device_of(sentence) == "cuda" else Where()


def _literal(text: str, sentence: str, role: Role) -> Check | None:
    """A quoted text or a number as a check."""
    bare = text.strip("\"'`“”‘’").strip()
    if re.fullmatch(_NUMBER, bare, _FLAGS):
        position = "last" if _LAST.search(sentence) else "first" if _FIRST.search(sentence) else None
        return Check(text=sentence, kind=CheckKind.VALUE, role=role, number=bare, position=position, where=_where(sentence))
    if not bare:
        return None
    return Check(text=sentence, kind=CheckKind.OUTPUT, role=role, lines=tuple(bare.splitlines()), where=_where(sentence))


def _expected(sentence: str) -> list[Check]:
    found = _EXPECTED_AFTER.search(sentence) or _EXPECTED_BEFORE.search(sentence)
    if found is None or found["seen"].strip("\"'`") == found["wanted"].strip("\"'`"):
        return []
    bug = _literal(found["seen"], sentence, Role.BUG)
    wanted = _literal(found["wanted"], sentence, Role.EXPECTED)
    return [bug, wanted] if bug and wanted else []


def _differs(sentence: str) -> list[Check]:
    if both_devices(sentence) and not _ALIKE.search(sentence):
        each = len(_EACH_ON.findall(sentence)) >= 2 or _GIVES_EACH.search(sentence) is not None
        if _CONTRAST.search(sentence) or each:
            return [Check(text=sentence, kind=CheckKind.DIFFERS, sides=("cpu", "cuda"), where=Where(device="cuda"))]
    if _EAGER.search(sentence) and _COMPILED.search(sentence) and _CONTRAST.search(sentence):
        return [Check(text=sentence, kind=CheckKind.DIFFERS, sides=("eager", "compiled"))]
    return []


def _named_exception(sentence: str) -> list[Check]:
    found = _EXCEPTION_NAMED.search(sentence)
    if found is None:
        return []
    message = (found["message"] or "").strip()
    return [
        Check(
            text=sentence,
            kind=CheckKind.EXCEPTION,
            exception_type=found["type"].rsplit(".", 1)[-1],
            message=message,
            where=_where(sentence[: found.start()]),
        )
    ]


def _crash(sentence: str) -> list[Check]:
    for pattern, signal in _CRASH:
        if pattern.search(sentence):
            return [Check(text=sentence, kind=CheckKind.CRASH, signal=signal, where=_where(sentence))]
    return []


def _hang(sentence: str) -> list[Check]:
    return [Check(text=sentence, kind=CheckKind.HANG, where=_where(sentence))] if _HANG.search(sentence) else []


def _varies(sentence: str) -> list[Check]:
    if _VARIES.search(sentence) is None:
        return []
    return [Check(text=sentence, kind=CheckKind.VARIES, over=Over.REPEATS, where=_where(sentence))]


def _out_of_memory(sentence: str) -> list[Check]:
    return [Check(text=sentence, kind=CheckKind.OUT_OF_MEMORY, where=_where(sentence))] if _OUT_OF_MEMORY.search(sentence) else []


def _exit_status(sentence: str) -> list[Check]:
    found = _EXIT_STATUS.search(sentence)
    return [Check(text=sentence, kind=CheckKind.EXIT_STATUS, exit_status=int(found[1]), where=_where(sentence))] if found else []


def _prints(sentence: str) -> list[Check]:
    quoted = _PRINTS.search(sentence)
    if quoted:
        check = _literal(quoted[1], sentence, Role.BUG)
        return [check] if check else []
    number = _GIVES_NUMBER.search(sentence)
    if number:
        check = _literal(number["number"], sentence, Role.BUG)
        return [check] if check else []
    return []
