"""Splits a report into parts: code, output and prose, each with its heading and introduction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.intake.claim.claim_text import is_raise_line
from app.intake.code.syntax import parses
from app.intake.sessions.joined_lines import is_joined_program, values_of
from app.intake.sessions.labelled_sessions import labelled_sessions
from app.intake.sessions.shell_sessions import Piece
from app.intake.sessions.warning_lines import shows_failure
from app.intake.snippets.inline_code import (
    EXCEPTION_BELOW,
    inline_statements,
    only_statement,
    statements_in_sentence,
)
from app.intake.snippets.output_marks import without_common_sign
from app.intake.snippets.rewrites import make_readable
from app.intake.snippets.roles import about_versions_only, only_computes
from app.intake.snippets.transcripts import does_something, is_whole_program, take_apart, without_magics
from app.intake.text.fenced_prose import is_fenced_prose
from app.intake.text.markdown import Block
from app.intake.words.environment_line import is_environment_block
from app.intake.words.languages import in_english
from app.intake.words.praise import AS_IT_WAS, denies_right, says_it_fails
from app.intake.words.vocabulary import DESIRED, MODALS, RESULTS, SHOW, any_of, is_printed_line

_ENVIRONMENT = re.compile(
    r"\b(?:environment|versions?|system info\w*|installation|setup|configuration|before submitting)\b",
    re.IGNORECASE,
)
# `Expected behavior (version 1.12.0 and earlier)`.
_IN_BRACKETS = re.compile(r"\([^()\n]{0,80}\)")
# `Describe the bug, including error messages, version and platform` is a heading of everything.
_ABOUT_BUG = re.compile(
    r"\b(?:bugs?|issues?|problems?|what happened|reproduc\w+|error messages?)\b", re.IGNORECASE
)
_EXPECTED = re.compile(
    rf"\b(?:{any_of(DESIRED)}|{any_of(MODALS)} {any_of(SHOW, 'look')}"
    rf"|correct {any_of(RESULTS)}|supposed to|{AS_IT_WAS})\b",
    re.IGNORECASE,
)
_ACTUAL = re.compile(
    r"\b(?:actual\w*|instead|unexpected\w*|but (?:i )?(?:get|got)|current (?:output|behaviou?r|result)"
    r"|(?:snippet|script|code|example|program)(?: above| here)? (?:ends|fails|stops|dies|crashes|breaks)"
    r" (?:in|with|on))\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\b(?:documentation|docs?\b|(?<!\bmy )(?<!\bour )docstring|according to|promises|states"
    r"|manual|quote\w*|source code|pull request"
    r"|(?:it|which|that|this|page|line|example|text) (?:now |still |currently )?reads)\b",
    re.IGNORECASE,
)
# `The documentation mentions it, but:` stands above what happens.
_BUT_HERE = re.compile(r"\b(?:but|yet|however|whereas|instead|still)\b[^.\n]{0,60}$", re.IGNORECASE)
_COLLECT_ENV = re.compile(
    r"^(?:Collecting environment|PyTorch version:|commit [0-9a-f]{7,40}|\[pip3?\] |# Name +Version)",
    re.MULTILINE,
)
_CODE_START = re.compile(r"(?:import [\w., ]+|from [\w.]+ import .+)$")
_NOT_OUTPUT = frozenset(
    ("samehere-probe", "json", "yaml", "yml", "toml", "ini", "diff", "patch", "dockerfile", "makefile")
) | {"bibtex", "xml", "html"}
_OTHER_LANGUAGES = frozenset(
    ("c", "cpp", "c++", "cuda", "cu", "rust", "rs", "go", "java", "js", "javascript", "ts", "typescript")
) | {"r", "julia", "matlab"}

# `Expected behaviour`, `What should happen`. But `Expected all tensors to be on the same device` is a title.
_EXPECTATION_HEADING = re.compile(
    r"^\W*(?:\d{1,2}[.)]\s*)?(?:the |my )?(?:what (?:\w{1,12} ){0,3})?(?:expect(?:ed|ations?)?|desired"
    r"|correct|should|supposed)\b(?! (?:all|scalar|types?|input|\d"
    r"|\w{1,30} (?:but|got|to|types?|instead))\b)(?!.*\b(?:but|got|found|instead of|not"
    r"|Error)\b)[^.\n]{0,40}$",
    re.IGNORECASE,
)

_PYTHON_LINE = re.compile(
    r"^[ \t]*(?:import \w|from [\w.]+ import|def \w+\(|class \w+|print "
    r"|(?:if|for|while|with|elif|except)\b.*:[ \t]*(?:#.*)?$|(?:else|try):|return\b|exec )",
    re.MULTILINE,
)
_MARK = re.compile(r" {0,3}>(?!>>) ?")
_BOLD_HEADING = re.compile(r"(?P<mark>\*\*|__)(?P<words>[A-Z]\w{1,20}(?: [\w'&/-]{1,20}){0,4})(?P=mark):?")
# A report of more blocks is a log, and the rest is not read.
_MOST_BLOCKS = 4_000
_PRINT_CALL = re.compile(r"print\(.{1,300}\)")
_MOST_SHORTER = 30  # Code is tried with so many paragraphs left out at its end.
_MOST_STARTS = 20  # Bare code is tried from so many places.


def is_expectation_heading(heading: str) -> bool:
    """True if a section with this heading describes the expected behaviour."""
    return _EXPECTATION_HEADING.search(_IN_BRACKETS.sub("", heading[:200]).strip()) is not None


class PartKind(StrEnum):
    """The kinds of parts. `STATUS` is an exit status in a shell session; `FOREIGN` is another language."""

    CODE = "code"
    OUTPUT = "output"
    PROSE = "prose"
    COMMANDS = "commands"
    STATUS = "status"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a report. `before` is the prose above it, `tag` the language of its fence.

    `transcript`: the code was typed at a prompt.
    """

    kind: PartKind
    text: str
    heading: str = ""
    before: str = ""
    transcript: bool = False
    tag: str = ""
    elsewhere: bool = False  # the words above say that it is right in another version or on another machine
    praised: bool = False  # the words below say that this code works
    version: str | None = None  # that the words above it name, if other outputs name older ones
    own_text: str = ""  # the prose as it was written, if it is in another language
    failing: tuple[str, ...] = ()  # the statements of a session that fail in passing

    @property
    def about_environment(self) -> bool:
        """True if it stands in a section about the environment."""
        heading = _IN_BRACKETS.sub("", self.heading)
        return _ENVIRONMENT.search(heading) is not None and not _ABOUT_BUG.search(heading)

    @property
    def expected(self) -> bool:
        """True if its introduction or heading says that it is the expected behaviour."""
        last = _last_line(self.before)
        if says_it_fails(last):
            return False
        section = is_expectation_heading(self.heading)
        is_told = _EXPECTED.search(self.introduction) is not None and not denies_right(self.introduction)
        is_introduced = is_told or (not last and section)
        return (is_introduced or (section and _ACTUAL.search(self.heading) is None)) and _ACTUAL.search(
            last
        ) is None

    @property
    def introduction(self) -> str:
        """The last sentence before it."""
        return re.split(r"[.!?]\s", _last_line(self.before))[-1]

    @property
    def quoted(self) -> bool:
        """True if it is quoted from documentation, or lists an environment."""
        return (
            self._is_introduced_as_quotation
            or _COLLECT_ENV.search(self.text) is not None
            or is_environment_block(self.text)
        )

    @property
    def _is_introduced_as_quotation(self) -> bool:
        # `I did not expect it from the docs. My example:` speaks of it in the last sentence.
        is_own = re.search(r"\b(?:[Mm]y|[Oo]ur|I|[Ww]e)\b", self.introduction)
        last = self.introduction if is_own else _last_line(self.before)
        # `According to the manual it is:` below `Expected output` introduces what is expected here.
        is_wish = is_expectation_heading(self.heading) and "Traceback" not in self.text
        return not is_wish and _QUOTED.search(last) is not None and _BUT_HERE.search(last) is None


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1][-300:]


def parts_of(blocks: Sequence[Block]) -> list[Part]:
    """The parts of a report, with its prose in English words."""
    return [_in_english(part) for part in _parts_as_written(blocks)]


def _in_english(part: Part) -> Part:
    text = in_english(part.text) if part.kind == PartKind.PROSE else part.text
    return replace(
        part,
        text=text,
        heading=in_english(part.heading),
        before=in_english(part.before),
        own_text=part.text if text != part.text else "",
    )


def _parts_as_written(blocks: Sequence[Block]) -> list[Part]:
    """The parts of a report. Code outside of blocks is searched only if no block holds any."""
    parts: list[Part] = []
    heading, before = "", ""
    for block in blocks[:_MOST_BLOCKS]:
        if block.kind == "heading":
            heading, before = block.text, ""
        elif block.kind == "prose":
            bold = _BOLD_HEADING.fullmatch(block.text.strip())
            heading = bold["words"] if bold else heading
            parts.append(Part(PartKind.PROSE, block.text, heading, before))
            before = block.text
        else:
            sessions = labelled_sessions(block.text)
            for label, session in sessions:
                parts += _parts_of_block(replace(block, text=session), heading, label)
            parts += [] if sessions else _parts_of_block(block, heading, before)
            before = ""
    # Old forms end with code that prints the versions.
    if any(part.kind == PartKind.CODE and not about_versions_only(part.text) for part in parts):
        return _with_values_on_lines(_with_raise_lines_as_output(parts))
    inline = _with_inline_code(parts) or _with_printed_pairs(parts)
    return inline or _with_bare_code(parts) or _with_only_statement(parts) or parts


def _with_values_on_lines(parts: list[Part]) -> list[Part]:
    """The parts, in which each printed value has a line, if code and values have lost their line breaks."""
    is_joined = any(part.kind == PartKind.CODE and is_joined_program(part.text) for part in parts)
    printed = [values_of(part.text) if is_joined and part.kind != PartKind.CODE else [] for part in parts]
    return [
        replace(part, kind=PartKind.OUTPUT, text="\n".join(values)) if len(values) > 1 else part
        for part, values in zip(parts, printed, strict=True)
    ]


def _with_raise_lines_as_output(parts: list[Part]) -> list[Part]:
    """The parts, in which a lone line `raise SomeError("…")` beside other code is what a traceback shows."""
    raises = [part.kind == PartKind.CODE and is_raise_line(part.text) for part in parts]
    if all(alone or part.kind != PartKind.CODE for part, alone in zip(parts, raises, strict=True)):
        return parts
    return [
        replace(part, kind=PartKind.OUTPUT) if alone else part
        for part, alone in zip(parts, raises, strict=True)
    ]


def _with_inline_code(parts: list[Part]) -> list[Part]:
    """The parts with a script of statements between backticks; empty if it is no Python with an effect."""
    texts = [part.text if part.kind == PartKind.PROSE else "" for part in parts]
    run = inline_statements(texts)
    if run is None or not does_something(make_readable("\n".join(run[2]))[0]):
        return _with_sentence_code(parts, texts)
    start, end, statements = run
    before = parts[start].before
    code = Part(PartKind.CODE, "\n".join(statements), parts[start].heading, before)
    following = [replace(parts[end], before="")] if end < len(parts) else []
    return [*parts[:start], code, *following, *parts[end + 1 :]]


def _with_printed_pairs(parts: list[Part]) -> list[Part]:
    """The parts with a script of lines `print(…)`, each above what it prints; empty if there are none."""
    for at, part in enumerate(parts):
        if part.kind != PartKind.PROSE:
            continue
        lines = [line.strip() for line in part.text.split("\n") if line.strip()]
        start = next((number for number, line in enumerate(lines) if _PRINT_CALL.fullmatch(line)), len(lines))
        calls, outputs = lines[start::2], lines[start + 1 :: 2]
        if (
            len(calls) == len(outputs) > 1
            and all(map(_PRINT_CALL.fullmatch, calls))
            and all(map(is_printed_line, outputs))
            and parses("\n".join(calls))
        ):
            above = Part(PartKind.PROSE, "\n".join(lines[:start]), part.heading, part.before)
            code = Part(PartKind.CODE, "\n".join(calls), part.heading, above.text)
            output = Part(PartKind.OUTPUT, "\n".join(outputs), part.heading)
            return [*parts[:at], above, code, output, *parts[at + 1 :]]
    return []


def _with_sentence_code(parts: list[Part], texts: Sequence[str]) -> list[Part]:
    """The parts with a script of statements that one sentence names; the sentence stays."""
    sentence = statements_in_sentence(texts)
    if sentence is None or not does_something(code := "\n".join(sentence[1])):
        return []
    at = sentence[0]
    return [*parts[:at], Part(PartKind.CODE, code, parts[at].heading, parts[at].before), *parts[at:]]


def _with_only_statement(parts: list[Part]) -> list[Part]:
    """The parts with the one statement that the prose shows between backticks; empty if there is none."""
    texts = [part.text if part.kind == PartKind.PROSE and not part.expected else "" for part in parts]
    fails = any(EXCEPTION_BELOW.search(part.text.replace("`", "")) for part in parts)
    only = only_statement(texts, fails=fails)
    if only is None:
        return []
    at, statement = only
    code = Part(PartKind.CODE, statement, parts[at].heading, parts[at].before, transcript=True)
    return [*parts[:at], code, *parts[at:]]


def _parts_of_block(block: Block, heading: str, before: str) -> list[Part]:
    if block.language in _OTHER_LANGUAGES or _is_foreign(block):
        return [Part(PartKind.FOREIGN, block.text, heading, before, tag=block.language)]
    if block.language in _NOT_OUTPUT:
        return []
    piece = take_apart(block.text)
    if block.language.startswith("py") and not piece.transcript and only_computes(block.text):
        piece = Piece(code=block.text, transcript=True)  # The author typed a formula and saw its value.
    if piece.code and not (
        block.may_be_python or piece.transcript or piece.session or is_whole_program(block.text)
    ):
        piece = Piece(output=block.text)  # A tag such as `text` excludes Python, but for a whole program.
    if piece.transcript and not parses(make_readable(without_magics(piece.code)[0])[0]):
        return [Part(PartKind.FOREIGN, block.text, heading, before, tag=block.language)]
    is_output_alone = bool(piece.output) and not piece.code and not piece.commands
    if is_output_alone and (not block.fenced or is_fenced_prose(block.text, heading)):
        return [Part(PartKind.PROSE, block.text, heading, before)]
    parts = [
        Part(kind, text, heading, before, piece.transcript, block.language, failing=block.failing)
        for kind, text in (
            (PartKind.CODE, piece.code),
            (PartKind.COMMANDS, piece.commands),
            (PartKind.OUTPUT, "" if piece.answers else without_common_sign(piece.output)),
            (PartKind.STATUS, piece.status),
        )
        if text.strip()
    ]
    parts += [
        Part(PartKind.OUTPUT, answer, heading, comment, tag=block.language)
        for comment, answer in piece.answers
    ]
    if (
        not piece.code
        and block.language.startswith("py")
        and block.may_be_python
        and _looks_like_python(block.text)
    ):
        return [Part(PartKind.FOREIGN, block.text, heading, before, tag=block.language)]
    return parts


def _is_foreign(block: Block) -> bool:
    return (
        re.search(
            r"^[ \t]*#include\s*[<\"]|^[ \t]*(?:fn|func) \w+\(|^[ \t]*public (?:static|class)\b|\bstd::"
            r"|\AFROM [\w./:@-]{1,200}(?: [Aa][Ss] [\w-]{1,60})?\n(?:RUN|COPY|ENV|ARG|WORKDIR|USER|ADD|CMD) ",
            block.text,
            re.MULTILINE,
        )
        is not None
    )


def _looks_like_python(text: str) -> bool:
    return _PYTHON_LINE.search(text) is not None and not shows_failure(text)


def _with_bare_code(parts: list[Part]) -> list[Part]:
    """The parts with code that was pasted as plain text; empty if there is none.

    It goes from a line that imports to the end of its section, if all of that is Python.
    """
    tries = 0
    for at, part in enumerate(parts):
        if part.kind != PartKind.PROSE or tries == _MOST_STARTS:
            continue
        lines = _without_marks(part.text).split("\n")
        start = next((number for number, line in enumerate(lines) if _CODE_START.match(line.strip())), None)
        if start is None:
            continue
        tries += 1
        end = at + 1
        while end < len(parts) and parts[end].kind == PartKind.PROSE and parts[end].heading == part.heading:
            end += 1
        while end > at:
            outputs = list(filter(_is_quoted_output, parts[at + 1 : end]))
            others = [_without_marks(other.text) for other in parts[at + 1 : end] if other not in outputs]
            text = "\n\n".join(["\n".join(lines[start:]), *others])
            if does_something(make_readable(text)[0]):
                words = "\n".join(lines[:start])
                above = [Part(PartKind.PROSE, words, part.heading, part.before)] if start else []
                return [
                    *parts[:at],
                    *above,
                    Part(PartKind.CODE, text, part.heading, words),
                    *(
                        replace(each, kind=PartKind.OUTPUT, text=_without_marks(each.text))
                        for each in outputs
                    ),
                    *parts[end:],
                ]
            end -= 1 if end - at <= _MOST_SHORTER else end - at
    return []


def _is_quoted_output(part: Part) -> bool:
    """Whether a paragraph is a quotation of printed lines, between the statements that printed them."""
    lines = [line for line in part.text.split("\n") if line.strip()]
    return bool(lines) and all(_MARK.match(line) and is_printed_line(_MARK.sub("", line)) for line in lines)


def _without_marks(text: str) -> str:
    """A paragraph without quote marks, if all its lines have one. A mail program may have put them there."""
    lines = text.split("\n")
    return "\n".join(_MARK.sub("", line) for line in lines) if all(map(_MARK.match, lines)) else text
