"""The words of claims, and what a device, a literal and a printed line look like.

Every pattern is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.intake.memory import remembers
from app.intake.words.environment_line import is_environment_line
from app.intake.words.keyed_pattern import key_set, keyed_pattern, words_of

FLAGS = re.IGNORECASE


def any_of(*alternatives: str | tuple[str, ...]) -> str:
    """A pattern for any of these words, which may be patterns. A tuple counts as its members."""
    words = [word for each in alternatives for word in ((each,) if isinstance(each, str) else each)]
    return f"(?:{'|'.join(words)})"


# Word lists that several rules share. A rule adds the words that only it needs. These stand before a verb:
# `it must print 3`.
MODALS = (
    r"should(?:['’]ve)?",
    r"must",
    r"ha(?:s|ve|d) to",
    r"ought to",
    r"needs? to",
    r"suppose[ds]? to",
    r"meant to",
)
# After one of them, in the infinitive: a program shows a value.
SHOW = (
    *(
        "be",
        "been",
        "have been",
        "print",
        "return",
        "give",
        "equal",
        "show",
        "output",
        "say",
        "yield",
        "read",
    ),
    *("come (?:out|back)(?: as)?", "evaluate to", "produce", "become", "stay", "answer", "see", "get"),
    *("tell(?: me| us)?", "report", "display"),
)
# In the present and the past: a program shows a value, or a person sees it.
SEE = (
    *(
        "prints?",
        "printed",
        "printing",
        "outputs?",
        "gives?",
        "gave",
        "returns?",
        "returned",
        "yields?",
        "shows?",
    ),
    *("says?", "said", "gets?", "got", "getting", "see", "sees", "saw", "seeing", "is", "are", "was", "were"),
    *("equals?", "becomes?", "became", "comes? (?:out|back|up)", "came (?:out|back|up)", "evaluates to"),
    *("computes?", "reports?", "answers?", "produces?", "produced", "results? in", "obtain(?:s|ed)?"),
    *("end(?:s|ed)? up (?:with|at)", "displays?", "turns? (?:out|into)"),
)
# Between the expected value and the seen one.
INSTEAD = ("instead of", "rather than", "in place of", "as opposed to")
EXPECT = r"expect(?:s|ed|ing)?"
# Before an expected value: `correct: 3`.
RIGHT = ("correct", "right", "exact", "true")
DESIRED = ("expected", "desired", "wanted")
# Before a seen value: `actual: 4`.
ACTUAL = (r"actual(?:ly)?", "observed")
RESULTS = ("outputs?", "results?", "values?", "behaviou?rs?", "answers?", "prints?")

# The words by which a report names a machine.
MACHINE = (
    *("laptop", "desktop", "workstation", "server", "node", "cluster", "machine", "computer", "pc", "box"),
    *("graviton\\d?", "xeon", "epyc", "ryzen", "threadripper", "intel", "amd", "arm(?:64)?", "aarch64"),
    *("x86(?:[_-]64)?", "apple silicon", "m[1-5]", "mac(?:book|mini|os)?", "raspberry pi", "power\\d"),
)

# The name of an exception type, and a line `SomeError: message`.
_TYPE_ENDS = (
    *("Error", "Exception", "Interrupt", "Iteration", "Failed", "Warning", "NotImplemented"),
    # Some libraries leave out the word `Error`: `NetworkXNoPath`, `NodeNotFound`.
    *("NoPath", "NoCycle", "NotFound", "Unfeasible", "Unbounded", "Convergence", "DoesNotExist", "Failure"),
)
TYPE = rf"(?:[A-Za-z_]\w{{0,80}}\.){{0,8}}_?[A-Z]\w{{0,80}}?{any_of(*_TYPE_ENDS)}"
EXCEPTION_LINE = re.compile(
    rf"(?P<type>{TYPE}|Exception(?=:\s+\S))(?::\s*(?P<message>.*)|\.)?"
    r"|(?P<dotted>(?:[a-z_]\w*\.)+_?[A-Z]\w+):\s+(?P<text>.*)",
    re.DOTALL,
)

NUMBER = (
    r"[-+]?(?:nan|inf|0x[0-9a-f]+(?:\.[0-9a-f]+)?(?:p[-+]?\d+)?"
    r"|(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?)j?(?![\w])"
)
# A number that is no part of an expression such as `pi/4` or `1/2`.
WHOLE_NUMBER = rf"(?:(?<![\w)\]][/*^+]){NUMBER}(?![/^]\w|\*{{1,2}}\w))"
QUOTED = r"(?:\"[^\"\n]{1,500}\"|`[^`\n]{1,500}`|“[^”\n]{1,500}”|(?<!\w)'[^'\n]{1,500}'(?!\w))"
_QUOTED = re.compile(QUOTED)
# Literals that can be compared with output: a quoted text, a number, a constant of Python, a tensor, a list.
_COMPLEX = r"\([-+]?\d[\d.e]*[-+]\d[\d.e]*j\)"
# Dtypes, shapes and layouts: `torch.float64`, `float32`, `torch.Size([2, 3])`, `torch.channels_last`.
DTYPE = (
    r"(?:(?:torch|np|numpy)\.)?(?:b?float(?:8_\w{1,20}|16|32|64|128)|u?int(?:8|16|32|64)"
    r"|complex(?:32|64|128))(?!\w|\.\w)"
)
# Since numpy 2, a scalar is printed with its type: `np.float64(0.5)`, `np.True_`.
_OF_NUMPY = (
    r"(?:np|numpy)\.(?:float(?:16|32|64|128)|u?int(?:8|16|32|64)|complex(?:64|128|256)|bool_?|str_|bytes_"
    r"|longdouble|datetime64|timedelta64)"
)
SCALAR = rf"(?:{DTYPE}|{_OF_NUMPY}|(?:np|numpy)\.(?:True|False)_|torch\.(?:Size|bool|strided))"
_OF_TORCH = (
    r"(?:torch\.Size\(\[[\d, ]{0,60}\]\)"
    rf"|torch\.(?:bool|strided|sparse_\w{{1,10}}|channels_last\w{{0,3}}|contiguous_format)\b|{DTYPE})"
)
_TUPLE = r"\((?:-?\d[\d.]*, ?){1,8}(?:-?\d[\d.]*)?\)"
_LISTED = (
    rf"(?:tensor|array|{_OF_NUMPY})\([^()\n]{{0,300}}\)|(?:np|numpy)\.(?:True|False)_|\[[^\[\]\n]{{0,300}}\]"
)
# Behind one of these words a sentence goes on: it is nothing that the number before it counts.
GOES_ON = (
    r"(?:from|out of|in|into|as|at|with|without|to|under|on|for|here|there|now|again|always|every|each"
    r"|instead|rather|I|and|but|while|whereas|where|when|which|that|because|although|though|since|after|before"
    r"|by|via|using|is|are|was|were|would|should|must|has|ought|comes?|came|appears?|gets?)\b"
)
# Numbers that one call printed: `3.0 2.0 -1.0`. A number and a word, such as `3 2nd`, are none.
_ROW = rf"(?<![\w.]){WHOLE_NUMBER}(?: {WHOLE_NUMBER}(?! (?!{GOES_ON})[a-z%]\w*\b)){{1,12}}"
LITERAL = (
    rf"(?:{QUOTED}|{_COMPLEX}|{_LISTED}|(?<![\w.]){_OF_TORCH}|{_TUPLE}|{_ROW}|(?:True|False|None)\b"
    rf"|(?<![\w.]){WHOLE_NUMBER})"
)

_DEVICE_END = r"(?![A-Za-z])"
_CPU = re.compile(rf"(?<![A-Za-z])cpus?{_DEVICE_END}", FLAGS)
# The GPUs of others are other devices.
_OF_OTHERS = r"(?<!amd )(?<!amd's )(?<!radeon )(?<!rocm )(?<!intel )(?<!apple )(?<!apple's )(?<!metal )"
_GPU = re.compile(rf"(?<![A-Za-z]){_OF_OTHERS}(?:gpus?|cuda){_DEVICE_END}", FLAGS)
_SIDE = re.compile(r"\s*(cpu|cuda|gpu|eager|compiled|inductor)(?![A-Za-z])", FLAGS)
_SIDE_NAMES = {"gpu": "cuda", "inductor": "compiled"}
_ON_GPU = re.compile(r"device='cuda")
_TENSOR = re.compile(r"\s*tensor\(")

# Words that no program prints beside a value.
_PROSE_WORDS = key_set(
    "the are when because which that should expected instead every each between happen happens then we you "
    "my an this these does do not no raise raises raised throw throws can will with for same different "
    "please using want wants wanted become becomes takes "
    # Common words of other languages.
    "es el los las una der das ist und nicht ein eine einer einr mit statt sollte le les est une doit "
    "debería devrait deve não"
)
# In `a: 1` and `i = 3` the word is a name; in `a value` it is prose.
_NO_NAME = r"(?!\s*[:=]|\s+[-+]?\d)"
_PROSE = keyed_pattern(
    "a i it if is au differ differs work works worked fails failed crashes crashed slower faster contain "
    "contains",
    rf"\b(?:(?:a|i|it|if)\b{_NO_NAME}|is(?! (?:nan|inf|finite|none|zero|equal|close)\s*[:=])\b|au lieu\b"
    r"|differs? (?:from|between|by)\b"
    r"|(?:works?|worked|fail(?:s|ed)|crash(?:es|ed)|slower|faster) (?:in|on|with|under|than|since|fine)\b"
    # `gradients contain nan` is prose; `contains nan: True` is output.
    r"|contains? (?:nan|inf)s?\b(?!\s*[:=]|\s+(?:True|False)\b))",
)
# Letters of scripts other than Latin: such a line is read as a sentence.
_OTHER_LETTERS = re.compile(
    r"[\u0400-\u04ff\u0590-\u06ff\u0900-\u097f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
)
_VALUE_AHEAD = re.compile(
    rf"(?:[^\s:=,]{{1,60}}[ \t:=,]+){{0,7}}(?:{NUMBER}|[\[({{]"
    r"|(?:tensor|array|(?:Device)?Array|(?:np|numpy|torch)\.\w{1,20})\(|(?:(?:np|numpy)\.(?:True|False)_|True)\b"
    r"|False\b|None\b|nan\b|inf\b)",
    FLAGS,
)
# A member of an enumeration, as it is printed: `Color.RED`, `<Color.RED: 1>`.
_MEMBER = re.compile(r"<?[A-Z]\w{0,60}(?:\.[A-Z_][A-Z0-9_]{0,60}){1,3}(?:: [^<>\n]{1,60})?>?")
# A text as a prompt shows it.
_TEXT = re.compile(r"b?'[^'\n]{0,400}'")
# `<Quantity(0.0, 'degC')>`, `<built-in function sum>`.
_REPR = re.compile(r"<[A-Za-z_][\w.]{0,80}(?:[ (:][^<>\n]{0,400})?>")
# An item of a numbered list: `1. Warning:`.
_ITEM = re.compile(r"\d{1,2}[.)] {1,3}[A-Z][a-z]")
_DTYPE_LINE = re.compile(rf"{DTYPE}|(?:torch|np|numpy)\.bool_?")
_TYPE_INSIDE = re.compile(rf"(?<![\w.]){TYPE}(?!\w)")
# `ends in TypeError: bad` is a sentence.
_ENDS_IN_ERROR = re.compile(
    r"(?:(?:it|this|that|which|and) )?(?:ends? (?:in|with|up (?:in|with))|stops? with|dies with|fails? with"
    r"|crash(?:es)? with|raises?|throws?|gives?|yields?|results? in|leads? to|produces?|aborts? with) ",
    FLAGS,
)
_MOST_LINE = 2_000
_TIMING = re.compile(r"(?<![\w.])\d[\d.]*(?:e-?\d+)?\s?(?:ns|us|µs|ms|s|secs?|seconds?|it/s)(?![\w/])", FLAGS)
# Matches `1.24.3`, `'2.1.0+cu121'`, `PyTorch version: 2.1.0`, `numpy==1.26.4`, `3.11.4 (main, Jul 5 2023, …)
# [GCC 11.2.0]`.
_VERSION_NUMBER = (
    r"v?\d{1,4}\.\d{1,4}(?:\.\d{1,4}(?:\.?(?:dev|post|a|b|rc)\d{0,8})?(?:\+\w{1,20}(?:\.\w{1,20})?)?"
    r"|(?<=\d)(?:a|b|rc)\d{1,2})"
)
_VERSION_LINE = re.compile(
    r"(?:(?:using |running )?(?:py)?(?:torch|thon|numpy|scipy|pandas|cuda|cudnn|torchvision|jax"
    r"|tensorflow|sklearn|scikit-learn)(?:[ _.]{0,3}version(?:_{2})?)?\s{0,9}[:= ]{1,3}\s{0,9})?"
    rf"(?:version:? ?)?['\"]?{_VERSION_NUMBER}(?:,? {_VERSION_NUMBER}){{0,4}}"
    r"(?: \([^()\n]{1,80}\).{0,60}| \|.{0,100})?['\"]?"
    # A line of `pip freeze`.
    r"|[a-z][\w.-]{1,60}==\d[\w.+!]{0,40}",
    FLAGS,
)
# A caught error that a script prints for one of its sides: `cpu IndexError index 7 is out of bounds`.
_SIDE_ERROR = re.compile(
    r"\W?(?:cpu|cuda|gpu|mps|eager|compiled"
    rf"|inductor)(?::\d)?\W{{1,3}}{TYPE}\W{{1,3}}(?!(?:when|if|for|in|on|with|because|is|but|while"
    r"|and)\b)\w",
    FLAGS,
)


@remembers()
def is_printed_line(line: str) -> bool:
    """True if a line looks like a program's output, and not like a person's sentence."""
    line = line.strip()[:_MOST_LINE]
    return _looks_printed(line) and not is_environment_line(line)


def _looks_printed(line: str) -> bool:
    tells = _ENDS_IN_ERROR.match(line) is not None and _TYPE_INSIDE.search(line) is not None
    if not tells and (EXCEPTION_LINE.fullmatch(line) or is_side_error(line) or _shows_error(line)):
        return True
    if tells or _ITEM.match(line):
        return False
    if any(pattern.fullmatch(line) for pattern in (_MEMBER, _TEXT, _DTYPE_LINE, _REPR)):
        return True
    return _VALUE_AHEAD.match(line) is not None and not _has_prose(_without_quotes(line))


def _shows_error(line: str) -> bool:
    return (
        any(end in line for end in _TYPE_ENDS)
        and _TYPE_INSIDE.search(line) is not None
        and not _has_prose(line.partition("Error")[0])
    )


def _has_prose(text: str) -> bool:
    return (
        not _PROSE_WORDS.isdisjoint(words_of(text))
        or _PROSE.search(text) is not None
        or (not text.isascii() and _OTHER_LETTERS.search(text) is not None)
    )


def is_prose(line: str) -> bool:
    """True if a line holds words of a sentence outside of quotes."""
    return _has_prose(_without_quotes(line.strip()[:_MOST_LINE]))


def is_timing(line: str) -> bool:
    """True if a printed line holds a duration."""
    return _TIMING.search(line[:_MOST_LINE]) is not None


@remembers()
def is_version_line(line: str) -> bool:
    """True if a printed line is a version, alone or beside the name of a package."""
    return _VERSION_LINE.fullmatch(line.strip()[:200]) is not None or is_environment_line(line)


def is_side_error(line: str) -> bool:
    """True if a line is a caught error beside the name of its side."""
    return _SIDE_ERROR.match(line) is not None


def shows_cuda_tensor(lines: Iterable[str]) -> bool:
    """True if a printed tensor says that it is on a GPU."""
    return any(_ON_GPU.search(line) for line in lines)


def _without_quotes(line: str) -> str:
    return _QUOTED.sub(" ", line) if any(sign in line for sign in "\"`“'") else line


def device_of(text: str) -> str | None:
    """The one device that a text names: "cpu" or "cuda"; None for none or both."""
    cpu, gpu = _CPU.search(text) is not None, _GPU.search(text) is not None
    return None if cpu == gpu else ("cpu" if cpu else "cuda")


def both_devices(text: str) -> bool:
    """True if a text names both the CPU and the GPU."""
    return _CPU.search(text) is not None and _GPU.search(text) is not None


def side_of_line(line: str) -> str | None:
    """The side that a printed line begins with, or the only one that it names."""
    if both_devices(line):
        return None
    start = _SIDE.match(line)
    if start:
        word = start[1].lower()
        return _SIDE_NAMES.get(word, word)
    return device_of(line)


def sides_of(lines: list[str]) -> list[str | None]:
    """The side of each printed line.

    Tensors that name no device are the CPU's, if others name the GPU.
    """
    sides = [side_of_line(line) for line in lines]
    if any(_TENSOR.match(line) and _ON_GPU.search(line) for line in lines):
        return [
            side or ("cpu" if _TENSOR.match(line) else None) for side, line in zip(sides, lines, strict=True)
        ]
    return sides


def strip_quotes(text: str) -> str:
    """A literal without its quotes, and a number without the full stop of its sentence."""
    bare = text.strip().strip("\"'`“”").strip()
    return bare[:-1] if re.fullmatch(r"[-+]?\d+\.", bare) else bare


def is_number(text: str) -> bool:
    """True if the whole text is one number."""
    return re.fullmatch(NUMBER, text, FLAGS) is not None
